//! The C text of the applications' handlers does what the handlers do.

use drawloom_apps::aero::{self, Aero};
use drawloom_apps::dots::{self, Dots};
use drawloom_apps::jacobi::{self, Jacobi, Variant};
use drawloom_apps::naca;
use drawloom_apps::reduction::{self, Bounds, Reduction};
use drawloom_mesh::kernel::{Acc, Highest, Lowest};
use drawloom_mesh::{Backend, HandlerText, Mesh, Program};
use drawloom_messages::{Instance, Machine, Settings};

use crate::c_text;
use crate::support::assert_close;

/// Runs a program as messages, by its handlers and by their C text. Sends and deliveries must agree; what a C expression
/// finds in the state of the controller is returned.
fn in_c(name: &str, program: Program, text: &HandlerText, result: &str) -> f64 {
    let instance: std::sync::Arc<Instance> = program.event_graph(name, Some(text)).unwrap();
    let report = Machine::new(&instance).run(&Settings::default()).unwrap();
    let result = result.replace('$', "((const controller_state_t *)s)->");
    let (sends, deliveries, cancelled, found) = c_text::run(&instance, &result);
    let counts = (report.counts.sends, report.counts.deliveries, report.counts.cancelled);
    assert_eq!(counts, (sends, deliveries, cancelled), "{name}");
    assert!(deliveries > 0, "{name}");
    found
}

#[test]
fn aero() {
    let app = Aero::new(&naca::naca0012_fe(3, 5).unwrap(), 2, |_, _| ()).unwrap();
    let sum = in_c("aero", app.program, &aero::text(), "$global_rms");
    let came = app.iterations.lock()[1];
    let nodes = naca::naca0012_fe(3, 5).unwrap().set("nodes").unwrap().size as f64;
    assert_close((sum / nodes).sqrt(), came.residual, 1e-9, &"residual");
}

#[test]
fn jacobi() {
    for (name, variant, tolerance) in [("jacobi", Variant::Double, 1e-12), ("jacobi_mixed", Variant::Mixed, 1e-5)] {
        let app = Jacobi::new(&jacobi::grid(5).unwrap(), variant, 3, |_, _| ()).unwrap();
        let (program, sweeps) = (app.program, app.sweeps);
        let found = in_c(name, program, &jacobi::text(variant), "$global_u_sum + 1000 * $global_u_max");
        let last = sweeps.lock()[2];
        assert_close(found, last.rms * last.rms * 25.0 + 1000.0 * last.max, tolerance, &name);
    }
}

#[test]
fn reduction() {
    let raw = naca::naca0012(3, 5).unwrap();
    let app = Reduction::new(&raw, 3, |_, _| ()).unwrap();
    let (program, sizes) = (app.program, app.sizes);
    let found = in_c("reduction", program, &reduction::text(), "$global_edge_count + 1000.0 * $global_cell_count");
    assert_eq!(found, f64::from(sizes.edges) + 1000.0 * f64::from(sizes.cells));
}

#[test]
fn bounds() {
    let raw = naca::naca0012(3, 5).unwrap();
    let app = Bounds::new(&raw).unwrap();
    let mut run = app.program.start(Backend::Serial).unwrap();
    run.run().unwrap();
    let low = run.global(app.direct.0).unwrap()[1];
    let high = run.global(app.indirect.1).unwrap()[0];
    let left = f64::from(run.global(app.leftmost).unwrap()[0]);
    let sum = run.global(app.through).unwrap()[4] as f64;
    let result =
        "$global_low[1] + 10 * $global_high_of_ends[0] + 1e3 * $global_leftmost + 1e6 * $global_sums_through[4]";
    let found = in_c("bounds", app.program, &reduction::bounds_text(), result);
    assert_close(found, low + 10.0 * high + 1e3 * left + 1e6 * sum, 1e-14, &"bounds");
}

#[test]
fn dots() {
    let app = Dots::new(&dots::line(9).unwrap(), 2, |_, _| ()).unwrap();
    let (program, sums) = (app.program, app.sums);
    let result = "$global_indices + 1e3 * $global_squares + 1e6 * $global_both[0] + 1e9 * $global_both[1]";
    let found = in_c("dots", program, &dots::text(), result);
    let sums = sums.lock()[1];
    assert_eq!(found, sums.indices as f64 + 1e3 * sums.squares + 1e6 * sums.even + 1e9 * sums.odd);
}

