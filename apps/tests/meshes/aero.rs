//! The aero program takes the known numbers of steps and comes to the known residuals.

use drawloom_apps::aero::{Aero, Outer};
use drawloom_apps::naca;
use drawloom_mesh::Backend;
use drawloom_mesh::raw::Values;

use crate::support::{assert_close, every, exact};

fn iterations(i: usize, j: usize, count: u64, backend: Backend) -> Vec<Outer> {
    let raw = naca::naca0012_fe(i, j).unwrap();
    let app = Aero::new(&raw, count, |_, _| ()).unwrap();
    app.program.start(backend).unwrap().run().unwrap();
    app.iterations.lock().clone()
}

#[test]
fn on_eleven_thousand_cells_steps_and_residuals_are_the_known_ones() {
    let found = iterations(50, 75, 10, Backend::Serial);
    let known = [
        (1, 34, 6.151197730972863e-4),
        (2, 79, 2.250146223391531e-4),
        (3, 68, 1.176279529811255e-5),
        (4, 76, 3.005405087861152e-6),
        (5, 29, 4.953947058533922e-8),
        (6, 83, 3.524941647588673e-8),
        (7, 38, 6.924000909258937e-10),
        (10, 89, 2.160306502220866e-12),
    ];
    for (iteration, inner, residual) in known {
        let found = found[iteration - 1];
        assert_eq!(found.inner, inner, "iteration {iteration}");
        // Newton's method magnifies the rounding of the steps before, relative to a residual that becomes small.
        assert_close(found.residual, residual, if residual > 1e-9 { 1e-7 } else { 1e-3 }, &iteration);
    }
}

/// The residuals of the first four iterations on 45 cells. The last is so small a change that its last digits are rounding.
const KNOWN: [(f64, f64); 4] = [
    (3.7985937966596704e-4, 1e-12),
    (1.1039613034989241e-4, 1e-12),
    (2.1085010130438517e-6, 1e-10),
    (4.5504457479134683e-7, 1e-9),
];

#[test]
fn on_forty_five_cells_every_backend_comes_to_the_known_potential() {
    let raw = naca::naca0012_fe(3, 5).unwrap();
    for backend in every() {
        let app = Aero::new(&raw, 4, |_, _| ()).unwrap();
        let mut run = app.program.start(backend.clone()).unwrap();
        run.run().unwrap();
        let found = app.iterations.lock().clone();
        assert_eq!(found.iter().map(|outer| outer.inner).collect::<Vec<_>>(), [3, 6, 3, 6], "{backend:?}");
        for (found, (known, fraction)) in found.iter().zip(KNOWN) {
            assert_close(found.residual, known, fraction, &backend);
        }
        let sum: f64 = run.dat(app.phim).unwrap().iter().map(|phi| phi[0]).sum();
        assert_close(sum, 0.3014578868739919, 1e-12, &backend);
        if let Some(counts) = run.messages() {
            assert_eq!(counts.devices, 121);
        }
    }
}

#[test]
fn after_twenty_iterations_nothing_is_left_to_change() {
    let found = iterations(3, 5, 20, Backend::Serial);
    assert_eq!(found.len(), 20);
    assert!(found[19].residual < 1e-15, "{:?}", found[19]);
}

#[test]
fn workers_do_not_change_a_bit() {
    let serial = iterations(20, 30, 4, Backend::Serial);
    for backend in exact() {
        assert_eq!(iterations(20, 30, 4, backend.clone()), serial, "{backend:?}");
    }
}

/// All nodes in one place: no cell has an area, and nothing that is divided by one is a number.
#[test]
fn what_is_not_a_number_is_not_taken_for_converged() {
    let mut raw = naca::naca0012_fe(3, 5).unwrap();
    let x = raw.dats.iter_mut().find(|dat| dat.name == "p_x").unwrap();
    x.values = Values::F64(vec![0.0; x.values.len()]);
    for backend in every() {
        let app = Aero::new(&raw, 5, |_, _| ()).unwrap();
        let error = app.program.start(backend.clone()).unwrap().run().unwrap_err().to_string();
        assert!(error.contains("global `c1` is NaN in run 1 of `newton`"), "{backend:?}: {error}");
        assert!(app.iterations.lock().is_empty(), "{backend:?}");
    }
}
