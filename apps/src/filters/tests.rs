//! The programs give the known numbers, at every width and with any number of workers.

use drawloom_runtime::Loom;

use super::blast::search_directly;
use super::by_hand;
use super::number::{Rand, munge};
use super::turns::mandelbrot_directly;
use super::{App, Outcome, Program, Request};

fn outcome(app: App, workers: usize, request: &Request) -> Outcome {
    let loom = Loom::builder().workers(workers).build().unwrap();
    Program::new(app, request).unwrap().run(&loom, workers, |_| ()).unwrap()
}

fn run(app: App, workers: usize, request: &Request) -> Vec<(u64, u128)> {
    outcome(app, workers, request).sinks.iter().map(|(_, tally)| (tally.outputs(), tally.sum())).collect()
}

/// At all widths, with one worker and with several, each of which is in order once.
fn gives(app: App, n: u64, expected: &[(u64, u128)]) {
    let widths = [1, 4, 8, 16, 32, 128, 1000];
    for (number, (width, workers)) in
        widths.into_iter().flat_map(|width| [1, 2, 3].map(|workers| (width, workers))).enumerate()
    {
        let ordered = number % 4 == 0;
        let request = Request { n, width, ordered, mean_length: 16, ..Request::default() };
        assert_eq!(run(app, workers, &request), expected, "{} at width {width}, {workers} workers", app.name());
    }
}

#[test]
fn filters_give_the_known_counts_and_sums() {
    gives(App::EvenFilter, 100_000, &[(49_982, 107_471_978_673_294)]);
    let million = Request::default();
    assert_eq!(run(App::EvenFilter, 1, &million), [(499_910, 1_076_020_796_002_716)]);
    let hashes = || Rand::new(0).take(1_000_000).map(munge);
    let sum = |parity: u32| hashes().filter(|hash| hash % 2 == parity).map(u128::from).sum::<u128>();
    assert_eq!(run(App::SplitFilter, 2, &million), [(499_456, sum(0)), (500_544, sum(1))]);
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
    gives(App::Taxi, 1000, &[by_hand::taxi(&by_hand::lines(1000))]);
    // What the guide's description of the lines gives, worked out without this code.
    assert_eq!(by_hand::taxi(&by_hand::lines(1000)), (9786, 1_315_617_351_018));
}

#[test]
fn iterations_are_those_of_each_point() {
    gives(App::Mandelbrot, 3000, &[(3000, mandelbrot_directly(3000))]);
    // What the guide's description of the points gives, worked out without this code.
    assert_eq!(mandelbrot_directly(10_000), 477_215);
}

#[test]
fn queens_have_their_known_numbers_of_boards() {
    // The board in the mirror is a board too, so the first queen is in the middle on average.
    let boards = |n: u64, count: u64| [(count, u128::from(count * (n - 1) / 2))];
    for (n, count) in [(1, 1), (2, 0), (3, 0), (4, 2), (5, 10), (6, 4), (7, 40), (9, 352), (10, 724), (12, 14_200)] {
        let request = Request { n, ..Request::default() };
        assert_eq!(run(App::Queens, 2, &request), boards(n, count), "{n} queens");
    }
    gives(App::Queens, 8, &boards(8, 92));
    // There is one board without rows.
    assert_eq!(run(App::Queens, 1, &Request { n: 0, ..Request::default() }), [(1, 0)]);
}

#[test]
fn a_board_that_is_too_large_is_an_error() {
    let loom = Loom::builder().workers(1).build().unwrap();
    let request = Request { n: 33, ..Request::default() };
    let error = Program::new(App::Queens, &request).unwrap().run(&loom, 1, |_| ()).err().unwrap();
    assert!(error.to_string().contains("at most 32 rows"), "{error}");
}

#[test]
fn a_search_finds_what_a_direct_one_finds() {
    let expected = search_directly(50_000);
    assert!(expected.0 > 100, "{expected:?}");
    gives(App::Blast, 50_000, &[expected]);
    assert_eq!(run(App::Blast, 1, &Request { n: 5, ..Request::default() }), [(0, 0)]);
}
