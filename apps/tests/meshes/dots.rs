//! Sums, scalar products and scalar programs come to the known values.

use drawloom_apps::dots::scalars::Scalars;
use drawloom_apps::dots::{Dots, Sums, by_name, line};

use crate::support::every;

#[test]
fn sums_are_the_known_ones_on_every_backend() {
    let known = [
        (1, Sums { indices: 0, squares: 0.0, even: 0.0, odd: 0.0 }),
        (4, Sums { indices: 6, squares: 14.0, even: 4.0, odd: 10.0 }),
        (8, Sums { indices: 28, squares: 140.0, even: 56.0, odd: 84.0 }),
    ];
    for (n, known) in known {
        assert_eq!(Sums::known(n), known);
        for backend in every() {
            let app = Dots::new(&line(n).unwrap(), 2, |_, _| ()).unwrap();
            let mut run = app.program.start(backend.clone()).unwrap();
            run.run().unwrap();
            run.run().unwrap();
            assert_eq!(*app.sums.lock(), [known; 4], "{backend:?}");
        }
    }
}

#[test]
fn what_must_come_out_is_what_adding_gives() {
    for n in 0..40 {
        let sum = |step: usize, first: usize| (first..n).step_by(step).map(|x| (x * x) as f64).sum::<f64>();
        let expected = Sums { indices: (0..n as i64).sum(), squares: sum(1, 0), even: sum(2, 0), odd: sum(2, 1) };
        assert_eq!(Sums::known(n), expected, "{n}");
    }
}

#[test]
fn lines_that_make_no_sense_are_refused() {
    for name in ["line:0", "line:", "line:x", "line:1e9", "line:99999999999"] {
        assert!(by_name(name).unwrap().is_err(), "{name}");
    }
    assert!(by_name("naca0012:2x3").is_none());
}

#[test]
fn scalar_programs_come_to_the_known_numbers_on_every_backend() {
    for (scalars, known) in [
        (Scalars::sequence().unwrap(), (1, 2)),
        (Scalars::while_positive().unwrap(), (0, 10)),
        // Few runs and many, as those are recorded in different ways; after a repetition, the counter is how many.
        (Scalars::repetition(5).unwrap(), (5, 10)),
        (Scalars::repetition(100).unwrap(), (100, 4950)),
    ] {
        for backend in every() {
            let mut run = scalars.program.start(backend.clone()).unwrap();
            for _ in 0..2 {
                run.run().unwrap();
                let found = (run.global(scalars.x).unwrap()[0], run.global(scalars.y).unwrap()[0]);
                assert_eq!(found, known, "{backend:?}");
            }
        }
    }
}
