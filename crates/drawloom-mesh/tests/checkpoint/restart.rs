//! Programs that are stopped and gone on with.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::naca::naca0012;
use drawloom_mesh::checkpoint::{Checkpoint, Checkpoints};
use drawloom_mesh::kernel::Acc;
use drawloom_mesh::raw::Values;
use drawloom_mesh::{Backend, Control, Dat, Error, ErrorKind, Events, Executor, Global, Mesh, Mode, Program, Threads};

/// A folder for one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("drawloom-restart-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// How a program differs from the usual one.
#[derive(Clone, Copy)]
struct Plan {
    nodes: usize,
    first: u64,
    inner: u64,
    factor: f64,
    name: &'static str,
    weight: f64,
}

const USUAL: Plan = Plan { nodes: 2500, first: 7, inner: 3, factor: 0.3, name: "flow", weight: 0.1 };

/// Two outermost repetitions with loops around and inside of them, whose sums depend on the order in which they are added.
struct Built {
    program: Program,
    x: Dat<f64, 2>,
    turn: Global<i64, 1>,
    total: Global<f64, 1>,
    /// After so many runs of both repetitions together, the program fails.
    stop: Arc<AtomicI64>,
}

fn flow(x: [&[f64; 2]; 2], weight: &[f64; 1], factor: &[f64; 1], dx: &mut [[Acc<f64>; 2]; 2]) {
    for c in 0..2 {
        let change = factor[0] * weight[0] * (x[1][c] - x[0][c]);
        dx[0][c] += change;
        dx[1][c] -= change;
    }
}

fn step(x: &mut [f64; 2], dx: &mut [f64; 2], sum: &mut [Acc<f64>; 1]) {
    for c in 0..2 {
        x[c] += dx[c];
        dx[c] = 0.0;
        sum[0] += x[c] * x[c];
    }
}

fn build(plan: Plan) -> Built {
    let nodes_count = plan.nodes;
    let mut mesh = Mesh::new();
    let (nodes, edges) = (mesh.set("nodes", nodes_count).unwrap(), mesh.set("edges", nodes_count).unwrap());
    let table = (0..nodes_count as u32).flat_map(|e| [e, (e * 7 + 1) % nodes_count as u32]).collect();
    let ends = mesh.map::<2>("ends", edges, nodes, table).unwrap();
    let x = mesh.dat_of("x", nodes, [0.0; 2]).unwrap();
    let dx = mesh.dat_of("dx", nodes, [0.0; 2]).unwrap();
    let weight = mesh.dat_of("weight", edges, [plan.weight]).unwrap();
    let factor = mesh.constant("factor", [plan.factor]).unwrap();
    let (sum, total) = (mesh.global("sum", [0.0]).unwrap(), mesh.global("total", [0.0]).unwrap());
    let (turn, ticks) = (mesh.global("turn", [0_i64]).unwrap(), mesh.global("ticks", [0_i64]).unwrap());
    let stop = Arc::new(AtomicI64::new(i64::MAX));

    let mut program = Program::new(mesh);
    let tick = |program: &mut Program| {
        let stop = Arc::clone(&stop);
        program.scalar("tick").update(ticks).try_run(move |ticks| {
            ticks[0] += 1;
            if ticks[0] == stop.load(Ordering::Relaxed) { Err(format!("stopped at {}", ticks[0])) } else { Ok(()) }
        });
    };
    program.each(nodes, "begin").index().write(x).run(|n, x| x.set([(n as f64).sin(), (n as f64).sqrt()]));
    program.repeat_with("first", turn, plan.first, |program| {
        program.each(edges, plan.name).read(x.through(ends)).read(weight).read(factor).inc(dx.through(ends)).run(flow);
        program.scalar("reset").update(sum).run(|sum| sum[0] = 0.0);
        program.each(nodes, "step").update(x).update(dx).inc(sum).run(step);
        program.require_finite(sum);
        program.repeat("inner", plan.inner, |program| {
            program.scalar("add").read(sum).read(turn).update(total).run(|sum, turn, total| {
                total[0] = total[0] / 3.0 + sum[0] * turn[0] as f64;
            });
        });
        tick(program);
    });
    program.scalar("between").update(total).run(|total| total[0] *= 1.1);
    program.repeat("second", 5, |program| {
        program.each(nodes, "shrink").update(x).inc(total).run(|x, total| {
            x[0] *= 0.9;
            total[0] += x[0];
        });
        tick(program);
    });
    program.scalar("end").update(total).run(|total| total[0] += 0.1);
    Built { program, x, turn, total, stop }
}

