//! The airfoil program computes the known residuals, with the same bits on every number of workers.

use drawloom_apps::airfoil::Airfoil;
use drawloom_mesh::{Backend, Events, Executor, Threads, naca};

fn residuals(i: usize, j: usize, iterations: u64, backend: Backend) -> Vec<f64> {
    let raw = naca::naca0012(i, j).unwrap();
    let app = Airfoil::new(&raw, iterations, |_, _| ()).unwrap();
    app.program.start(backend).unwrap().run().unwrap();
    app.residuals.lock().unwrap().clone()
}

#[test]
fn residuals_are_the_known_ones_on_every_backend() {
    let serial = residuals(50, 75, 100, Backend::Serial);
    assert_eq!(serial.len(), 100);
    assert_eq!(format!("{:.4e}", serial[99]), "4.6179e-4", "begins 4.6178e-04: {}", serial[99]);
    for (workers, blocks) in [(1, 3), (2, 5), (3, 11)] {
        let threads = Threads::new().workers(workers).blocks(blocks);
        assert_eq!(residuals(50, 75, 100, Backend::Threads(threads)), serial, "{workers} workers, {blocks} blocks");
    }
}

#[test]
fn the_order_of_iterations_changes_nothing_but_the_last_digits() {
    let serial = residuals(6, 9, 20, Backend::Serial);
    let shuffled = residuals(6, 9, 20, Backend::Debug { seed: 7 });
    for (a, b) in serial.iter().zip(&shuffled) {
        assert!((a - b).abs() <= 1e-12 * a, "{a} and {b}");
    }
}

/// The numbers follow from the mesh: 190 nodes, 303 edges, 42 boundary edges, 162 cells, and one device for the program.
#[test]
fn as_messages_it_takes_the_known_number_of_them() {
    let serial = residuals(6, 9, 20, Backend::Serial);
    let raw = naca::naca0012(6, 9).unwrap();
    for executor in [
        Executor::Fifo,
        Executor::Lifo,
        Executor::Random { seed: 1 },
        Executor::Delay { probability: 0.9, seed: 2 },
        Executor::Parallel { workers: 2 },
    ] {
        let app = Airfoil::new(&raw, 20, |_, _| ()).unwrap();
        let mut run = app.program.start(Backend::Events(Events::new().executor(executor))).unwrap();
        run.run().unwrap();
        let counts = run.messages().unwrap();
        assert_eq!((counts.devices, counts.deliveries), (698, 20 * 13_140), "{executor:?}");
        assert_eq!(counts.sends, 20 * 10_317, "{executor:?}");
        for (a, b) in app.residuals.lock().unwrap().iter().zip(&serial) {
            assert!((a - b).abs() <= 1e-12 * b, "{executor:?}: {a} instead of {b}");
        }
    }
}
