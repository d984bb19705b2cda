//! Operators of reductions.

/// How contributions to an element are folded together.
///
/// The operator should be associative and commutative up to rounding. Contributions are folded in an order that does not
/// depend on the number of workers, so results are the same bits each time, unless the reduction was allowed to reorder.
///
/// ```
/// use drawloom_runtime::Operator;
///
/// #[derive(Clone, Copy)]
/// struct GreatestCommonDivisor;
/// impl Operator<u64> for GreatestCommonDivisor {
///     fn name(&self) -> &'static str {
///         "gcd"
///     }
///     fn identity(&self) -> u64 {
///         0
///     }
///     fn fold(&self, into: &mut u64, from: &u64) {
///         let (mut a, mut b) = (*into, *from);
///         while b != 0 {
///             (a, b) = (b, a % b);
///         }
///         *into = a;
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operator for elements of type `{T}`",
    label = "cannot fold contributions of type `{T}`",
    note = "`Sum`, `Product`, `Min` and `Max` fold numbers and arrays of numbers; for others, implement `Operator`"
)]
pub trait Operator<T>: Clone + Send + Sync + 'static {
    /// The name in messages and graphs. Contributions of tasks are folded together where their operators have the same name and
    /// type, and no fields; otherwise one reduction is over before the next one begins.
    fn name(&self) -> &'static str;
    /// The value that changes nothing; private accumulators start with it.
    fn identity(&self) -> T;
    /// Folds a contribution in.
    fn fold(&self, into: &mut T, from: &T);
}

/// Adds contributions up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum;
/// Multiplies contributions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Product;
/// Keeps the least contribution.
#[derive(Clone, Copy, Debug, Default)]
pub struct Min;
/// Keeps the greatest contribution.
#[derive(Clone, Copy, Debug, Default)]
pub struct Max;

macro_rules! integers {
    ($($t:ty)*) => { $(
        impl Operator<$t> for Sum {
            fn name(&self) -> &'static str { "sum" }
            fn identity(&self) -> $t { 0 }
            fn fold(&self, into: &mut $t, from: &$t) { *into = into.wrapping_add(*from); }
        }
        impl Operator<$t> for Product {
            fn name(&self) -> &'static str { "product" }
            fn identity(&self) -> $t { 1 }
            fn fold(&self, into: &mut $t, from: &$t) { *into = into.wrapping_mul(*from); }
        }
        impl Operator<$t> for Min {
            fn name(&self) -> &'static str { "min" }
            fn identity(&self) -> $t { <$t>::MAX }
            fn fold(&self, into: &mut $t, from: &$t) { *into = (*into).min(*from); }
        }
        impl Operator<$t> for Max {
            fn name(&self) -> &'static str { "max" }
            fn identity(&self) -> $t { <$t>::MIN }
            fn fold(&self, into: &mut $t, from: &$t) { *into = (*into).max(*from); }
        }
    )* };
}
integers! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize }

macro_rules! floats {
    ($($t:ty)*) => { $(
        impl Operator<$t> for Sum {
            fn name(&self) -> &'static str { "sum" }
            // Minus zero, as only it leaves minus zero alone.
            fn identity(&self) -> $t { -0.0 }
            fn fold(&self, into: &mut $t, from: &$t) { *into += *from; }
        }
        impl Operator<$t> for Product {
            fn name(&self) -> &'static str { "product" }
            fn identity(&self) -> $t { 1.0 }
            fn fold(&self, into: &mut $t, from: &$t) { *into *= *from; }
        }
        impl Operator<$t> for Min {
            fn name(&self) -> &'static str { "min" }
            fn identity(&self) -> $t { <$t>::INFINITY }
            fn fold(&self, into: &mut $t, from: &$t) { *into = into.min(*from); }
        }
        impl Operator<$t> for Max {
            fn name(&self) -> &'static str { "max" }
            fn identity(&self) -> $t { <$t>::NEG_INFINITY }
            fn fold(&self, into: &mut $t, from: &$t) { *into = into.max(*from); }
        }
    )* };
}
floats! { f32 f64 }

macro_rules! arrays {
    ($($op:ty)*) => { $(
        impl<T, const N: usize> Operator<[T; N]> for $op
        where
            $op: Operator<T>,
        {
            fn name(&self) -> &'static str { <$op as Operator<T>>::name(self) }
            fn identity(&self) -> [T; N] { std::array::from_fn(|_| <$op as Operator<T>>::identity(self)) }
            fn fold(&self, into: &mut [T; N], from: &[T; N]) {
                for (into, from) in into.iter_mut().zip(from) {
                    <$op as Operator<T>>::fold(self, into, from);
                }
            }
        }
    )* };
}
arrays! { Sum Product Min Max }
