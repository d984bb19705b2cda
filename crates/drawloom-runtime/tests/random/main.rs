//! Random programs mean the same on every engine: the serial one, and with 1, 2, 3, 8 and 17 workers under every policy.
//!
//! A generator makes a description of a program from a seed. An interpreter that knows nothing of the engine says what the
//! program means, and the engines must agree with it to the last bit: the contents of all regions, the value of every
//! future, what guards saw in between, and which tasks failed or were cancelled. `DRAWLOOM_CASES` sets how many programs
//! are tried, a third of them with failures, and a third cancelled at some moment; `DRAWLOOM_SEED` tries a single one, on all engines.

mod cells;
mod contexts;
mod execute;
mod forms;
mod generate;
mod interpret;
mod layout;
mod plans;
mod program;
mod teams;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use drawloom_runtime::Loom;
use drawloom_trace::verify::verify;

use execute::{Any, Run, Scope, look};
use generate::generate;
use interpret::{Contents, Meaning, interpret, smallest_pieces};
use program::{Id, Program};

const WORKERS: [usize; 5] = [1, 2, 3, 8, 17];
const POLICIES: [&str; 5] = ["lws", "ws", "eager", "prio", "random"];

/// An engine, with a name for messages.
struct Engine {
    name: String,
    workers: usize,
    policy: &'static str,
    /// How many contexts were made.
    contexts: usize,
    loom: Loom,
}

impl Engine {
    /// How many contexts an engine has before it is replaced: it remembers all of them.
    const MOST_CONTEXTS: usize = 500;

    /// The engines. The serial one is the first.
    fn all() -> Vec<Self> {
        let mut engines =
            vec![Self { name: "serial".to_owned(), workers: 0, policy: "", contexts: 0, loom: Loom::serial() }];
        for workers in WORKERS {
            for policy in POLICIES {
                let loom = Self::make(workers, policy);
                engines.push(Self { name: format!("{workers} workers, {policy}"), workers, policy, contexts: 0, loom });
            }
        }
        engines
    }

    fn make(workers: usize, policy: &str) -> Loom {
        // Contexts are empty for a moment now and then, which must not be taken for a stall.
        Loom::builder().workers(workers).policy(policy).patience(Watchdog::PATIENCE / 2).build().unwrap()
    }

    /// Counts the contexts that a program makes, more or less.
    fn refresh(&mut self, program: &Program) {
        self.contexts += program.contexts.len() + if program.disturbed.is_some() { contexts::MOST_CHANGES } else { 0 };
        if self.contexts > Self::MOST_CONTEXTS {
            self.loom = if self.workers == 0 { Loom::serial() } else { Self::make(self.workers, self.policy) };
            self.contexts = 0;
        }
    }

    fn expected(&self, program: &Program, began: Option<&BTreeSet<Id>>) -> Meaning {
        interpret(program, (self.workers > 0).then_some(self.workers), began)
    }
}

/// A number from the environment.
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|n| n.parse().ok())
}

/// Everything that can be seen of a program's run on an engine, and what is expected of it, unless that is known.
fn execute(engine: &Engine, program: &Program, known: Option<&Meaning>) -> (Meaning, Meaning) {
    let loom = &engine.loom;
    let run = Run::new(loom, program);
    let mut meaning = Meaning::default();
    let stream = |run: &Arc<Run>, ops: &[program::Op]| {
        let mut scope = Scope::default();
        let looks = run.ops(ops, &mut 0, &mut scope);
        drop(run.contexts.hold());
        scope.wait_for_rest();
        (looks, scope.outcomes, scope.errors)
    };
    let ended = AtomicBool::new(false);
    let results: Vec<_> = match (&program.streams[..], program.disturbed, program.cancelled) {
        ([only], None, None) => vec![stream(&run, only)],
        (several, disturbed, cancelled) => std::thread::scope(|threads| {
            let (ended, run) = (&ended, &run);
            let handles: Vec<_> = several.iter().map(|ops| threads.spawn(move || stream(run, ops))).collect();
            let disturber = disturbed.map(|seed| threads.spawn(move || run.contexts.disturb(program, seed, ended)));
            let canceller =
                cancelled.map(|(seed, context)| threads.spawn(move || run.contexts.cancel(context, seed, ended)));
            let results = handles.into_iter().map(|h| h.join().unwrap()).collect();
            ended.store(true, Ordering::Relaxed);
            disturber.into_iter().chain(canceller).for_each(|thread| thread.join().unwrap());
            results
        }),
    };
    for (number, (looks, outcomes, errors)) in results.into_iter().enumerate() {
        meaning.looks.extend(looks.into_iter().map(|(step, outcome)| ((number, step), outcome)));
        meaning.tasks.extend(outcomes);
        meaning.errors.extend(errors);
    }
    // Failures that nobody asked for come back once.
    let _ = loom.wait_all();
    loom.wait_all().expect("every failure is reported once");
    run.contexts.clear();
    meaning.tasks.extend(std::mem::take(&mut *run.inner.lock().unwrap()));
    meaning.ran = std::mem::take(&mut *run.ran.lock().unwrap());
    let began = run.began.lock().unwrap();
    let expected = match known {
        Some(known) => known.clone(),
        None => engine.expected(program, program.cancelled.map(|_| &*began)),
    };
    drop(began);
    meaning.regions = contents(&run, program, &expected);
    (meaning, expected)
}

