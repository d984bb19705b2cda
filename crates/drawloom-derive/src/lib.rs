//! The derive macro for element types of regions.
//!
//! There are two macros that differ in one path only: what they write refers to the trait in the crate through which the
//! macro came, so a user needs no other dependency. Use them as `drawloom::Element` or `drawloom_runtime::Element`.
#![forbid(unsafe_code)]

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Field, Result, parse_macro_input, parse_quote};

/// Makes a struct an element type, for users of the crate `drawloom`. See the trait of the same name.
#[proc_macro_derive(Element)]
pub fn derive_element(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(input, &parse_quote!(::drawloom))
}

/// Makes a struct an element type, for users of the crate `drawloom-runtime`. See the trait `Element` there.
#[proc_macro_derive(RuntimeElement)]
pub fn derive_runtime_element(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(input, &parse_quote!(::drawloom_runtime))
}

fn expand(input: proc_macro::TokenStream, crate_path: &syn::Path) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implement(&input, crate_path).unwrap_or_else(Error::into_compile_error).into()
}

/// The implementation, and the checks it rests on: a fixed layout, fields that are elements, and no padding.
fn implement(input: &DeriveInput, crate_path: &syn::Path) -> Result<TokenStream> {
    let name = &input.ident;
    let Data::Struct(data) = &input.data else {
        let message = format!("`{name}` is not a struct: only structs can be elements; store an enum as a number");
        return Err(Error::new(name.span(), message));
    };
    if !input.generics.params.is_empty() {
        let message = format!("`{name}` has generic parameters: an element type must have one layout");
        return Err(Error::new(input.generics.span(), message));
    }
    if !has_fixed_layout(&input.attrs)? {
        let message = format!("`{name}` has no fixed layout: add `#[repr(C)]` to be an element");
        return Err(Error::new(name.span(), message));
    }
    let fields: Vec<&Field> = data.fields.iter().collect();
    let types: Vec<_> = fields.iter().map(|field| &field.ty).collect();
    let members: Vec<syn::Member> = data.fields.members().collect();
    let checks = types.iter().map(|ty| quote_spanned!(ty.span()=> is_element::<#ty>();));
    let padding = format!(
        "`{name}` has padding between or after its fields, which cannot be an element: order fields by falling size, or \
         fill the gaps with fields"
    );
    Ok(quote! {
        const _: () = {
            const fn is_element<T: #crate_path::Element>() {}
            #(#checks)*
            ::core::assert!(::core::mem::size_of::<#name>() == 0 #(+ ::core::mem::size_of::<#types>())*, #padding);
        };

        // SAFETY: every field is an element, the layout is fixed and has no padding, as checked above.
        #[allow(unsafe_code)]
        unsafe impl #crate_path::Element for #name {
            const ALL_BYTES_VALID: bool = true #(&& <#types as #crate_path::Element>::ALL_BYTES_VALID)*;

            fn is_valid(bytes: &[u8]) -> bool {
                true #(&& {
                    let start = ::core::mem::offset_of!(#name, #members);
                    let end = start + ::core::mem::size_of::<#types>();
                    <#types as #crate_path::Element>::is_valid(&bytes[start..end])
                })*
            }
        }
    })
}

/// Whether the attributes hold `repr(C)` or `repr(transparent)`.
fn has_fixed_layout(attributes: &[Attribute]) -> Result<bool> {
    let mut fixed = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            fixed |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
            if meta.input.peek(syn::token::Paren) {
                let inside;
                syn::parenthesized!(inside in meta.input);
                inside.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    Ok(fixed)
}
