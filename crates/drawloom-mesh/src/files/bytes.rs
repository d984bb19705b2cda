//! Numbers as bytes, in either order.

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ByteOrder {
    /// The lowest byte first.
    #[default]
    Little,
    /// The highest byte first.
    Big,
}

impl ByteOrder {
    /// The bytes of a number, the lowest one first.
    pub(super) fn little<const N: usize>(self, mut bytes: [u8; N]) -> [u8; N] {
        if self == ByteOrder::Big {
            bytes.reverse();
        }
        bytes
    }

    /// All numbers in some bytes.
    pub(super) fn numbers<T, const N: usize>(self, bytes: &[u8], number: impl Fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks::<N>().0.iter().map(|bytes| number(self.little(*bytes))).collect()
    }

    /// The name of the order.
    pub(super) fn name(self) -> &'static str {
        match self {
            ByteOrder::Little => "little endian",
            ByteOrder::Big => "big endian",
        }
    }
}