type Ended = (Vec<[u64; 2]>, [i64; 1], [u64; 1]);

fn ended(built: &Built, run: &drawloom_mesh::Run) -> Ended {
    let x = run.dat(built.x).unwrap().iter().map(|x| x.map(f64::to_bits)).collect();
    (x, run.global(built.turn).unwrap(), run.global(built.total).unwrap().map(f64::to_bits))
}

fn uninterrupted(plan: Plan) -> Ended {
    let built = build(plan);
    let mut run = built.program.start(Backend::Serial).unwrap();
    run.run().unwrap();
    ended(&built, &run)
}

/// A checkpoint of a program that was stopped in its seventh run of a repetition, after six.
fn stopped(folder: &Folder, plan: Plan) -> Checkpoint {
    let path = folder.0.join("state");
    let built = build(plan);
    built.stop.store(7, Ordering::Relaxed);
    let mut run = built.program.start(Backend::Serial).unwrap();
    run.checkpoint(Checkpoints::to(&path).every(2)).unwrap();
    run.run().unwrap_err();
    Checkpoint::load(path).unwrap()
}

#[test]
fn a_program_that_was_stopped_anywhere_ends_with_the_same_bits_on_other_workers() {
    let folder = Folder::new("anywhere");
    let reference = uninterrupted(USUAL);
    let backends = || {
        let threads = |workers| Backend::Threads(Threads::new().workers(workers).blocks(workers + 1));
        [Backend::Serial, threads(1), threads(3)]
    };
    for stop in 1..=12 {
        for (one, other) in backends().iter().flat_map(|one| backends().map(|other| (one.clone(), other))) {
            let path = folder.0.join("state");
            let _ = fs::remove_file(&path);
            let built = build(USUAL);
            built.stop.store(stop, Ordering::Relaxed);
            let mut run = built.program.start(one.clone()).unwrap();
            run.checkpoint(Checkpoints::to(&path).every(2)).unwrap();
            assert!(run.run().unwrap_err().to_string().contains(&format!("stopped at {stop}")));
            // In the first repetition after 2, 4 and 6 runs, and in the second after 2 and 4.
            let saved = [0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5][stop as usize];
            assert_eq!(run.saved().count, saved, "{stop}");
            if saved == 0 {
                assert!(!path.exists());
                continue;
            }
            built.stop.store(i64::MAX, Ordering::Relaxed);
            let checkpoint = Checkpoint::load(&path).unwrap();
            assert_eq!(checkpoint.runs(), Some([2, 4, 6, 2, 4][saved as usize - 1]));
            let mut run = built.program.resume(other.clone(), &checkpoint).unwrap();
            run.run().unwrap();
            assert!(ended(&built, &run) == reference, "stopped at {stop}, {one:?}, then {other:?}");
        }
    }
}

#[test]
fn saving_changes_nothing_and_the_debug_backend_and_the_fast_mode_can_go_on_too() {
    let folder = Folder::new("others");
    let path = folder.0.join("state");
    let built = build(USUAL);
    let mut run = built.program.start(Backend::Threads(Threads::new().workers(2).blocks(3))).unwrap();
    run.checkpoint(Checkpoints::to(&path).every(1).with_notes(|| b"so far".to_vec())).unwrap();
    run.run().unwrap();
    assert!(ended(&built, &run) == uninterrupted(USUAL));
    assert_eq!(run.saved().count, 12);
    let last = Checkpoint::load(&path).unwrap();
    assert_eq!((last.runs(), last.notes()), (Some(5), &b"so far"[..]), "the end of a repetition is a place too");
    assert!(last.dat("weight").is_err() && last.global("factor").is_err(), "what does not change is not saved");

    let checkpoint = stopped(&folder, USUAL);
    let fast = Backend::Threads(Threads::new().workers(2).mode(Mode::Fast));
    for backend in [Backend::Debug { seed: 5 }, fast] {
        let mut run = built.program.resume(backend, &checkpoint).unwrap();
        run.run().unwrap();
        let total = run.global(built.total).unwrap()[0];
        let known = f64::from_bits(uninterrupted(USUAL).2[0]);
        assert!((total - known).abs() <= 1e-9 * known.abs(), "{total} instead of {known}");
        assert_eq!(run.global(built.turn).unwrap(), [7]);
    }
}

