//! tmp
use drawloom_apps::airfoil::Airfoil;
use drawloom_mesh::{Backend, Mode, Threads, naca};
use std::time::Instant;
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let a: Vec<String> = std::env::args().collect();
    let (i, j, n) = (a[1].parse()?, a[2].parse()?, a[3].parse()?);
    let raw = naca::naca0012(i, j)?;
    for spec in &a[4..] {
        let air = Airfoil::new(&raw, n, |_, _| ())?;
        let p: Vec<&str> = spec.split(':').collect();
        let mut t = Threads::new();
        let backend = match p[0] {
            "serial" => Backend::Serial,
            "debug" => Backend::Debug { seed: 1 },
            m => {
                t = t.workers(p[1].parse()?);
                if p.len() > 2 { t = t.blocks(p[2].parse()?); }
                if m == "fast" { t = t.mode(Mode::Fast); }
                Backend::Threads(t)
            }
        };
        let t0 = Instant::now();
        let mut run = air.program.start(backend)?;
        let plan = t0.elapsed();
        let t0 = Instant::now();
        run.run()?;
        let el = t0.elapsed();
        let r = air.residuals.lock().unwrap();
        let mut sum = 0u64; for c in run.dat(air.q)? { for v in c { sum = sum.wrapping_mul(31).wrapping_add(v.to_bits()); } }
        println!("{spec}: plan {:?} {:.3} ms/it; res {:?} {:?} hash {:x}", plan, el.as_secs_f64() * 1e3 / n as f64, r.get(99), r.last(), sum);
        for s in run.stats() { println!("   {:12} {:8} tasks {:4} rep {:6} reuse {:.2} {:.1} MB  {:.3} ms/it {:.1} GB/s", s.name, s.strategy.to_string(), s.tasks, s.repeated, s.reuse, s.bytes as f64/1e6, s.seconds*1e3/n as f64, s.gigabytes_per_second()); }
    }
    Ok(())
}
