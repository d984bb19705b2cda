//! The programs give the known numbers, at every width and with any number of workers.

use drawloom_runtime::Loom;

use super::number::munge;
use super::regions::taxi_directly;
use super::turns::mandelbrot_directly;
use super::{App, Outcome, Program, Request};

fn outcome(app: App, workers: usize, request: &Request) -> Outcome {
    let loom = Loom::builder().workers(workers).build().unwrap();
    Program::new(app, request).unwrap().run(&loom, workers, |_| ()).unwrap()
}

fn run(app: App, workers: usize, request: &Request) -> Vec<(u64, u128)> {
    outcome(app, workers, request).sinks.iter().map(|(_, tally)| (tally.outputs(), tally.sum())).collect()
}

/// At all widths, with one worker and with several.
fn gives(app: App, n: u64, expected: &[(u64, u128)]) {
    for (width, workers, ordered) in
        [(1, 1, false), (4, 2, false), (8, 1, true), (16, 3, false), (32, 2, false), (128, 1, false), (1000, 2, false)]
    {
        let request =
            Request { n, width, ordered: ordered && app != App::LoopFilter, mean_length: 16, ..Request::default() };
        assert_eq!(run(app, workers, &request), expected, "{} at width {width}, {workers} workers", app.name());
    }
}

#[test]
fn filters_give_the_known_counts_and_sums() {
    gives(App::EvenFilter, 100_000, &[(49_982, 107_471_978_673_294)]);
    let million = Request::default();
    assert_eq!(run(App::EvenFilter, 1, &million), [(499_910, 1_076_020_796_002_716)]);
    assert_eq!(run(App::SplitFilter, 2, &million).iter().map(|(n, _)| *n).collect::<Vec<_>>(), [499_456, 500_544]);
    assert_eq!(run(App::ModFilter, 2, &million), [(33_184, 71_313_248_635_145)]);
    assert_eq!(run(App::AsyncFilter, 2, &million), [(33_203, 71_292_839_307_475)]);
    assert_eq!(run(App::LoopFilter, 2, &million), [(33_184, 71_313_248_635_145)]);
}

#[test]
fn widths_and_workers_change_nothing() {
    let request = Request { n: 20_000, ..Request::default() };
    for app in [App::SplitFilter, App::ModFilter, App::AsyncFilter, App::SameTypePipe] {
        gives(app, request.n, &run(app, 1, &request));
    }
    gives(App::LoopFilter, 20_000, &run(App::ModFilter, 1, &request));
}

#[test]
fn synthetic_gains_are_those_of_one_copy_with_vectors_of_128() {
    let request = Request { n: 100_000, ..Request::default() };
    let outcome = outcome(App::SynthGain, 1, &request);
    assert_eq!(outcome.sinks[0].1.outputs(), 4492);
    let runs: Vec<_> = outcome.reports[0].nodes.iter().skip(1).map(|node| (node.inputs, node.runs)).collect();
    assert_eq!(runs, [(100_000, 782), (25_000, 196), (287_500, 2247), (35_937, 281), (8984, 71), (4492, 36)]);
}

#[test]
fn same_types_in_a_pipe_keep_one_identifier_of_ten() {
    let request = Request { n: 10 << 20, work: 0, width: 1000, ..Request::default() };
    assert_eq!(run(App::SameTypePipe, 2, &request), [(1_047_833, 0)]);
}

#[test]
fn expansions_give_what_a_loop_gives() {
    let n = 30_000;
    let odd = (0..n).map(munge).filter(|v| v % 2 == 1).map(|v| munge(v) % 40);
    let kept = odd.flat_map(|w| (0..w).map(move |j| munge(w + j))).filter(|v| v % 2 == 0);
    let expected = kept.fold((0, 0), |(count, sum), v| (count + 1, sum + u128::from(v)));
    gives(App::InterruptSim, u64::from(n), &[expected]);
}

#[test]
fn sums_of_segments_add_up_to_the_sum_of_all() {
    for mean_length in [1, 4, 128, 4096] {
        let request = Request { n: 100_000, mean_length, ..Request::default() };
        let sums = run(App::RegionSum, 2, &request);
        assert_eq!(sums[0].1, 107_471_978_673_294, "mean length {mean_length}");
    }
    let request = Request { n: 20_000, mean_length: 16, ..Request::default() };
    gives(App::RegionSum, 20_000, &run(App::RegionSum, 1, &request));
}

#[test]
fn pairs_of_numbers_are_found_in_lines() {
    gives(App::Taxi, 1000, &[taxi_directly(1000)]);
}

#[test]
fn iterations_are_those_of_each_point() {
    let request = Request { n: 3000, ..Request::default() };
    assert_eq!(run(App::Mandelbrot, 2, &request), [(3000, mandelbrot_directly(3000))]);
}
