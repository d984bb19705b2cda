//! The C text of the applications' handlers does what the handlers do.

use drawloom_apps::aero::{self, Aero};
use drawloom_apps::dots::{self, Dots};
use drawloom_apps::jacobi::{self, Jacobi, Variant};
use drawloom_apps::reduction::{self, Bounds, Reduction};
use drawloom_mesh::{HandlerText, Program, naca};
use drawloom_messages::{Instance, Machine, Settings};

use crate::c_text;
use crate::support::assert_close;

/// Runs a program as messages, by its handlers and by their C text. Sends and deliveries must agree; what a C expression
/// finds in the state of the controller is returned. Nothing if this machine has no C compiler.
fn in_c(name: &str, program: Program, text: &HandlerText, result: &str) -> Option<f64> {
    let instance: std::sync::Arc<Instance> = program.event_graph(name, Some(text)).unwrap();
    let report = Machine::new(&instance).run(&Settings::default()).unwrap();
    let result = result.replace('$', "((const controller_state_t *)s)->");
    let (sends, deliveries, cancelled, found) = c_text::run(&instance, &result)?;
    let counts = (report.counts.sends, report.counts.deliveries, report.counts.cancelled);
    assert_eq!(counts, (sends, deliveries, cancelled), "{name}");
    assert!(deliveries > 0, "{name}");
    Some(found)
}

#[test]
fn aero() {
    let app = Aero::new(&naca::naca0012_fe(3, 5).unwrap(), 2, |_, _| ()).unwrap();
    let Some(sum) = in_c("aero", app.program, &aero::text(), "$global_rms") else { return };
    let came = app.iterations.lock().unwrap()[1];
    let nodes = naca::naca0012_fe(3, 5).unwrap().set("nodes").unwrap().size as f64;
    assert_close((sum / nodes).sqrt(), came.residual, 1e-9, &"residual");
}

#[test]
fn jacobi() {
    for (name, variant, tolerance) in [("jacobi", Variant::Double, 1e-12), ("jacobi_mixed", Variant::Mixed, 1e-5)] {
        let app = Jacobi::new(&jacobi::grid(5).unwrap(), variant, 3, |_, _| ()).unwrap();
        let (program, sweeps) = (app.program, app.sweeps);
        let Some(found) = in_c(name, program, &jacobi::text(variant), "$global_u_sum + 1000 * $global_u_max") else {
            return;
        };
        let last = sweeps.lock().unwrap()[2];
        assert_close(found, last.rms * last.rms * 25.0 + 1000.0 * last.max, tolerance, &name);
    }
}

#[test]
fn reduction() {
    let raw = naca::naca0012(3, 5).unwrap();
    let app = Reduction::new(&raw, 3, |_, _| ()).unwrap();
    let (program, sizes) = (app.program, app.sizes);
    let found = in_c("reduction", program, &reduction::text(), "$global_edge_count + 1000.0 * $global_cell_count");
    let Some(found) = found else { return };
    assert_eq!(found, f64::from(sizes.edges) + 1000.0 * f64::from(sizes.cells));
}

#[test]
fn bounds() {
    let raw = naca::naca0012(3, 5).unwrap();
    let app = Bounds::new(&raw).unwrap();
    let mut run = app.program.start(drawloom_mesh::Backend::Serial).unwrap();
    run.run().unwrap();
    let low = run.global(app.direct.0).unwrap()[1];
    let high = run.global(app.indirect.1).unwrap()[0];
    let left = f64::from(run.global(app.leftmost).unwrap()[0]);
    let sum = run.global(app.through).unwrap()[4] as f64;
    let result =
        "$global_low[1] + 10 * $global_high_of_ends[0] + 1e3 * $global_leftmost + 1e6 * $global_sums_through[4]";
    let Some(found) = in_c("bounds", app.program, &reduction::bounds_text(), result) else { return };
    assert_close(found, low + 10.0 * high + 1e3 * left + 1e6 * sum, 1e-14, &"bounds");
}

#[test]
fn dots() {
    let app = Dots::new(&dots::line(9).unwrap(), 2, |_, _| ()).unwrap();
    let (program, sums) = (app.program, app.sums);
    let result = "$global_indices + 1e3 * $global_squares + 1e6 * $global_both[0] + 1e9 * $global_both[1]";
    let Some(found) = in_c("dots", program, &dots::text(), result) else { return };
    let sums = sums.lock().unwrap()[1];
    assert_eq!(found, sums.indices as f64 + 1e3 * sums.squares + 1e6 * sums.even + 1e9 * sums.odd);
}
