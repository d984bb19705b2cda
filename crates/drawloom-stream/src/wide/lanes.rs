//! Items that lie side by side, in one slice or in several.

/// The items of a slice, or of two or three slices side by side: the shortest says how many there are.
///
/// There are no others: the loops in wide instructions write without looking at the end of a vector, and rely on the number.
///
/// ```compile_fail,E0277
/// use drawloom_stream::Lanes;
///
/// #[derive(Clone, Copy)]
/// struct Own;
///
/// impl Lanes for Own {
///     type Lane = u32;
///     fn count(self) -> usize {
///         1
///     }
///     fn part(self, _: usize, _: usize) -> Self {
///         self
///     }
///     fn lanes(self) -> impl Iterator<Item = u32> {
///         std::iter::repeat(7)
///     }
/// }
/// ```
pub trait Lanes: Copy + sealed::Sealed {
    /// An item, or one of each slice.
    type Lane: Copy;
    /// How many there are.
    fn count(self) -> usize;
    /// So many of them, from a place on.
    #[must_use]
    fn part(self, from: usize, count: usize) -> Self;
    /// One after the other.
    fn lanes(self) -> impl Iterator<Item = Self::Lane>;
}

mod sealed {
    /// Nobody else can say what lanes are.
    pub trait Sealed {}

    impl<A> Sealed for &[A] {}
    impl<A, B> Sealed for (&[A], &[B]) {}
    impl<A, B, C> Sealed for (&[A], &[B], &[C]) {}
}

impl<A: Copy> Lanes for &[A] {
    type Lane = A;

    #[inline(always)]
    fn count(self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn part(self, from: usize, count: usize) -> Self {
        &self[from..from + count]
    }

    #[inline(always)]
    fn lanes(self) -> impl Iterator<Item = A> {
        self.iter().copied()
    }
}

impl<A: Copy, B: Copy> Lanes for (&[A], &[B]) {
    type Lane = (A, B);

    #[inline(always)]
    fn count(self) -> usize {
        self.0.len().min(self.1.len())
    }

    #[inline(always)]
    fn part(self, from: usize, count: usize) -> Self {
        (self.0.part(from, count), self.1.part(from, count))
    }

    #[inline(always)]
    fn lanes(self) -> impl Iterator<Item = (A, B)> {
        self.0.lanes().zip(self.1.lanes())
    }
}

impl<A: Copy, B: Copy, C: Copy> Lanes for (&[A], &[B], &[C]) {
    type Lane = (A, B, C);

    #[inline(always)]
    fn count(self) -> usize {
        self.0.len().min(self.1.len()).min(self.2.len())
    }

    #[inline(always)]
    fn part(self, from: usize, count: usize) -> Self {
        (self.0.part(from, count), self.1.part(from, count), self.2.part(from, count))
    }

    #[inline(always)]
    fn lanes(self) -> impl Iterator<Item = (A, B, C)> {
        self.0.lanes().zip(self.1.lanes()).zip(self.2.lanes()).map(|((a, b), c)| (a, b, c))
    }
}
