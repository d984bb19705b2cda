//! The airfoil program computes the known residuals, with the same bits on every number of workers.

use super::c_text;

use drawloom_apps::airfoil::{self, Airfoil};
use drawloom_apps::naca;
use drawloom_mesh::{Backend, Control, Events, Executor, MessageCounts, Threads};

fn residuals(i: usize, j: usize, iterations: u64, backend: Backend) -> Vec<f64> {
    let raw = naca::naca0012(i, j).unwrap();
    let app = Airfoil::new(&raw, iterations, |_, _| ()).unwrap();
    app.program.start(backend).unwrap().run().unwrap();
    app.residuals.lock().clone()
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
        for (a, b) in app.residuals.lock().iter().zip(&serial) {
            assert!((a - b).abs() <= 1e-12 * b, "{executor:?}: {a} instead of {b}");
        }
    }
}

/// What some iterations on 162 cells take, with the protocol looked at with every message.
fn checked(events: Events, serial: &[f64]) -> MessageCounts {
    let raw = naca::naca0012(6, 9).unwrap();
    let app = Airfoil::new(&raw, serial.len() as u64, |_, _| ()).unwrap();
    let mut run = app.program.start(Backend::Events(events.checked())).unwrap();
    run.run().unwrap_or_else(|e| panic!("{events:?}: {e}"));
    let found = app.residuals.lock();
    assert_eq!(found.len(), serial.len());
    for (a, b) in found.iter().zip(serial) {
        assert!((a - b).abs() <= 1e-12 * b, "{events:?}: {a} instead of {b}");
    }
    run.messages().unwrap()
}

#[test]
fn the_protocol_is_kept_in_every_form_and_order() {
    let serial = residuals(6, 9, 4, Backend::Serial);
    for control in [Control::Plain, Control::Tree] {
        for executor in [
            Executor::Fifo,
            Executor::Lifo,
            Executor::Random { seed: 1 },
            Executor::Delay { probability: 0.5, seed: 2 },
            Executor::Parallel { workers: 2 },
        ] {
            checked(Events::new().executor(executor).control(control), &serial);
        }
    }
}

#[test]
fn each_form_takes_its_number_of_messages() {
    let serial = residuals(6, 9, 20, Backend::Serial);
    let count = |control: Control| {
        let counts = checked(Events::new().control(control), &serial);
        (counts.devices, counts.deliveries / 20)
    };
    assert_eq!([count(Control::Plain), count(Control::Tree)], [(698, 13_140), (932, 13_586)]);
}

#[test]
fn its_handlers_in_c_do_the_same() {
    let serial = residuals(6, 9, 3, Backend::Serial);
    let app = Airfoil::new(&naca::naca0012(6, 9).unwrap(), 3, |_, _| ()).unwrap();
    let instance = app.program.event_graph("airfoil", Some(&airfoil::text())).unwrap();
    let report = drawloom_messages::Machine::new(&instance).run(&drawloom_messages::Settings::default()).unwrap();
    let result = "((const controller_state_t *)s)->global_rms";
    let (sends, deliveries, cancelled, rms) = c_text::run(&instance, result);
    assert_eq!((sends, deliveries), (3 * 10_317, 3 * 13_140));
    assert_eq!(
        (report.counts.sends, report.counts.deliveries, report.counts.cancelled),
        (sends, deliveries, cancelled)
    );
    let residual = (rms / 162.0).sqrt();
    assert!((residual - serial[2]).abs() <= 1e-12 * serial[2], "{residual} instead of {}", serial[2]);
}
