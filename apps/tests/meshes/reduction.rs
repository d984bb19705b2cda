//! What loops contribute to globals counts once for each iteration, and the lowest and highest values are found.

use drawloom_apps::naca;
use drawloom_apps::reduction::{Bounds, Counts, FIVE, Reduction, five};
use drawloom_mesh::raw::RawMesh;
use drawloom_mesh::{Backend, Mode, Threads};

use crate::support::every;

fn check_counts(raw: &RawMesh, backend: Backend) {
    let app = Reduction::new(raw, 3, |_, _| ()).unwrap();
    let mut run = app.program.start(backend.clone()).unwrap();
    run.run().unwrap();
    run.run().unwrap();
    assert_eq!(*app.counts.lock(), [app.sizes; 6], "{backend:?}");
    let mut first = vec![0.0; app.sizes.cells as usize];
    raw.map("pecell").unwrap().rows().for_each(|row| first[row[0] as usize] += 6.0);
    for (cell, seen) in run.dat(app.seen).unwrap().into_iter().enumerate() {
        assert_eq!(seen, [first[cell], 6.0], "{backend:?}: cell {cell}");
    }
}

#[test]
fn every_edge_and_cell_is_counted_once_on_every_backend() {
    let raw = naca::naca0012(6, 9).unwrap();
    assert_eq!(Reduction::new(&raw, 1, |_, _| ()).unwrap().sizes, Counts { edges: 303, cells: 162 });
    for backend in every() {
        check_counts(&raw, backend);
    }
}

/// Large enough that blocks have neighbours, and iterations at their borders are run several times.
#[test]
fn iterations_that_are_run_several_times_are_counted_once() {
    let raw = naca::naca0012(50, 75).unwrap();
    for mode in [Mode::Deterministic, Mode::Fast] {
        for workers in 1..=3 {
            check_counts(&raw, Backend::Threads(Threads::new().workers(workers).blocks(9).mode(mode)));
        }
    }
}

#[test]
fn lowest_and_highest_values_are_found_on_every_backend() {
    let raw = naca::naca0012(6, 9).unwrap();
    let x = raw.dat("p_x").unwrap().values.as_f64().unwrap().as_chunks::<2>().0;
    let ends: Vec<[f64; 2]> = raw.map("pedge").unwrap().table.iter().map(|&node| x[node as usize]).collect();
    let bounds = |values: &[[f64; 2]]| {
        let of = |c: usize, pick: fn(f64, f64) -> f64| values.iter().map(|x| x[c]).reduce(pick).unwrap();
        ([of(0, f64::min), of(1, f64::min)], [of(0, f64::max), of(1, f64::max)])
    };
    let lowest = bounds(x).0[0];
    let leftmost = x.iter().position(|x| x[0] == lowest).unwrap() as u32;
    let fives: Vec<[i64; FIVE]> = (0..x.len()).map(five).collect();
    let fold = |pick: fn(i64, i64) -> i64| -> [i64; FIVE] {
        std::array::from_fn(|c| fives.iter().map(|five| five[c]).reduce(pick).unwrap())
    };
    let firsts = raw.map("pedge").unwrap().rows().map(|row| five(row[0] as usize));
    let through = firsts.fold([0; FIVE], |sum, five| std::array::from_fn(|c| sum[c] + five[c] + Bounds::MORE[c]));
    for backend in every() {
        let app = Bounds::new(&raw).unwrap();
        let mut run = app.program.start(backend.clone()).unwrap();
        for _ in 0..2 {
            run.run().unwrap();
            let both = |(low, high)| (run.global(low).unwrap(), run.global(high).unwrap());
            assert_eq!((both(app.direct), both(app.indirect)), (bounds(x), bounds(&ends)), "{backend:?}");
            assert_eq!(run.global(app.leftmost).unwrap(), [leftmost], "{backend:?}");
            let wide = app.five.map(|global| run.global(global).unwrap());
            assert_eq!(wide, [fold(i64::min), fold(i64::max), fold(|a, b| a + b)], "{backend:?}");
            assert_eq!(run.global(app.through).unwrap(), through, "{backend:?}");
        }
    }
}
