//! All executors have one meaning.

mod support;

use drawloom_apps::messages;
use drawloom_messages::{DeviceId, Executor, Machine, Settings};
use support::{check_conservation, executors, interpret, mixer, mixer_type, result, run};

/// How many random graphs; more on demand.
fn cases() -> u64 {
    std::env::var("DRAWLOOM_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(40)
}

#[test]
fn every_executor_comes_to_the_result_of_the_interpreter_on_random_graphs() {
    let graph_type = mixer_type();
    let sum = graph_type.devices()[0].state().field::<u64>("sum").unwrap();
    for seed in 0..cases() {
        let instance = mixer(&graph_type, seed);
        let expected = interpret(&instance, &graph_type, seed);
        let mut first = None;
        for executor in executors() {
            let (machine, report) = run(&instance, executor);
            let sums: Vec<u64> = (0..instance.devices() as u32).map(|d| sum.get(machine.state(DeviceId(d)))).collect();
            assert_eq!(sums, expected, "seed {seed}, {executor:?}");
            let result = result(&machine, &report);
            match &first {
                None => first = Some(result),
                Some(first) => assert_eq!(*first, result, "seed {seed}, {executor:?}"),
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_log() {
    let instance = mixer(&mixer_type(), 5);
    for executor in executors().into_iter().filter(|e| !matches!(e, Executor::Parallel { .. })) {
        assert_eq!(run(&instance, executor).1.log, run(&instance, executor).1.log, "{executor:?}");
    }
    let log = |seed| run(&instance, Executor::Random { seed }).1.log;
    assert_ne!(log(1), log(2));
}

#[test]
fn a_token_goes_around_under_every_executor() {
    let instance = messages::ring::instance(5, 4).unwrap();
    for executor in executors() {
        let (_, report) = run(&instance, executor);
        assert_eq!((report.counts.sends, report.counts.deliveries), (20, 20), "{executor:?}");
        assert_eq!(report.exports.len(), 1);
        assert_eq!((report.exports[0].device, report.exports[0].value), (DeviceId(0), 20));
    }
}

#[test]
fn heat_spreads_alike_under_every_executor_and_as_in_a_plain_loop() {
    let (width, height, steps) = (6, 5, 30);
    let instance = messages::heat::instance(width, height, steps).unwrap();
    let heat = instance.graph_type().devices()[0].state().field::<i32>("heat").unwrap();
    let mut expected = vec![0_i64; (width * height) as usize];
    expected[0] = 1 << 24;
    for _ in 0..steps {
        let before = expected.clone();
        for (x, y) in (0..height as i64).flat_map(|y| (0..width as i64).map(move |x| (x, y))).skip(1) {
            let around = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)];
            let inside = |&(x, y): &(i64, i64)| (0..width.into()).contains(&x) && (0..height.into()).contains(&y);
            let at = |(x, y): (i64, i64)| before[(y * i64::from(width) + x) as usize];
            let change: i64 = around.into_iter().filter(inside).map(|place| at(place) - at((x, y))).sum();
            expected[(y * i64::from(width) + x) as usize] += change / 8;
        }
    }
    for executor in executors() {
        let (machine, report) = run(&instance, executor);
        let heats: Vec<i64> =
            (0..instance.devices() as u32).map(|d| i64::from(heat.get(machine.state(DeviceId(d))))).collect();
        assert_eq!(heats, expected, "{executor:?}");
        assert_eq!(report.checkpoints.len(), instance.devices());
        assert_eq!(report.counts.idle_rounds, 1);
    }
}

#[test]
fn waves_wait_for_quiet_under_every_executor() {
    let instance = messages::storm::instance(50, 3, 7, 9).unwrap();
    for executor in executors() {
        let (_, report) = run(&instance, executor);
        assert_eq!((report.counts.sends, report.counts.deliveries), (350, 1400), "{executor:?}");
        assert_eq!((report.counts.idle_rounds, report.exit), (8, Some(0)), "{executor:?}");
    }
}

#[test]
fn any_partition_gives_the_same_result() {
    let graph_type = mixer_type();
    for seed in 0..20 {
        let instance = mixer(&graph_type, seed);
        let expected = run(&instance, Executor::Fifo);
        let expected = result(&expected.0, &expected.1);
        let mut rng = fastrand::Rng::with_seed(seed);
        let parts: Vec<u32> = (0..instance.devices()).map(|_| rng.u32(0..3)).collect();
        let mut machine = Machine::new(&instance);
        let settings = Settings::new(Executor::Parallel { workers: 3 }).partition(parts).log_with_states();
        let report = machine.run(&settings).unwrap();
        check_conservation(&instance, &report);
        assert_eq!(result(&machine, &report), expected, "seed {seed}");
    }
}

#[test]
fn a_graph_without_devices_is_quiet_at_once() {
    let graph_type = messages::ring::graph_type();
    let instance = drawloom_messages::InstanceBuilder::new(&graph_type, "nothing").build().unwrap();
    for executor in executors() {
        let (_, report) = run(&instance, executor);
        assert_eq!((report.counts.deliveries, report.counts.idle_rounds), (0, 1), "{executor:?}");
    }
}

#[test]
fn an_engine_can_be_used_for_several_runs() {
    let loom = drawloom_runtime::Loom::builder().workers(2).build().unwrap();
    let instance = messages::heat::instance(8, 8, 20).unwrap();
    for _ in 0..3 {
        let mut machine = Machine::new(&instance);
        let report = machine.run(&Settings::new(Executor::Parallel { workers: 2 }).loom(&loom)).unwrap();
        assert_eq!(report.counts.sends, 64 * 21);
    }
    let refused =
        Machine::new(&instance).run(&Settings::new(Executor::Parallel { workers: 3 }).loom(&loom)).unwrap_err();
    assert_eq!(refused.to_string(), "3 workers were asked for, but the engine has 2");
}

#[test]
fn many_short_parallel_runs_become_quiet_each_time() {
    let loom = drawloom_runtime::Loom::builder().workers(4).build().unwrap();
    let instance = messages::storm::instance(12, 1, 6, 2).unwrap();
    for workers in [2, 3, 4] {
        for _ in 0..100 {
            let settings = Settings::new(Executor::Parallel { workers }).loom(&loom);
            let report = Machine::new(&instance).run(&settings).unwrap();
            assert_eq!((report.counts.sends, report.counts.deliveries, report.counts.idle_rounds), (72, 144, 7));
        }
    }
}
