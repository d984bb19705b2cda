//! Copying, folding and pointing at values, as C text.

use std::fmt::Write;

use drawloom_messages::data::{Scalar, Type};

use crate::kernel::site::Access;

/// Copies a value.
pub(super) fn copy(to: &str, from: &str, ty: &Type) -> String {
    each(to, from, ty, 0, &|to, from, _| format!("{to} = {from};"))
}

/// Folds a contribution into a value. One with a payload is a struct of both, and the payload follows the value.
pub(super) fn fold(to: &str, from: &str, ty: &Type, access: Access) -> String {
    match ty {
        Type::Tuple(_) => {
            let sign = if access == Access::Min { '<' } else { '>' };
            let first = format!("{from}.value == {to}.value && {from}.element < {to}.element");
            format!("if({from}.value {sign} {to}.value || ({first})) {to} = {from};")
        }
        _ => each(to, from, ty, 0, &|to, from, _| match access {
            Access::Min => format!("if({from} < {to}) {to} = {from};"),
            Access::Max => format!("if({from} > {to}) {to} = {from};"),
            _ => format!("{to} += {from};"),
        }),
    }
}

/// Makes the contribution that changes nothing.
pub(super) fn identity(to: &str, ty: &Type, access: Access) -> String {
    match ty {
        Type::Tuple(tuple) => {
            let value = tuple.members().iter().find(|member| member.name == "value");
            let text = value.map_or(String::new(), |value| identity(&format!("{to}.value"), &value.ty, access));
            format!("{text} {to}.element = UINT32_MAX;")
        }
        _ => each(to, "", ty, 0, &|to, _, scalar| format!("{to} = {};", bound(scalar, access))),
    }
}

/// The value that changes nothing.
fn bound(scalar: Scalar, access: Access) -> &'static str {
    match (access, scalar) {
        (Access::Min, Scalar::F32 | Scalar::F64) => "INFINITY",
        (Access::Max, Scalar::F32 | Scalar::F64) => "-INFINITY",
        (Access::Min, Scalar::I32) => "INT32_MAX",
        (Access::Max, Scalar::I32) => "INT32_MIN",
        (Access::Min, Scalar::I64) => "INT64_MAX",
        (Access::Max, Scalar::I64) => "INT64_MIN",
        (Access::Min, Scalar::U32) => "UINT32_MAX",
        _ => "0",
    }
}

/// A statement for each number of a value.
fn each(to: &str, from: &str, ty: &Type, depth: usize, of: &dyn Fn(&str, &str, Scalar) -> String) -> String {
    match ty {
        Type::Scalar(scalar) => of(to, from, *scalar),
        Type::Array(element, length) => {
            let at = |value: &str| format!("{value}[k{depth}]");
            let inside = each(&at(to), &at(from), element, depth + 1, of);
            format!("for(unsigned k{depth} = 0; k{depth} < {length}; k{depth}++) {{ {inside} }}")
        }
        Type::Tuple(tuple) => {
            let mut text = String::new();
            for member in tuple.members() {
                let at = |value: &str| format!("{value}.{}", member.name);
                let _ = write!(text, "{} ", each(&at(to), &at(from), &member.ty, depth, of));
            }
            text
        }
    }
}

/// A pointer to the first number of a value, or to its first array if it is one of arrays. A truth value is a `uint8_t` for
/// kernels, whatever a version of graph files declares it as.
pub(super) fn pointer(value: &str, ty: &Type) -> String {
    match ty {
        Type::Scalar(Scalar::Bool) => format!("(uint8_t *)&{value}"),
        Type::Array(inner, _) => match &**inner {
            Type::Scalar(Scalar::Bool) => format!("(uint8_t *){value}"),
            Type::Array(element, length) if **element == Type::Scalar(Scalar::Bool) => {
                format!("(uint8_t (*)[{length}]){value}")
            }
            _ => value.to_owned(),
        },
        _ => format!("&{value}"),
    }
}
