//! The inner loop: a kernel compiled together with its arguments, and called for one iteration after the other.

use std::any::TypeId;
use std::marker::PhantomData;
use std::ops::Range;

use super::args::{Folding, LoopArg};
use super::arity::for_each_arity;
use super::lanes::{GROUP, LANES};
use super::place::Place;
#[cfg(target_arch = "x86_64")]
use pulp::{NullaryFnOnce, x86::V3};

/// A kernel with its arguments, without their types.
pub(crate) trait LoopBody: Send + Sync {
    /// Calls the kernel for each iteration, in order. The error is the first iteration after which something was not
    /// written that must be.
    ///
    /// # Safety
    /// There is a place for each argument, of its kind. For every iteration of the range, the elements that it leads to
    /// exist and may be read, and those that it changes may be changed by the calling thread alone.
    unsafe fn run(&self, places: &[Place], iterations: Range<usize>) -> Result<(), usize>;

    /// The type of the kernel: loops with the same one call the same function.
    fn kernel(&self) -> TypeId;

    /// How contributions to each argument are folded, where it has any.
    fn foldings(&self) -> Vec<Option<Folding>>;
}

/// A kernel, and the list of its arguments as a type.
pub(crate) struct Compiled<F, A> {
    kernel: F,
    arguments: PhantomData<fn() -> A>,
}

impl<F, A> Compiled<F, A> {
    /// The kernel must hold nothing: what it knows, it knows from its arguments.
    pub(crate) fn new(kernel: F) -> Self {
        const {
            assert!(
                size_of::<F>() == 0,
                "a kernel sees only its arguments: it cannot capture anything, nor be a pointer"
            );
        }
        Self { kernel, arguments: PhantomData }
    }
}

/// The loop on plain places, to be compiled for AVX2.
#[cfg(target_arch = "x86_64")]
struct PlainLoop<'a, F, A> {
    body: &'a Compiled<F, A>,
    places: &'a [Place],
    iterations: Range<usize>,
}

#[cfg(target_arch = "x86_64")]
impl<'a, F, A> PlainLoop<'a, F, A> {
    /// # Safety
    /// As [`LoopBody::run`]; the places are plain.
    unsafe fn new(body: &'a Compiled<F, A>, places: &'a [Place], iterations: Range<usize>, _: V3) -> Self {
        Self { body, places, iterations }
    }
}

