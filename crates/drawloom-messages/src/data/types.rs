//! What data there can be: scalars, arrays, and tuples with named members.

use serde_json::Value;

/// A single number, truth value or letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// `uint8_t`
    U8,
    /// `uint16_t`
    U16,
    /// `uint32_t`
    U32,
    /// `uint64_t`
    U64,
    /// `int8_t`
    I8,
    /// `int16_t`
    I16,
    /// `int32_t`
    I32,
    /// `int64_t`
    I64,
    /// `float`
    F32,
    /// `double`
    F64,
    /// `bool`: a byte that is 0 or 1
    Bool,
    /// `char`: a byte
    Char,
}

impl Scalar {
    /// All of them.
    pub const ALL: [Scalar; 12] = [
        Scalar::U8,
        Scalar::U16,
        Scalar::U32,
        Scalar::U64,
        Scalar::I8,
        Scalar::I16,
        Scalar::I32,
        Scalar::I64,
        Scalar::F32,
        Scalar::F64,
        Scalar::Bool,
        Scalar::Char,
    ];

    /// How many bytes it takes; its alignment is the same.
    pub fn size(self) -> usize {
        match self {
            Scalar::U8 | Scalar::I8 | Scalar::Bool | Scalar::Char => 1,
            Scalar::U16 | Scalar::I16 => 2,
            Scalar::U32 | Scalar::I32 | Scalar::F32 => 4,
            Scalar::U64 | Scalar::I64 | Scalar::F64 => 8,
        }
    }

    /// Its name in C.
    pub fn c_name(self) -> &'static str {
        match self {
            Scalar::U8 => "uint8_t",
            Scalar::U16 => "uint16_t",
            Scalar::U32 => "uint32_t",
            Scalar::U64 => "uint64_t",
            Scalar::I8 => "int8_t",
            Scalar::I16 => "int16_t",
            Scalar::I32 => "int32_t",
            Scalar::I64 => "int64_t",
            Scalar::F32 => "float",
            Scalar::F64 => "double",
            Scalar::Bool => "bool",
            Scalar::Char => "char",
        }
    }

    /// The scalar with a name of C.
    pub fn from_c_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scalar| scalar.c_name() == name)
    }
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// One number.
    Scalar(Scalar),
    /// So many values of one type.
    Array(Box<Type>, usize),
    /// Members with names.
    Tuple(Tuple),
}

impl Type {
    /// An array of `length` values.
    pub fn array(element: impl Into<Type>, length: usize) -> Self {
        Type::Array(Box::new(element.into()), length)
    }

    /// Whether two types have the same members, whatever their defaults are.
    pub fn is_like(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Scalar(a), Type::Scalar(b)) => a == b,
            (Type::Array(a, n), Type::Array(b, m)) => n == m && a.is_like(b),
            (Type::Tuple(a), Type::Tuple(b)) => a.is_like(b),
            _ => false,
        }
    }
}

impl From<Scalar> for Type {
    fn from(scalar: Scalar) -> Self {
        Type::Scalar(scalar)
    }
}

impl From<Tuple> for Type {
    fn from(tuple: Tuple) -> Self {
        Type::Tuple(tuple)
    }
}

/// Members with names, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tuple {
    members: Vec<Member>,
}

/// A member of a tuple.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name: an identifier of C.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// What it is where nothing is said; zero if this says nothing either.
    pub default: Option<Value>,
}

impl Tuple {
    /// A tuple without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a member.
    #[must_use]
    pub fn with(self, name: impl Into<String>, ty: impl Into<Type>) -> Self {
        self.push(Member { name: name.into(), ty: ty.into(), default: None })
    }

    /// Adds a member with a default.
    #[must_use]
    pub fn with_default(self, name: impl Into<String>, ty: impl Into<Type>, default: impl Into<Value>) -> Self {
        self.push(Member { name: name.into(), ty: ty.into(), default: Some(default.into()) })
    }

    /// Adds a member.
    #[must_use]
    pub fn push(mut self, member: Member) -> Self {
        self.members.push(member);
        self
    }

    /// The members, in order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether two tuples have the same members, whatever their defaults are.
    pub fn is_like(&self, other: &Tuple) -> bool {
        self.members.len() == other.members.len()
            && self.members.iter().zip(&other.members).all(|(a, b)| a.name == b.name && a.ty.is_like(&b.ty))
    }
}