/// What the regions hold in the end, as far as it may be seen: the rest is taken from what is expected.
fn contents(run: &Run, program: &Program, expected: &Meaning) -> Vec<Contents> {
    let mut found = expected.regions.clone();
    for piece in smallest_pieces(&program.regions) {
        let (old, new) = (&expected.regions[piece.region], &mut found[piece.region]);
        let list = layout::elements(&program.regions, &piece);
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
    let differs = |(id, outcome): &(_, _)| expected.tasks.get(*id) != Some(*outcome);
    if let Some((id, outcome)) = found.tasks.iter().find(differs) {
        let (wanted, said) = (expected.tasks.get(id), found.errors.get(id));
        return Some(format!("t{id} ended with {outcome:?}, not {wanted:?}: {said:?}"));
    }
    if found.ran != expected.ran {
        let differs = |(id, _): &(_, _)| found.ran.get(*id) != expected.ran.get(*id);
        let (id, _) = found.ran.iter().chain(&expected.ran).find(differs)?;
        return Some(format!("t{id} found {:?}, not {:?}", found.ran.get(id), expected.ran.get(id)));
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
                    // Not by a macro: what those print is shown when the test ends, which it does not.
                    let _ = writeln!(std::io::stderr(), "does not end: {what}");
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

/// What may happen to the programs of a test.
#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    None,
    Failures,
    Cancelled,
}

/// Tries programs, each on the serial engine and on some others in turn.
fn try_programs(trouble: Trouble, usual: u64) {
    let mut engines = Engine::all();
    let only = number("DRAWLOOM_SEED");
    // Many programs on few engines each find more than few programs on many.
    let (count, engines_each) = number("DRAWLOOM_CASES").map_or((usual, 4), |cases| (cases.div_ceil(3), 1));
    let seeds: Vec<u64> = only.map_or((0..count).collect(), |seed| vec![seed]);
    let watchdog = Watchdog::new();
    let mut rng = fastrand::Rng::with_seed(1);
    for seed in seeds {
        let program = generate(seed, trouble != Trouble::None);
        let program = if trouble == Trouble::Cancelled { program.made_to_be_cancelled(seed) } else { program };
        // Where the number of workers matters, or the moment, each run has its own meaning.
        let is_known = !program.needs_workers() && program.cancelled.is_none();
        let known = is_known.then(|| interpret(&program, None, None));
        let check = |engine: &mut Engine| {
            let name = &engine.name;
            watchdog.begin(format!("seed {seed} on {name}\n{program}"));
            let run =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| execute(engine, &program, known.as_ref())));
            let (found, expected) = run.unwrap_or_else(|_| panic!("seed {seed} on {name}\n{program}"));
            if let Some(difference) = difference(&found, &expected) {
                panic!("seed {seed} on {name}: {difference}\n{program}");
            }
            engine.refresh(&program);
        };
        check(&mut engines[0]);
        // Now and then the run is recorded, and another party derives the required orders from what was declared.
        if seed % 8 == 0 {
            let chosen = rng.usize(..engines.len());
            let engine = &mut engines[chosen];
            let loom = engine.loom.clone();
            loom.trace_start();
            check(engine);
            // What is folded when the regions go away counts as well; it may fail once more, by plan.
            let _ = loom.wait_all();
            let trace = loom.trace_stop();
            let name = &engine.name;
            let report = verify(&trace).unwrap_or_else(|e| panic!("seed {seed} on {name}: {e}\n{program}"));
            assert!(report.is_clean(), "seed {seed} on {name}: {report}\n{program}");
            assert_eq!(trace.dropped, 0);
        }
        let chosen: Vec<usize> = match only {
            Some(_) => (1..engines.len()).collect(),
            None => (0..engines_each).map(|_| rng.usize(1..engines.len())).collect(),
        };
        for engine in chosen {
            check(&mut engines[engine]);
        }
    }
}

#[test]
fn random_programs_mean_the_same_on_every_engine() {
    try_programs(Trouble::None, 1000);
}

#[test]
fn random_programs_that_fail_fail_the_same_way_on_every_engine() {
    try_programs(Trouble::Failures, 700);
}

#[test]
fn random_programs_that_are_cancelled_leave_nothing_half_done() {
    try_programs(Trouble::Cancelled, 300);
}
