//! Random programs mean the same on every engine: the serial one, and with 1, 2, 3, 8 and 17 workers under every policy.
//!
//! A generator makes a description of a program from a seed. An interpreter that knows nothing of the engine says what the
//! program means, and the engines must agree with it to the last bit: the contents of all regions, the value of every
//! future, what guards saw in between, and which tasks failed or were cancelled. `DRAWLOOM_CASES` sets how many programs
//! are tried, half of them with failures; `DRAWLOOM_SEED` tries a single one, on all engines.

mod cells;
mod execute;
mod forms;
mod generate;
mod interpret;
mod program;

use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use drawloom_runtime::Loom;
use drawloom_trace::verify::{Rule, verify};

use execute::{Any, Run, Scope, look};
use generate::generate;
use interpret::{Contents, Meaning, Outcome, interpret, smallest_pieces};
use program::{Mode, Program, TaskOf};

const WORKERS: [usize; 5] = [1, 2, 3, 8, 17];
const POLICIES: [&str; 5] = ["lws", "ws", "eager", "prio", "random"];

/// The engines, each with a name for messages. The serial one is the first.
fn engines() -> Vec<(String, Loom)> {
    let mut engines = vec![("serial".to_owned(), Loom::serial())];
    for workers in WORKERS {
        for policy in POLICIES {
            let loom = Loom::builder().workers(workers).policy(policy).build().unwrap();
            engines.push((format!("{workers} workers, {policy}"), loom));
        }
    }
    engines
}

/// A number from the environment.
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|n| n.parse().ok())
}

/// Everything that can be seen of a program's run on an engine.
fn execute(loom: &Loom, program: &Program, expected: &Meaning) -> Meaning {
    let run = Run::new(loom, &program.regions);
    let mut meaning = Meaning::default();
    let stream = |run: &Arc<Run>, ops: &[program::Op]| {
        let mut scope = Scope::default();
        let looks = run.ops(ops, &mut 0, &mut scope);
        scope.wait_for_rest();
        (looks, scope.outcomes, scope.errors)
    };
    let results: Vec<_> = match &program.streams[..] {
        [only] => vec![stream(&run, only)],
        several => std::thread::scope(|threads| {
            let handles: Vec<_> = several.iter().map(|ops| threads.spawn(|| stream(&run, ops))).collect();
            handles.into_iter().map(|h| h.join().unwrap()).collect()
        }),
    };
    for (number, (looks, outcomes, errors)) in results.into_iter().enumerate() {
        meaning.looks.extend(looks.into_iter().map(|(step, outcome)| ((number, step), outcome)));
        meaning.tasks.extend(outcomes);
        meaning.errors.extend(errors);
    }
    // Failures that nobody asked for come back one by one.
    for _ in 0..=expected.tasks.len() {
        if loom.wait_all().is_ok() {
            break;
        }
    }
    loom.wait_all().expect("every failure is reported once");
    // Tasks in tasks, which are not waited for from outside.
    for (&id, &value) in run.log.lock().unwrap().iter() {
        let known = meaning.tasks.entry(id).or_insert(Outcome::Value(value));
        assert_eq!(*known, Outcome::Value(value), "the future of t{id} has another value than its body");
    }
    meaning.regions = contents(&run, program, expected);
    meaning
}

/// What the regions hold in the end, as far as it may be seen: the rest is taken from what is expected.
fn contents(run: &Run, program: &Program, expected: &Meaning) -> Vec<Contents> {
    let mut found = expected.regions.clone();
    for piece in smallest_pieces(&program.regions) {
        let (old, new) = (&expected.regions[piece.region], &mut found[piece.region]);
        let list = program::elements(&program.regions, &piece);
        let mut cells = Vec::new();
        let seen = match &run.regions[piece.region] {
            Any::Floats(floats) => floats.to_vec().map(|list| new.floats = list),
            _ => look(&run.find(&piece), &mut |x| cells.push(x)),
        };
        let bad = list.iter().any(|&i| old.spoiled[i] || old.missing[i]);
        assert_eq!(seen.is_err(), bad, "{piece:?} can be seen: {}, and should not: {bad}", seen.is_ok());
        for (&i, x) in list.iter().zip(cells) {
            new.cells[i] = x;
        }
    }
    found
}

