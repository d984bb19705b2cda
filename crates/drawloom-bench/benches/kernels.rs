//! Speed of the tile kernels and of the kernel of Task Bench on one core.
//!
//! `cargo bench -p drawloom-bench --bench kernels [-- PART...]`, where a part is `tiles`, `cold`, `whole` or `compute`;
//! without one, all of them. Every figure is in GFlop/s of this thread's processor time, best of many repetitions, so
//! that others on the machine disturb it as little as possible.

use drawloom_apps::cholesky::{Kernels, Layout, Order, Spd, TiledMatrix};
use drawloom_apps::levels;
use drawloom_bench::taskbench::{Compute, flops};
use std::hint::black_box;

const SIZES: [usize; 12] = [16, 24, 32, 48, 64, 96, 128, 192, 256, 320, 384, 512];
const REPETITIONS: usize = 25;

fn main() {
    let parts: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    if wanted("tiles") {
        levels().into_iter().rev().map(Kernels::at).for_each(tiles);
    }
    if wanted("cold") {
        cold();
    }
    if wanted("whole") {
        whole();
    }
    if wanted("compute") {
        compute();
    }
}

/// Kernels on tiles that stay in the caches, and `matrixmultiply` on the same.
fn tiles(kernels: Kernels) {
    println!("tiles in the caches, level {}", kernels.level());
    println!("{:>5} {:>8} {:>8} {:>8} {:>8} {:>15}", "nb", "gemm", "syrk", "trsm", "potrf", "matrixmultiply");
    for nb in SIZES {
        let [mut a, mut b, mut c, mut l] = std::array::from_fn(|_| Tile::new(nb));
        a.get().fill(1e-3);
        b.get().fill(1e-3);
        l.set_identity();
        let (a, b, l) = (&*a.get(), &*b.get(), &*l.get());
        let cube = (nb as f64).powi(3);
        let calls = 1 + 20_000_000 / nb.pow(3);
        let gemm = best(calls, 2.0 * cube, || kernels.gemm(a, b, c.get(), nb));
        let syrk = best(calls, cube, || kernels.syrk(a, c.get(), nb));
        c.set_identity();
        let trsm = best(calls, cube, || kernels.trsm(l, c.get(), nb));
        let potrf = best(calls, cube / 3.0, || kernels.potrf(c.get(), nb).expect("the identity is positive definite"));
        let peer = best(calls, 2.0 * cube, || matrixmultiply(a, b, c.get(), nb));
        println!("{nb:>5} {gemm:>8.1} {syrk:>8.1} {trsm:>8.1} {potrf:>8.1} {peer:>15.1}");
    }
}

/// A product of tiles.
type Multiply<'a> = &'a dyn Fn(&[f64], &[f64], &mut [f64], usize);

/// The product on tiles that have to come from far: each call uses three others of 64 MiB.
fn cold() {
    println!("gemm on tiles out of the caches");
    println!("{:>5} {:>8} {:>15}", "nb", "gemm", "matrixmultiply");
    let kernels = Kernels::detect();
    for nb in SIZES {
        let mut pool: Vec<Tile> = (0..(8 << 20) / (nb * nb)).map(|_| Tile::new(nb)).collect();
        let calls = pool.len() / 3;
        let work = 2.0 * (nb as f64).powi(3) * calls as f64;
        let mut all = |multiply: Multiply<'_>| {
            best(1, work, || {
                for tiles in pool.chunks_exact_mut(3) {
                    let [a, b, c] = tiles else { continue };
                    multiply(a.get(), b.get(), c.get(), nb);
                }
            })
        };
        let gemm = all(&|a, b, c, nb| kernels.gemm(a, b, c, nb));
        let peer = all(&matrixmultiply);
        println!("{nb:>5} {gemm:>8.1} {peer:>15.1}");
    }
}

/// The whole factorisation as a serial loop.
fn whole() {
    println!("whole factorisation, one core, no runtime");
    println!("{:>5} {:>5} {:>8} {:>8} {:>8}", "n", "tile", "tasks", "left", "right");
    let sizes = [(2048, 32), (2048, 48), (2048, 64), (2048, 96), (2048, 128), (4096, 64), (4096, 128), (4096, 192)];
    for (n, tile) in sizes.into_iter().chain([(4096, 256), (4096, 320), (4096, 512)]) {
        let layout = Layout::new(n, tile).expect("a size that can be laid out");
        let matrix = Spd::new(layout, 1);
        let mut tiles = TiledMatrix::new(matrix).expect("memory for the matrix");
        let [left, right] = [Order::Left, Order::Right].map(|order| {
            let rates = (0..5).map(|_| {
                tiles.fill(matrix);
                let start = processor_seconds();
                tiles.factor_serial(Kernels::detect(), order).expect("the matrix is positive definite");
                layout.flops() / (processor_seconds() - start)
            });
            rates.fold(0.0, f64::max) * 1e-9
        });
        println!("{n:>5} {tile:>5} {:>8} {left:>8.1} {right:>8.1}", layout.tasks());
    }
}

/// The kernel of Task Bench.
fn compute() {
    println!("kernel of Task Bench");
    println!("{:>10} {:>10} {:>8} {:>8}", "level", "iterations", "GFlop/s", "ns");
    for compute in levels().into_iter().rev().map(Compute::at) {
        for iterations in [0, 1, 10, 100, 10_000] {
            let calls = 1 + 1_000_000 / (iterations as usize + 1);
            let rate = best(calls, flops(iterations), || {
                black_box(compute.run(black_box(iterations)));
            });
            let nanoseconds = flops(iterations) / rate;
            println!("{:>10} {iterations:>10} {rate:>8.1} {nanoseconds:>8.1}", compute.level());
        }
    }
}

/// The best rate in GFlop/s of a call with `work` operations.
fn best(calls: usize, work: f64, mut call: impl FnMut()) -> f64 {
    let mut shortest = f64::INFINITY;
    for _ in 0..REPETITIONS {
        let start = processor_seconds();
        for _ in 0..calls {
            call();
        }
        shortest = shortest.min(processor_seconds() - start);
    }
    work * calls as f64 / shortest * 1e-9
}

/// Processor time this thread has used.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0, "the clock of the thread's processor time");
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

fn matrixmultiply(a: &[f64], b: &[f64], c: &mut [f64], nb: usize) {
    assert!(a.len() == nb * nb && b.len() == nb * nb && c.len() == nb * nb);
    let stride = nb as isize;
    // SAFETY: all three have `nb * nb` elements, and the strides are those of columns and, for B, of rows.
    unsafe {
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        matrixmultiply::dgemm(nb, nb, nb, -1.0, a, 1, stride, b, stride, 1, 1.0, c, 1, stride);
    }
}

/// A tile that starts at a cache line.
struct Tile {
    buffer: Vec<f64>,
    nb: usize,
}

impl Tile {
    fn new(nb: usize) -> Tile {
        Tile { buffer: vec![0.0; nb * nb + 8], nb }
    }

    fn get(&mut self) -> &mut [f64] {
        let start = self.buffer.as_ptr().align_offset(64);
        &mut self.buffer[start..][..self.nb * self.nb]
    }

    fn set_identity(&mut self) {
        let nb = self.nb;
        let tile = self.get();
        tile.fill(0.0);
        (0..nb).for_each(|i| tile[i + i * nb] = 1.0);
    }
}
