//! scratch
use drawloom_graph::families;
use std::time::Instant;
fn t<T>(name: &str, g: impl FnOnce() -> T) -> T {
    let s = Instant::now();
    let r = g();
    println!("{name}: {:.3}s", s.elapsed().as_secs_f64());
    r
}
fn main() {
    let g = families::stencil(1000, 500);
    println!("{} nodes {} edges", g.nodes().len(), g.edges().len());
    for _ in 0..3 {
        let r = t("check stencil 1M", || g.check());
        assert!(r.is_valid());
    }
    let o = t("order stencil", || g.order()).unwrap();
    println!("{} hb", o.happens_before.len());
    drop(g);
    let a = families::stencil(256, 2000);
    let b = families::deep_stencil(8, 2000);
    for _ in 0..2 {
        t("flat 256", || a.check());
        t("deep 256", || b.check());
    }
    t("order deep", || b.order()).unwrap();
    for n in [100_000u32, 200_000, 400_000] {
        let g = families::fan_out(n);
        assert!(t("fan_out", || g.check()).is_valid());
        assert_eq!(t("order", || g.order()).unwrap().happens_before.len(), n as usize);
    }
    for n in [100_000u32, 200_000] {
        for ro in [false, true] {
            let g = families::reopen(n, 4, ro);
            println!("reopen {} {} nodes", ro, g.nodes().len());
            assert!(t("check", || g.check()).is_valid());
            let o = t("order", || g.order()).unwrap();
            println!("{} hb {} barriers", o.happens_before.len(), o.barriers);
        }
    }
    let g = t("build 1M nodes program", || families::program(1000, 500)).finish();
    println!("{} nodes", g.nodes().len());
    assert!(t("check program", || g.check()).is_valid());
}