macro_rules! loop_body {
    ($(($($a:ident $x:ident $n:tt),*))*) => { $(
        impl<FN, $($a: LoopArg),*> Compiled<FN, ($($a,)*)>
        where
            FN: for<'v> Fn($($a::View<'v>),*) + Send + Sync + 'static,
        {
            /// # Safety
            /// As [`LoopBody::run`]; with `PLAIN`, the places are plain.
            #[inline(always)]
            unsafe fn each<const PLAIN: bool>(&self, places: &[Place], iterations: Range<usize>) -> Result<(), usize> {
                // Copies, so that nothing the kernel writes can be taken for a change of them.
                $(let $x = places[$n];)*
                for iteration in iterations {
                    // SAFETY: promised by the caller.
                    let done = unsafe {
                        let mut locals = ($($a::prepare::<PLAIN>(&$x, iteration),)*);
                        (self.kernel)($($a::view::<PLAIN>(&$x, iteration, &mut locals.$n)),*);
                        true $(& $a::finish::<PLAIN>(&$x, iteration, &mut locals.$n))*
                    };
                    if !done {
                        return Err(iteration);
                    }
                }
                Ok(())
            }

            /// The same for several iterations at a time: all of them are gathered, then the kernel runs for each, then what
            /// it did is put back in the order of iterations. Returns the first iteration that is left: fewer are left than
            /// there are lanes, or the kernel did not write what it must in one of them.
            ///
            /// # Safety
            /// As [`LoopBody::run`]; the places are plain. On x86-64, the processor has AVX.
            #[inline(always)]
            unsafe fn in_lanes(&self, places: &[Place], iterations: Range<usize>) -> usize {
                $(let $x = places[$n].known_plain();)*
                let mut lanes = ($($a::lanes(),)*);
                let mut first = iterations.start;
                while iterations.end - first >= LANES {
                    let mut done = true;
                    // SAFETY: promised by the caller.
                    unsafe {
                        $($a::gather(&$x, first, &mut lanes.$n);)*
                        for lane in 0..LANES {
                            let mut locals = ($($a::fetch(&lanes.$n, lane),)*);
                            (self.kernel)($($a::view::<false>(&$x, first + lane, &mut locals.$n)),*);
                            done &= true $(& $a::keep(&mut lanes.$n, lane, &locals.$n))*;
                        }
                    }
                    if !done {
                        // Nothing of these iterations was put back yet.
                        break;
                    }
                    for group in (0..LANES).step_by(GROUP) {
                        // SAFETY: promised by the caller; all lanes were kept.
                        unsafe {
                            let mut rows = ($($a::rows(&lanes.$n, group),)*);
                            for k in 0..GROUP {
                                $($a::finish::<false>(&$x, first + group + k, &mut rows.$n[k]);)*
                            }
                        }
                    }
                    first += LANES;
                }
                first
            }

            /// The loop on plain places: in lanes wherever the arguments allow it, and what is left one by one.
            ///
            /// # Safety
            /// As [`LoopBody::run`]; the places are plain. On x86-64, the processor has AVX.
            #[inline(always)]
            unsafe fn plain(&self, places: &[Place], iterations: Range<usize>) -> Result<(), usize> {
                let mut left = iterations;
                // SAFETY: promised by the caller.
                unsafe {
                    if true $(& $a::IN_LANES)* {
                        left.start = self.in_lanes(places, left.clone());
                    }
                    self.each::<true>(places, left)
                }
            }
        }

        #[cfg(target_arch = "x86_64")]
        impl<FN, $($a: LoopArg),*> NullaryFnOnce for PlainLoop<'_, FN, ($($a,)*)>
        where
            FN: for<'v> Fn($($a::View<'v>),*) + Send + Sync + 'static,
        {
            type Output = Result<(), usize>;

            #[inline(always)]
            fn call(self) -> Self::Output {
                // SAFETY: promised by the caller of `new`.
                unsafe { self.body.plain(self.places, self.iterations) }
            }
        }

        impl<FN, $($a: LoopArg),*> LoopBody for Compiled<FN, ($($a,)*)>
        where
            FN: for<'v> Fn($($a::View<'v>),*) + Send + Sync + 'static,
        {
            unsafe fn run(&self, places: &[Place], iterations: Range<usize>) -> Result<(), usize> {
                // SAFETY: promised by the caller; whether the places are plain, and what the processor has, is checked here.
                unsafe {
                    #[cfg(target_arch = "x86_64")]
                    if let (Some(simd), true) = (V3::try_new(), places.iter().all(Place::is_plain)) {
                        return simd.vectorize(PlainLoop::new(self, places, iterations, simd));
                    }
                    #[cfg(not(target_arch = "x86_64"))]
                    if places.iter().all(Place::is_plain) {
                        return self.plain(places, iterations);
                    }
                    self.each::<false>(places, iterations)
                }
            }

            fn kernel(&self) -> TypeId {
                TypeId::of::<FN>()
            }

            fn foldings(&self) -> Vec<Option<Folding>> {
                vec![$($a::folding()),*]
            }
        }
    )* };
}