/// How a run differs from another one, if it does.
fn difference(found: &Meaning, expected: &Meaning) -> Option<String> {
    if found.tasks != expected.tasks {
        let differs = |(id, outcome): &(_, _)| found.tasks.get(*id) != Some(*outcome);
        let missing = expected.tasks.iter().find(differs);
        let other = found.tasks.iter().find(|(id, _)| !expected.tasks.contains_key(id));
        return Some(match (missing, other) {
            (Some((id, outcome)), _) => {
                let (found, said) = (found.tasks.get(id), found.errors.get(id));
                format!("t{id} ended with {found:?}, not {outcome:?}: {said:?}")
            }
            (_, other) => format!("tasks ended that should not have run: {other:?}"),
        });
    }
    if found.looks != expected.looks {
        return Some(format!("guards saw {:?}, not {:?}", found.looks, expected.looks));
    }
    let bits = |contents: &Contents| -> Vec<Option<u64>> {
        let floats = contents.floats.iter().map(|x| x.to_bits());
        let all: Vec<u64> = if contents.floats.is_empty() { contents.cells.clone() } else { floats.collect() };
        all.into_iter().zip(&contents.spoiled).map(|(x, bad)| (!bad).then_some(x)).collect()
    };
    let mut pairs = found.regions.iter().zip(&expected.regions).enumerate();
    let (number, (a, b)) = pairs.find(|(_, (a, b))| bits(a) != bits(b))?;
    Some(format!("r{number} holds {:?} {:?}, not {:?} {:?}", bits(a), a.floats, bits(b), b.floats))
}

/// Says which program hangs, and ends the process: a test that hangs says nothing.
struct Watchdog {
    now: Arc<Mutex<(String, Instant)>>,
    done: Option<Sender<()>>,
}

impl Watchdog {
    /// How long one program may take on one engine. They take milliseconds.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn new() -> Self {
        let now = Arc::new(Mutex::new((String::new(), Instant::now())));
        let (done, ended) = std::sync::mpsc::channel::<()>();
        let seen = Arc::clone(&now);
        std::thread::spawn(move || {
            while ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let (what, since) = &*seen.lock().unwrap();
                if since.elapsed() > Self::PATIENCE {
                    eprintln!("does not end: {what}");
                    std::process::abort();
                }
            }
        });
        Self { now, done: Some(done) }
    }

    fn begin(&self, what: String) {
        *self.now.lock().unwrap() = (what, Instant::now());
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.done.take();
    }
}

/// Tries programs, each on the serial engine and on some others in turn.
fn try_programs(failures: bool, usual: u64) {
    let engines = engines();
    let only = number("DRAWLOOM_SEED");
    // Many programs on few engines each find more than few programs on many.
    let (count, engines_each) = number("DRAWLOOM_CASES").map_or((usual, 4), |cases| (cases.div_ceil(2), 1));
    let seeds: Vec<u64> = only.map_or((0..count).collect(), |seed| vec![seed]);
    let watchdog = Watchdog::new();
    let mut rng = fastrand::Rng::with_seed(1);
    for seed in seeds {
        let program = generate(seed, failures);
        let expected = interpret(&program);
        let check = |name: &str, loom: &Loom, expected: &Meaning| {
            watchdog.begin(format!("seed {seed} on {name}\n{program}"));
            let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| execute(loom, &program, expected)));
            let found = run.unwrap_or_else(|_| panic!("seed {seed} on {name}\n{program}"));
            if let Some(difference) = difference(&found, expected) {
                panic!("seed {seed} on {name}: {difference}\n{program}");
            }
            found
        };
        let serial = check(&engines[0].0, &engines[0].1, &expected);
        // Now and then the run is recorded, and another party derives the required orders from what was declared.
        if seed % 8 == 0 {
            let (name, loom) = &engines[rng.usize(..engines.len())];
            loom.trace_start();
            check(name, loom, &serial);
            // What is folded when the regions go away counts as well; it may fail once more, by plan.
            let _ = loom.wait_all();
            let trace = loom.trace_stop();
            let report = verify(&trace).unwrap_or_else(|e| panic!("seed {seed} on {name}: {e}\n{program}"));
            // The verifier takes a task to have what it commutes on until it is complete. The engine takes it away when the
            // body ends, which differs for tasks with children, and for those that end with others.
            let lingers = |task: &TaskOf| !task.children.is_empty() || !task.ends_with.is_empty();
            let exempt = program.any_task(&|task| lingers(task) && task.args.iter().any(|(_, m)| *m == Mode::Commute));
            let kept = report.violations.iter().all(|violation| exempt && violation.rule == Rule::Commute);
            assert!(kept, "seed {seed} on {name}: {report}\n{program}");
            assert_eq!(trace.dropped, 0);
        }
        let chosen: Vec<usize> = match only {
            Some(_) => (1..engines.len()).collect(),
            None => (0..engines_each).map(|_| rng.usize(1..engines.len())).collect(),
        };
        for engine in chosen {
            let (name, loom) = &engines[engine];
            check(name, loom, &serial);
        }
    }
}

#[test]
fn random_programs_mean_the_same_on_every_engine() {
    try_programs(false, 1500);
}

#[test]
fn random_programs_that_fail_fail_the_same_way_on_every_engine() {
    try_programs(true, 1000);
}
