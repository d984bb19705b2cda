//! Element types that may move between memories.

/// Plain bytes: a value of such a type may be copied to another memory and back, byte by byte.
///
/// Regions of portable elements can be used by every kind of worker. Regions of other types, made with the `host_`
/// constructors (there is one for each kind of region), keep their tasks on processors of this machine.
///
/// The numbers, `bool` and arrays of portable types are portable. For a struct, use [`portable!`](crate::portable).
///
/// # Safety
/// The type has no pointers, references, handles or interior mutability, dropping it does nothing, and a value whose bytes
/// are all zero is valid.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not made of plain bytes",
    label = "elements of this type cannot move between memories",
    note = "for a struct of plain fields, declare it with `portable!`",
    note = "for data that stays with the workers of this process, use `host_vector` or `host_value`"
)]
pub unsafe trait Portable: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($t:ty)*) => {
        $(
            // SAFETY: plain numbers: no pointers, no drop, and zero is a value.
            unsafe impl Portable for $t {}
        )*
    };
}
plain! { f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize bool }

// SAFETY: an array has the properties of its elements.
unsafe impl<T: Portable, const N: usize> Portable for [T; N] {}

/// Declares a struct whose fields are all portable, and makes it portable.
///
/// ```
/// #![forbid(unsafe_code)]
/// drawloom_runtime::portable! {
///     /// A particle.
///     #[derive(Debug, PartialEq)]
///     pub struct Particle {
///         pub position: [f64; 3],
///         pub species: u32,
///     }
/// }
/// let particle = Particle { position: [0.0; 3], species: 1 };
/// assert_eq!(particle, particle.clone());
/// ```
#[macro_export]
macro_rules! portable {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$field_meta:meta])* $field_vis:vis $field:ident : $t:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        $vis struct $name { $($(#[$field_meta])* $field_vis $field: $t),* }

        const _: () = {
            const fn is_portable<T: $crate::Portable>() {}
            $(is_portable::<$t>();)*
        };

        // SAFETY: every field is portable, as checked above; the struct is `Copy`, so dropping it does nothing.
        unsafe impl $crate::Portable for $name {}
    };
}