#[test]
fn a_program_can_go_on_for_longer_than_was_planned() {
    let folder = Folder::new("longer");
    let longer = Plan { first: 9, ..USUAL };
    let built = build(longer);
    let mut run = built.program.resume(Backend::Serial, &stopped(&folder, USUAL)).unwrap();
    run.run().unwrap();
    assert!(ended(&built, &run) == uninterrupted(longer));
    // And then it is an ordinary run: from the beginning, on the data as it is.
    run.run().unwrap();
    assert_eq!(run.global(built.turn).unwrap(), [9]);
}

#[test]
fn another_program_or_mesh_is_refused_and_says_why() {
    let folder = Folder::new("another");
    let checkpoint = stopped(&folder, USUAL);
    for (plan, expected) in [
        (Plan { nodes: 2501, ..USUAL }, "another mesh: `nodes` has 2500 elements there and 2501 here"),
        (Plan { name: "flux", ..USUAL }, "of another program"),
        (Plan { inner: 4, ..USUAL }, "of another program"),
        (Plan { factor: 0.31, ..USUAL }, "other constants"),
        (Plan { weight: 0.11, ..USUAL }, "dats that it only reads"),
        (Plan { first: 5, ..USUAL }, "after run 6 of `first`, which is to run 5 times here"),
    ] {
        let refused: Error = build(plan).program.resume(Backend::Serial, &checkpoint).err().expect(expected);
        assert_eq!(refused.kind(), ErrorKind::Mismatch, "{refused}");
        assert!(refused.to_string().contains(expected), "{refused}");
    }
    let by_hand = Checkpoint::of(&naca0012(2, 3).unwrap());
    assert_eq!(by_hand.runs(), None);
    let refused = build(USUAL).program.resume(Backend::Serial, &by_hand).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Mismatch, "{refused}");
}

#[test]
fn values_that_are_missing_or_of_another_type_are_refused() {
    let folder = Folder::new("types");
    let checkpoint = stopped(&folder, USUAL);
    let rebuilt = |total: Option<Values>| {
        let built = build(USUAL);
        let mut raw = drawloom_mesh::raw::RawMesh::new();
        for set in checkpoint.sets() {
            raw.add_set(&set.name, set.size);
        }
        let table = (0..USUAL.nodes as u32).flat_map(|e| [e, (e * 7 + 1) % USUAL.nodes as u32]).collect();
        raw.add_map("ends", "edges", "nodes", 2, table);
        let mut other = Checkpoint::of(&raw);
        for dat in checkpoint.dats() {
            other.add_dat(&dat.name, &dat.set, dat.dim, dat.values.clone());
        }
        for global in checkpoint.globals() {
            let values = if global.name == "total" { total.clone() } else { Some(global.values.clone()) };
            if let Some(values) = values {
                other.add_global(&global.name, values);
            }
        }
        other.set_position(checkpoint.position().to_vec());
        built.program.resume(Backend::Serial, &other).map(|_| ())
    };
    rebuilt(Some(Values::F64(vec![1.0]))).expect("as it was");
    let message = |total| rebuilt(total).expect_err("refused").to_string();
    assert!(message(None).contains("`total`"));
    let expected = "global `total` has 1 of f64 here, and 1 of f32 in the checkpoint";
    assert_eq!(message(Some(Values::F32(vec![1.0]))), expected);
    assert!(message(Some(Values::F64(vec![1.0, 2.0]))).contains("and 2 of f64 in the checkpoint"));
}

