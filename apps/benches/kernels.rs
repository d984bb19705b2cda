//! Speed of the tile kernels, in GFlop/s on one core, best of many repetitions.
use drawloom_apps::cholesky::{Kernels, Level};
use std::time::Instant;
fn main() {
    if std::env::args().any(|a| a == "whole") {
        return whole();
    }
    for level in Level::ALL.into_iter().rev() {
        let Some(k) = Kernels::at(level) else { continue };
        for nb in [16usize, 24, 32, 48, 64, 96, 128, 192, 256, 320, 384, 512] {
            let al = |seed: f64| {
                let v = vec![seed; nb * nb + 8];
                let o = v.as_ptr().align_offset(64);
                (v, o)
            };
            let (av, ao) = al(0.001);
            let (bv, bo) = al(0.001);
            let (mut cv, co) = al(0.1);
            let a = &av[ao..ao + nb * nb];
            let b = &bv[bo..bo + nb * nb];
            let c = &mut cv[co..co + nb * nb];
            let (mut lv, lo) = al(0.0);
            for i in 0..nb {
                lv[lo + i * nb + i] = 1.0;
            }
            let l = &lv[lo..lo + nb * nb];
            let f = (nb * nb * nb) as f64 * 1e-9;
            let inner = 1 + 30_000_000 / (nb * nb * nb);
            let mut best = [f64::MAX; 4];
            for _ in 0..20 {
                let t = Instant::now();
                for _ in 0..inner {
                    k.gemm(a, b, c, nb);
                }
                best[0] = best[0].min(t.elapsed().as_secs_f64());
                let t = Instant::now();
                for _ in 0..inner {
                    k.syrk(a, c, nb);
                }
                best[1] = best[1].min(t.elapsed().as_secs_f64());
                let t = Instant::now();
                for _ in 0..inner {
                    k.trsm(l, c, nb);
                }
                best[2] = best[2].min(t.elapsed().as_secs_f64());
                c.fill(0.0);
                for i in 0..nb {
                    c[i * nb + i] = 1.0;
                }
                let t = Instant::now();
                for _ in 0..inner {
                    k.potrf(c, nb).unwrap();
                }
                best[3] = best[3].min(t.elapsed().as_secs_f64());
            }
            let g = |i: usize, w: f64| w * f * inner as f64 / best[i];
            println!(
                "{:9} {nb:4} gemm {:6.1} syrk {:6.1} trsm {:6.1} potrf {:6.1}",
                level.name(),
                g(0, 2.0),
                g(1, 1.0),
                g(2, 1.0),
                g(3, 1.0 / 3.0)
            );
        }
    }
}
#[allow(missing_docs)]
pub fn whole() {
    use drawloom_apps::cholesky::*;
    for (n, nb) in [(2048, 32), (2048, 64), (2048, 96), (2048, 128), (4096, 128), (4096, 256), (4096, 512)] {
        for order in [Order::Left, Order::Right] {
            let m = Spd::new(Layout::new(n, nb).unwrap(), 1);
            let mut t = TiledMatrix::new(m).unwrap();
            let mut best = f64::MAX;
            for _ in 0..5 {
                t.fill(m);
                let s = Instant::now();
                t.factor_serial(Kernels::detect(), order).unwrap();
                best = best.min(s.elapsed().as_secs_f64());
            }
            println!("whole n {n} nb {nb} {order:?} {:.1}", m.layout().flops() / best * 1e-9);
        }
    }
}