/// What no application has: sizes of sets, arguments that are absent, values that are read and written through maps, lowest
/// and highest values in dats, and truth values.
#[test]
fn the_rest_of_what_kernels_can_be_given() {
    let mut mesh = Mesh::new();
    let (nodes, edges) = (mesh.set("nodes", 6).unwrap(), mesh.set("edges", 3).unwrap());
    let ends = mesh.map::<2>("ends", edges, nodes, vec![4, 1, 2, 5, 0, 3]).unwrap();
    let level = mesh.dat("level", nodes, (0..6).map(|n| [f64::from(n), 10.0 - f64::from(n)]).collect()).unwrap();
    let (low, high) = (mesh.dat_of("low", nodes, [3.0]).unwrap(), mesh.dat_of("high", nodes, [3_i64]).unwrap());
    let flags = mesh.dat("flags", nodes, (0..6).map(|n| [n % 2 == 0, false]).collect()).unwrap();
    let (total, sum) = (mesh.global("total", [0_i64]).unwrap(), mesh.global("sum", [0.0]).unwrap());
    let all_set = mesh.global("all_set", [true]).unwrap();
    let mut program = Program::new(mesh);
    program.each(nodes, "sized").size(edges).inc(total).run(|edges, total| total[0] += edges as i64);
    program.each(nodes, "absent").read_if(false, low).inc_if(true, total).inc_if(false, sum).run(
        |low: Option<&[f64; 1]>, total: Option<&mut [Acc<i64>; 1]>, sum: Option<&mut [Acc<f64>; 1]>| {
            if let (None, Some(total), None) = (low, total, sum) {
                total[0] += 1000;
            }
        },
    );
    program.each(edges, "swap").update(level.through(ends)).run(|level| level.swap(0, 1));
    program.each(edges, "double").update(level.at(ends, 1)).run(|level| level[1] *= 2.0);
    program.each(edges, "bounds").index().min(low.at(ends, 0)).max(high.through(ends)).run(
        |edge, low: &mut [Lowest<f64>; 1], high: &mut [[Highest<i64>; 1]; 2]| {
            low[0].offer(edge as f64 + 1.5);
            high[0][0].offer(3 * edge as i64);
            high[1][0].offer(5 * edge as i64);
        },
    );
    program.each(nodes, "flip").update(flags).run(|flags| flags[1] = !flags[0]);
    program.scalar("judge").update(all_set).run(|all_set| all_set[0] = !all_set[0]);
    program.each(nodes, "gather").index().read(level).read(low).read(high).read(flags).read(all_set).inc(sum).run(
        |node, level, low, high, flags, all_set, sum| {
            let flags = f64::from(u8::from(flags[0])) + 2.0 * f64::from(u8::from(flags[1]));
            let values = level[0] + 7.0 * level[1] + 50.0 * low[0] + 1e3 * high[0] as f64 + 1e5 * flags;
            sum[0] += (node as f64 + 1.0) * values + if all_set[0] { 0.5 } else { 0.25 };
        },
    );
    let text = HandlerText::new()
        .kernel("sized", "static void kernel_sized(uint64_t edges, int64_t *total) { total[0] += (int64_t)edges; }")
        .kernel(
            "absent",
            "static void kernel_absent(const double *low, int64_t *total, double *sum) { if(!low && total && !sum) total[0] += 1000; }",
        )
        .kernel(
            "swap",
            "static void kernel_swap(double (*level)[2]) { for(int c = 0; c < 2; c++) { double first = level[0][c]; \
             level[0][c] = level[1][c]; level[1][c] = first; } }",
        )
        .kernel("double", "static void kernel_double(double *level) { level[1] *= 2; }")
        .kernel(
            "bounds",
            "static void kernel_bounds(uint64_t edge, double *low, int64_t *high) { if(edge + 1.5 < low[0]) low[0] = edge + 1.5; \
             if(3 * (int64_t)edge > high[0]) high[0] = 3 * (int64_t)edge; if(5 * (int64_t)edge > high[1]) high[1] = 5 * (int64_t)edge; }",
        )
        .kernel("flip", "static void kernel_flip(uint8_t *flags) { flags[1] = !flags[0]; }")
        .kernel(
            "gather",
            "static void kernel_gather(uint64_t node, const double *level, const double *low, const int64_t *high, \
             const uint8_t *flags, const uint8_t *all_set, double *sum) { double values = level[0] + 7.0 * level[1] + \
             50.0 * low[0] + 1e3 * (double)high[0] + 1e5 * (flags[0] + 2.0 * flags[1]); \
             sum[0] += ((double)node + 1.0) * values + (all_set[0] ? 0.5 : 0.25); }",
        )
        .scalar("judge", "static void scalar_judge(uint8_t *all_set) { all_set[0] = !all_set[0]; }");
    let mut run = program.start(Backend::Serial).unwrap();
    run.run().unwrap();
    let expected = run.global(sum).unwrap()[0] + 1e8 * run.global(total).unwrap()[0] as f64;
    let found = in_c("rest", program, &text, "$global_sum + 1e8 * $global_total");
    assert_eq!(run.global(total).unwrap(), [6 * 3 + 6 * 1000]);
    assert_close(found, expected, 1e-15, &"sum and total");
}
