//! Jacobi's method: the values of OP2's `jac1` and `jac2`.

use drawloom_apps::jacobi::{Jacobi, Sweep, Variant, by_name, grid};
use drawloom_apps::naca;
use drawloom_mesh::Backend;

use crate::support::{assert_close, every, exact};

/// After two sweeps from zero, on a grid of five by five.
const KNOWN: [f64; 25] = [
    0.625, 0.4375, 0.375, 0.4375, 0.625, 0.4375, 0.125, 0.0625, 0.125, 0.4375, 0.375, 0.0625, 0.0, 0.0625, 0.375,
    0.4375, 0.125, 0.0625, 0.125, 0.4375, 0.625, 0.4375, 0.375, 0.4375, 0.625,
];

#[test]
fn both_variants_come_to_the_known_values_on_every_backend() {
    let raw = grid(5).unwrap();
    for variant in [Variant::Double, Variant::Mixed] {
        for backend in every() {
            let app = Jacobi::new(&raw, variant, 2, |_, _| ()).unwrap();
            let mut run = app.program.start(backend.clone()).unwrap();
            for time in 1..=2 {
                run.run().unwrap();
                let of = (variant, &backend, time);
                for (found, known) in app.values(&run).unwrap().into_iter().zip(KNOWN) {
                    assert!((found - known).abs() < 1e-12, "{of:?}: {found} instead of {known}");
                }
                let sweeps = app.sweeps.lock().clone();
                let [.., first, second] = sweeps[..] else { panic!("{of:?}: {sweeps:?}") };
                assert_eq!((first.max, second.max), (0.5, 0.625), "{of:?}");
                assert_eq!(format!("{:.6} {:.6}", first.rms, second.rms), "0.264575 0.386491", "{of:?}");
            }
        }
    }
}

#[test]
fn many_sweeps_come_near_the_solution_with_the_same_bits_on_any_number_of_workers() {
    let raw = grid(40).unwrap();
    let sweeps = |variant, backend: Backend| -> Vec<Sweep> {
        let app = Jacobi::new(&raw, variant, 2000, |_, _| ()).unwrap();
        app.program.start(backend).unwrap().run().unwrap();
        app.sweeps.lock().clone()
    };
    for variant in [Variant::Double, Variant::Mixed] {
        let serial = sweeps(variant, Backend::Serial);
        assert_close(serial[1999].rms, 1.0, 0.01, &variant);
        for backend in exact() {
            assert_eq!(sweeps(variant, backend.clone()), serial, "{variant:?} {backend:?}");
        }
    }
}

#[test]
fn meshes_with_edges_will_do_and_others_are_refused_by_name() {
    let app = Jacobi::new(&naca::naca0012(6, 9).unwrap(), Variant::Double, 1000, |_, _| ()).unwrap();
    app.program.start(Backend::Serial).unwrap().run().unwrap();
    let last = *app.sweeps.lock().last().unwrap();
    assert!(last.rms > 0.5 && last.max <= 1.0 + 1e-12, "{last:?}");
    let none = Jacobi::new(&naca::naca0012_fe(3, 5).unwrap(), Variant::Double, 1, |_, _| ()).err().unwrap();
    assert!(none.to_string().contains("no map `pedge`"), "{none}");
    for name in ["grid:0", "grid:", "grid:-1", "grid:5x5", "grid:99999", "naca0012:0x0"] {
        assert!(by_name(name).unwrap().is_err(), "{name}");
    }
    assert!(by_name("grid.dat").is_none());
}
