//! Micro measurements.
use drawloom_runtime::Loom;
use std::time::Instant;
fn best(reps: usize, tasks: usize, mut f: impl FnMut()) -> f64 {
    (0..reps)
        .map(|_| {
            let t = Instant::now();
            f();
            t.elapsed().as_nanos() as f64 / tasks as f64
        })
        .fold(f64::INFINITY, f64::min)
}
fn main() {
    let n: usize = std::env::args().nth(1).map_or(200_000, |s| s.parse().unwrap());
    for workers in [1, 2] {
        for flight in [4096, 16384] {
            let loom = Loom::builder().workers(workers).in_flight(flight).build().unwrap();
            let ind = best(6, n, || {
                for _ in 0..n {
                    loom.task("t").run(|| ());
                }
                loom.wait_all().unwrap();
            });
            let x = loom.value("x", 0u64);
            let chain = best(6, n, || {
                for _ in 0..n {
                    loom.task("t").update(&x).run(|x| *x += 1);
                }
                loom.wait_all().unwrap();
            });
            let xs: Vec<_> = (0..64).map(|i| loom.value(format!("x{i}"), 0u64)).collect();
            let chains = best(6, n, || {
                for i in 0..n {
                    loom.task("t").update(&xs[i % 64]).run(|x| *x += 1);
                }
                loom.wait_all().unwrap();
            });
            let readers = best(6, n, || {
                for i in 0..n {
                    if i % 16 == 0 {
                        loom.task("w").write(&x).run(|x| *x = 1);
                    } else {
                        loom.task("r").read(&x).run(|x| {
                            std::hint::black_box(x);
                        });
                    }
                }
                loom.wait_all().unwrap();
            });
            let a: Vec<_> = (0..16).map(|i| loom.value(format!("a{i}"), 0u64)).collect();
            let b: Vec<_> = (0..16).map(|i| loom.value(format!("b{i}"), 0u64)).collect();
            let stencil = best(6, n, || {
                for i in 0..n {
                    let (step, p) = (i / 16, i % 16);
                    let (from, to) = if step % 2 == 0 { (&a, &b) } else { (&b, &a) };
                    loom.task("s")
                        .write(&to[p])
                        .read(&from[(p + 15) % 16])
                        .read(&from[p])
                        .read(&from[(p + 1) % 16])
                        .run(|o, l, m, r| *o = l.wrapping_add(*m).wrapping_add(*r));
                }
                loom.wait_all().unwrap();
            });
            let m = 20_000;
            let round = best(6, m, || {
                for _ in 0..m {
                    loom.task("t").run(|| ()).wait().unwrap();
                }
            });
            let c = loom.capture("ind");
            for _ in 0..n {
                c.task("t").run(|| ());
            }
            let p = c.plan().unwrap();
            let rind = best(8, n, || p.run().unwrap());
            let c = loom.capture("chain");
            for _ in 0..n {
                c.task("t").update(&x).run(|x| *x += 1);
            }
            let p = c.plan().unwrap();
            let rchain = best(8, n, || p.run().unwrap());
            let c = loom.capture("stencil");
            for i in 0..n {
                let (step, p) = (i / 16, i % 16);
                let (from, to) = if step % 2 == 0 { (&a, &b) } else { (&b, &a) };
                c.task("s")
                    .write(&to[p])
                    .read(&from[(p + 15) % 16])
                    .read(&from[p])
                    .read(&from[(p + 1) % 16])
                    .run(|o, l, m, r| *o = l.wrapping_add(*m).wrapping_add(*r));
            }
            let p = c.plan().unwrap();
            let rsten = best(8, n, || p.run().unwrap());
            println!("  replay: independent {rind:.1} chain {rchain:.1} stencil {rsten:.1} edges {}", p.edges());
            println!(
                "workers {workers} flight {flight}: independent {ind:.0} chain {chain:.0} chains64 {chains:.0} readers {readers:.0} stencil {stencil:.0} roundtrip {round:.0}"
            );
        }
    }
}