for_each_arity!(loop_body);

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::accumulate::{Acc, Lowest, Out};
    use super::super::args::{All, Column, Contribute, Direct, Index, Read, ReadGlobal, Update, Write};
    use super::super::operator::{Adding, Lowering};
    use super::*;

    const ITERATIONS: usize = 101;
    type Args = (
        Read<Column<3>, f64, 4>,
        Read<All<3>, f32, 2>,
        Index<Column<3>>,
        ReadGlobal<f64, 1>,
        Write<Direct, f64, 2>,
        Write<All<2>, i32, 1>,
        Update<Direct, f64, 5>,
        Update<All<2>, f64, 2>,
        Contribute<Adding, Column<3>, f64, 4>,
        Contribute<Adding, All<3>, f64, 2>,
        Contribute<Lowering, All<3>, f32, 3>,
    );

    #[allow(clippy::too_many_arguments)]
    fn kernel(
        a: &[f64; 4],
        b: [&[f32; 2]; 3],
        index: usize,
        global: &[f64; 1],
        out: &mut Out<f64, 2>,
        outs: &mut [Out<i32, 1>; 2],
        update: &mut [f64; 5],
        updates: &mut [[f64; 2]; 2],
        at: &mut [Acc<f64>; 4],
        there: &mut [[Acc<f64>; 2]; 3],
        lowest: &mut [[Lowest<f32>; 3]; 3],
    ) {
        // A kernel that never writes its element for one iteration is run with a global of zero.
        if global[0] != 0.0 || update[0] < 90.0 {
            out.set([a[0] / a[3] + update[4], global[0] - index as f64]);
        }
        for (n, out) in outs.iter_mut().enumerate() {
            out.set([index as i32 * 2 + n as i32]);
        }
        update[1] += a[1].sqrt();
        for (n, value) in update.iter_mut().enumerate() {
            *value = *value * 0.1 + n as f64;
        }
        for pair in updates {
            pair.swap(0, 1);
            pair[0] += a[2];
        }
        for (n, at) in at.iter_mut().enumerate() {
            *at += a[n] * 0.3;
            *at -= f64::from(b[n % 3][0]);
        }
        for (c, (there, lowest)) in there.iter_mut().zip(lowest).enumerate() {
            there[0] += a[c] * f64::from(b[c][1]);
            there[1] -= a[3 - c];
            for (n, lowest) in lowest.iter_mut().enumerate() {
                lowest.offer(b[c][n % 2] - n as f32);
            }
        }
    }

    /// Everything that the kernel reads and changes.
    #[derive(Clone)]
    struct Data {
        table: Vec<[u32; 3]>,
        pairs: Vec<[u32; 2]>,
        a: Vec<[f64; 4]>,
        b: Vec<[f32; 2]>,
        global: [f64; 1],
        out: Vec<[f64; 2]>,
        outs: Vec<[i32; 1]>,
        update: Vec<[f64; 5]>,
        updates: Vec<[f64; 2]>,
        at: Vec<[f64; 4]>,
        there: Vec<[f64; 2]>,
        lowest: Vec<[f32; 3]>,
    }

    impl Data {
        fn new() -> Self {
            let mut random = fastrand::Rng::with_seed(1);
            let mut number = || random.f64() * 3.0 + 0.1;
            let a = std::iter::repeat_with(|| std::array::from_fn(|_| number())).take(40).collect();
            let b = std::iter::repeat_with(|| std::array::from_fn(|_| number() as f32)).take(40).collect();
            let mut random = fastrand::Rng::with_seed(2);
            Self {
                table: (0..ITERATIONS).map(|_| std::array::from_fn(|_| random.u32(0..40))).collect(),
                pairs: (0..ITERATIONS as u32).map(|n| [2 * n + 1, 2 * n]).collect(),
                a,
                b,
                global: [0.7],
                out: vec![[0.0; 2]; ITERATIONS],
                outs: vec![[0]; 2 * ITERATIONS],
                update: (0..ITERATIONS).map(|n| std::array::from_fn(|c| (n + c) as f64)).collect(),
                updates: (0..2 * ITERATIONS).map(|n| [n as f64, -1.0]).collect(),
                at: vec![[0.0; 4]; 40],
                there: vec![[0.0; 2]; 40],
                lowest: vec![[1.0; 3]; 40],
            }
        }

        fn places(&mut self) -> Vec<Place> {
            let place = |base: *mut u8, table: *const u32| Place { base, table, ..Place::NOWHERE };
            let (table, pairs) = (self.table.as_ptr().cast::<u32>(), self.pairs.as_ptr().cast::<u32>());
            let direct = std::ptr::null();
            vec![
                // SAFETY: a row of the table has three columns.
                place(self.a.as_mut_ptr().cast(), unsafe { table.add(1) }),
                place(self.b.as_mut_ptr().cast(), table),
                place(std::ptr::null_mut(), table),
                place(self.global.as_mut_ptr().cast(), direct),
                place(self.out.as_mut_ptr().cast(), direct),
                place(self.outs.as_mut_ptr().cast(), pairs),
                place(self.update.as_mut_ptr().cast(), direct),
                place(self.updates.as_mut_ptr().cast(), pairs),
                // SAFETY: as above.
                Place { own: (5, 30), ..place(self.at.as_mut_ptr().cast(), unsafe { table.add(2) }) },
                place(self.there.as_mut_ptr().cast(), table),
                place(self.lowest.as_mut_ptr().cast(), table),
            ]
        }

        /// All that the kernel changes, as bits.
        fn bits(&self) -> Vec<u64> {
            let doubles = self.out.as_flattened().iter().chain(self.update.as_flattened());
            let doubles = doubles.chain(self.updates.as_flattened());
            let doubles = doubles.chain(self.at.as_flattened()).chain(self.there.as_flattened());
            let singles = self.lowest.as_flattened().iter().map(|v| u64::from(v.to_bits()));
            let integers = self.outs.as_flattened().iter().map(|&v| v as u64);
            doubles.map(|v| v.to_bits()).chain(singles).chain(integers).collect()
        }
    }

    #[test]
    fn lanes_give_the_bits_of_one_iteration_after_the_other_and_find_the_same_mistake() {
        let Some(simd) = V3::try_new() else { return };
        let body: Compiled<_, Args> = Compiled::new(kernel);
        for global in [0.7, 0.0] {
            let mut one_by_one = Data { global: [global], ..Data::new() };
            let mut in_lanes = one_by_one.clone();
            let before = one_by_one.bits();
            let places = one_by_one.places();
            // SAFETY: the places are those of the arguments, and the tables lead to elements that exist.
            let expected = unsafe { body.each::<false>(&places, 0..ITERATIONS) };
            let places = in_lanes.places();
            // SAFETY: as above.
            let found = simd.vectorize(unsafe { PlainLoop::new(&body, &places, 0..ITERATIONS, simd) });
            assert_eq!(found, expected);
            assert_eq!(expected, if global == 0.0 { Err(90) } else { Ok(()) });
            assert_eq!(in_lanes.bits(), one_by_one.bits());
            assert_ne!(in_lanes.bits(), before);
        }
    }
}