#[test]
fn what_cannot_be_saved_is_refused_before_the_program_runs() {
    let built = build(USUAL);
    let mut run = built.program.start(Backend::Serial).unwrap();
    assert_eq!(run.checkpoint(Checkpoints::to("x").every(0)).unwrap_err().kind(), ErrorKind::Argument);

    #[derive(Clone, Copy, drawloom_runtime::Element)]
    #[repr(C)]
    struct Pair {
        one: u32,
        other: u32,
    }
    let mut mesh = Mesh::new();
    let set = mesh.set("set", 3).unwrap();
    let pair = mesh.dat_of("pair", set, [Pair { one: 1, other: 2 }]).unwrap();
    let mut program = Program::new(mesh);
    program.repeat("again", 2, |program| program.each(set, "touch").update(pair).run(|pair| pair[0].one = 3));
    let refused = program.start(Backend::Serial).unwrap().checkpoint(Checkpoints::to("x")).unwrap_err();
    assert_eq!(refused.to_string(), "dat `pair` holds 8 plain bytes, which checkpoints cannot");
}

#[test]
fn a_checkpoint_that_cannot_be_written_stops_the_program_and_names_the_file() {
    let folder = Folder::new("unwritten");
    let full = if cfg!(target_os = "linux") { Some(PathBuf::from("/dev/full")) } else { None };
    for path in [folder.0.join("no/such/folder"), folder.0.clone()].into_iter().chain(full) {
        let events = Backend::Events(Events::new());
        for backend in [Backend::Serial, Backend::Threads(Threads::new().workers(2)), events] {
            let built = build(Plan { nodes: 20, ..USUAL });
            let mut run = built.program.start(backend).unwrap();
            run.checkpoint(Checkpoints::to(&path).every(3)).unwrap();
            let error = run.run().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
            assert_eq!((run.saved().count, run.global(built.turn).unwrap()), (0, [2]), "it stopped there");
        }
    }
}

/// A state that was saved by one backend is where any other goes on; as messages up to the order of additions.
#[test]
fn a_program_that_runs_as_messages_is_stopped_and_gone_on_with() {
    let plan = Plan { nodes: 40, ..USUAL };
    let folder = Folder::new("messages");
    let path = folder.0.join("state");
    let expected = uninterrupted(plan);
    let events = Events::new();
    let all = [
        events,
        events.executor(Executor::Lifo).control(Control::Tree),
        events.executor(Executor::Random { seed: 3 }).control(Control::Tree),
        events.executor(Executor::Parallel { workers: 2 }),
    ];
    let check = |built: &Built, run: &drawloom_mesh::Run, what: &str| {
        let (x, turn, total) = ended(built, run);
        let close = |a: u64, b: u64| {
            let (a, b) = (f64::from_bits(a), f64::from_bits(b));
            (a - b).abs() <= 1e-12 * (1.0 + b.abs())
        };
        assert_eq!(turn, expected.1, "{what}");
        assert!(close(total[0], expected.2[0]), "{what}");
        assert!(x.as_flattened().iter().zip(expected.0.as_flattened()).all(|(a, b)| close(*a, *b)), "{what}");
    };
    for events in all {
        // In the first repetition, and in the second, whose runs are counted for themselves.
        for stop in [plan.first.min(7) as i64, plan.first as i64 + 4] {
            let built = build(plan);
            built.stop.store(stop, Ordering::Relaxed);
            let mut run = built.program.start(Backend::Events(events)).unwrap();
            run.checkpoint(Checkpoints::to(&path).every(2)).unwrap();
            assert!(run.run().unwrap_err().to_string().contains("stopped at"), "{events:?}");
            assert!(run.saved().count >= 3, "{events:?}");
            let checkpoint = Checkpoint::load(&path).unwrap();
            for backend in [Backend::Events(events), Backend::Serial, Backend::Threads(Threads::new().workers(2))] {
                let built = build(plan);
                let mut run = built.program.resume(backend.clone(), &checkpoint).unwrap();
                run.run().unwrap();
                check(&built, &run, &format!("{events:?}, stopped at {stop}, then {backend:?}"));
            }
            // What another backend has saved.
            let built = build(plan);
            let mut run = built.program.resume(Backend::Events(events), &stopped(&folder, plan)).unwrap();
            run.run().unwrap();
            check(&built, &run, &format!("{events:?}, after another backend"));
        }
    }
}
