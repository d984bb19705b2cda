//! Element types: plain data that may be copied between memories, byte by byte.
//!
//! Bytes that come from elsewhere (a device, a file, a wire) need not be a value of every element type: a `bool` is 0 or 1.
//! So [`Element::is_valid`] says which bytes are one, and what copies bytes in checks them.

/// Plain data: a value may be copied to another memory and back, byte by byte.
///
/// Regions of elements can be used by every kind of worker. Vectors and values of other types, made with `host_vector` and
/// `host_value`, keep their tasks on processors of this machine.
///
/// The numbers, `bool` and arrays of elements are elements. A struct becomes one by a derive; it has a fixed layout, fields
/// that are elements, and no padding. The alignment may be any.
///
/// ```
/// use drawloom_runtime::Element;
///
/// #[derive(Clone, Copy, Debug, PartialEq, Element)]
/// #[repr(C)]
/// struct Particle {
///     position: [f64; 3],
///     species: u32,
///     moves: bool,
///     reserved: [u8; 3],
/// }
///
/// let loom = drawloom_runtime::Loom::serial();
/// let particle = Particle { position: [0.0; 3], species: 1, moves: true, reserved: [0; 3] };
/// let particles = loom.vector("particles", vec![particle; 10]);
/// assert_eq!(particles.to_vec()?[9], particle);
/// # Ok::<(), drawloom_runtime::Error>(())
/// ```
///
/// # Safety
/// The type has no padding, no pointers, references or handles, and no interior mutability. A value whose bytes are all zero
/// is valid, and so is every value of which `is_valid` holds; when `ALL_BYTES_VALID`, every value is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a region that moves between memories",
    label = "not plain data",
    note = "elements are numbers, `bool`, arrays of elements, and structs with `#[derive(Clone, Copy, Element)] #[repr(C)]`",
    note = "in place of a `char` use a `u32`, of an enum a number, of a pointer or a reference an index",
    note = "for data that stays with the workers of this process, use `host_vector` or `host_value`"
)]
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// Whether all bytes are a value.
    const ALL_BYTES_VALID: bool;

    /// Whether some bytes, as many as a value has, are one.
    fn is_valid(bytes: &[u8]) -> bool;
}

macro_rules! numbers {
    ($($t:ty)*) => {
        $(
            const _: () = is_pod::<$t>();
            // SAFETY: `Pod`, as checked above, means all of it: no padding, no pointers, and all bytes are valid.
            unsafe impl Element for $t {
                const ALL_BYTES_VALID: bool = true;

                #[inline]
                fn is_valid(_: &[u8]) -> bool {
                    true
                }
            }
        )*
    };
}
const fn is_pod<T: bytemuck::Pod>() {}
numbers! { f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize }

// SAFETY: one byte, which is 0 or 1.
unsafe impl Element for bool {
    const ALL_BYTES_VALID: bool = false;

    #[inline]
    fn is_valid(bytes: &[u8]) -> bool {
        bytes.iter().all(|&byte| <bool as bytemuck::CheckedBitPattern>::is_valid_bit_pattern(&byte))
    }
}

// SAFETY: an array has the properties of its elements, and no padding between them.
unsafe impl<T: Element, const N: usize> Element for [T; N] {
    const ALL_BYTES_VALID: bool = T::ALL_BYTES_VALID;

    #[inline]
    fn is_valid(bytes: &[u8]) -> bool {
        T::ALL_BYTES_VALID || first_invalid::<T>(bytes).is_none()
    }
}

/// The bytes of some elements.
pub fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: elements have no padding, so all their bytes are initialised; they are borrowed as long as the result.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// Elements that are all zero, or none when there is no memory for them. The system gives such memory out untouched.
pub(crate) fn zeros<T: Element>(len: usize) -> Option<Vec<T>> {
    /// An element, for the library that makes zeros.
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    struct Zero<T>(T);
    // SAFETY: a value whose bytes are all zero is valid for elements.
    unsafe impl<T: Element> bytemuck::Zeroable for Zero<T> {}

    let zeros = std::mem::ManuallyDrop::new(bytemuck::allocation::try_zeroed_vec::<Zero<T>>(len).ok()?);
    // SAFETY: the parts of a vector, of a type that has the layout of its one field.
    Some(unsafe { Vec::from_raw_parts(zeros.as_ptr().cast_mut().cast(), zeros.len(), zeros.capacity()) })
}

/// The number of the first element among some bytes that is no value of the type.
pub fn first_invalid<T: Element>(bytes: &[u8]) -> Option<usize> {
    if T::ALL_BYTES_VALID || size_of::<T>() == 0 {
        return None;
    }
    bytes.chunks_exact(size_of::<T>()).position(|bytes| !T::is_valid(bytes))
}
