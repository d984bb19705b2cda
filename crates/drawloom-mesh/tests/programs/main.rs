//! Random programs on random meshes mean the same on every backend: bit for bit on any number of workers, and up to the order
//! of additions where the iterations are shuffled.
//!
//! The meshes have repeated neighbours, isolated elements, empty sets, and maps of one to eight columns.

mod kernels;
#[path = "../support/protocol.rs"]
mod protocol;

use drawloom_mesh::{Backend, Control, Dat, Events, Executor, Global, Map, Mesh, Mode, Program, Set, Threads};
use drawloom_messages::{Machine, Settings};
use fastrand::Rng;

/// What programs are made of: two sets, maps of one width between them, and a few dats and globals.
struct World<const A: usize> {
    from: Set,
    to: Set,
    map: Map<A>,
    /// Lead to each element at most once.
    once: Map<1>,
    pairs: Map<2>,
    half: Set,
    real: [Dat<f64, 2>; 2],
    there: [Dat<f64, 3>; 2],
    count: Dat<i64, 1>,
    lowest: Dat<f64, 1>,
    sum: Global<f64, 2>,
    counted: Global<i64, 1>,
    highest: Global<f64, 1>,
    place: Global<u32, 1>,
    lowest_of_all: Global<i64, 1>,
    lowest_place: Global<u32, 1>,
    /// How often each loop that waits for a global still runs, one for each depth of loops.
    left: [Global<i64, 1>; 3],
    flag: Global<bool, 1>,
}

fn world<const A: usize>(rng: &mut Rng) -> (Mesh, World<A>) {
    let sizes = [0, 1, 7, 1023, 1024, 1025, 3000, 5200];
    let to_size = sizes[rng.usize(..sizes.len())];
    // Every iteration leads somewhere, so there is none where nothing is to lead to.
    let from_size = if to_size == 0 { 0 } else { sizes[rng.usize(..sizes.len())] };
    let mut mesh = Mesh::new();
    let from = mesh.set("from", from_size).unwrap();
    let to = mesh.set("to", to_size).unwrap();
    let near = rng.bool();
    let target = |rng: &mut Rng, element: usize| {
        if near { ((element * to_size / from_size) + rng.usize(..5)).min(to_size - 1) } else { rng.usize(..to_size) }
    };
    let table = (0..from_size * A).map(|i| target(rng, i / A) as u32).collect();
    let map = mesh.map::<A>("map", from, to, table).unwrap();
    let mut order: Vec<u32> = (0..from_size.max(to_size) as u32).collect();
    rng.shuffle(&mut order);
    let wide = mesh.set("wide", from_size.max(to_size)).unwrap();
    let once = mesh.map::<1>("once", from, wide, order[..from_size].to_vec()).unwrap();
    let half = mesh.set("half", order.len() / 2).unwrap();
    let pairs = mesh.map::<2>("pairs", half, wide, order[..order.len() / 2 * 2].to_vec()).unwrap();
    let mut real = |name: &str, set: Set, size: usize| {
        let values = (0..size).map(|_| [rng.f64() - 0.5, 1e3 * rng.f64()]).collect();
        mesh.dat::<f64, 2>(name, set, values).unwrap()
    };
    let real = [real("real", from, from_size), real("wide real", wide, from_size.max(to_size))];
    let mut there = |name: &str| {
        let values = (0..to_size).map(|_| std::array::from_fn(|_| rng.f64() - 0.5)).collect();
        mesh.dat::<f64, 3>(name, to, values).unwrap()
    };
    let there = [there("there"), there("also there")];
    let count = mesh.dat_of("count", to, [0_i64]).unwrap();
    let lowest = mesh.dat_of("lowest", to, [1e9]).unwrap();
    let (sum, counted) = (mesh.global("sum", [0.5, 0.0]).unwrap(), mesh.global("counted", [0_i64]).unwrap());
    let (highest, place) = (mesh.global("highest", [-1.0]).unwrap(), mesh.global("place", [u32::MAX]).unwrap());
    let lowest_of_all = mesh.global("lowest of all", [5_i64]).unwrap();
    let lowest_place = mesh.global("lowest place", [u32::MAX]).unwrap();
    let left = ["left", "left inside", "left inside of that"].map(|name| mesh.global(name, [0_i64]).unwrap());
    let flag = mesh.global("flag", [false]).unwrap();
    let world = World {
        from,
        to,
        map,
        once,
        pairs,
        half,
        real,
        there,
        count,
        lowest,
        sum,
        counted,
        highest,
        place,
        lowest_of_all,
        lowest_place,
        left,
        flag,
    };
    (mesh, world)
}

/// Adds some random loops. The kernels use every kind of argument at least once among them.
fn add_loops<const A: usize>(program: &mut Program, world: &World<A>, rng: &mut Rng, depth: usize) {
    let World { from, to, map, once, pairs, half, real, there, count, lowest, sum, counted, highest, place, .. } =
        *world;
    for _ in 0..rng.usize(1..5) {
        let column = rng.usize(..A);
        match rng.usize(..20) {
            0 => program.each(from, "turn").update(real[0]).index().size(to).run(kernels::turn),
            1 => {
                let [a, b] = if rng.bool() { there } else { [there[1], there[0]] };
                program
                    .each(from, "spread")
                    .read(real[0])
                    .read(a.through(map))
                    .inc(b.through(map))
                    .run(kernels::spread);
            }
            2 => program
                .each(from, "add")
                .read(real[0])
                .inc(there[0].at(map, column))
                .inc(there[0].at(map, A - 1))
                .inc(sum)
                .inc(counted)
                .run(kernels::add),
            3 => program
                .each(from, "count")
                .read(real[0])
                .inc(count.at(map, column))
                .min(lowest.at(map, 0))
                .run(kernels::count),
            4 => program.each(to, "mix").read(there[0]).update(there[1]).inc(sum).run(kernels::mix),
            5 => program
                .each(from, "find")
                .index_at(map, column)
                .read(real[0])
                .max_with(highest, place)
                .run(kernels::find),
            6 => program.each(from, "scatter").read(real[0]).write(real[1].at(once, 0)).run(kernels::scatter),
            7 => program
                .each(from, "gather")
                .read(there[rng.usize(..2)].at(map, column))
                .read_if(rng.bool(), real[1].at(once, 0))
                .write(real[0])
                .run(kernels::gather),
            8 => program
                .each(from, "both")
                .update(real[0])
                .inc(there[1].at(map, column))
                .inc_if(rng.bool(), count.at(map, column))
                .run(kernels::both),
            9 => program.each(to, "tidy").update(there[0]).inc(there[1]).min(lowest).run(kernels::tidy),
            10 => {
                program.scalar("halve").update(sum).read(counted).run(|sum, counted| {
                    sum[0] *= 0.5;
                    sum[1] += counted[0] as f64;
                });
            }
            11 => program.each(from, "nudge").read(real[0]).update(real[1].at(once, 0)).run(kernels::nudge),
            12 => program.each(half, "both ends").index().write(real[1].through(pairs)).run(kernels::both_ends),
            13 => program.each(half, "swap").index().update(real[1].through(pairs)).run(kernels::swap),
            14 => {
                program.each(from, "rank").index().min_with(world.lowest_of_all, world.lowest_place).run(kernels::rank)
            }
            15 | 16 if depth > 0 => {
                let times = rng.u64(..12);
                program.repeat("again", times, |program| add_loops(program, world, rng, depth - 1));
            }
            17 if depth > 0 => {
                let (left, times) = (world.left[depth], rng.i64(0..4));
                program.scalar("so often").update(left).run(move |left| left[0] = times);
                program.while_true(left, |program| {
                    add_loops(program, world, rng, depth - 1);
                    program.scalar("once less").update(left).run(|left| left[0] -= 1);
                });
            }
            18 if depth > 0 => {
                let (flag, highest) = (world.flag, world.highest);
                program.scalar("choose").read(counted).read(highest).update(flag).run(|counted, highest, flag| {
                    flag[0] = counted[0] % 3 == 0 || highest[0] > 30.0;
                });
                let seeds = [rng.u64(..), rng.u64(..)];
                program.if_true(
                    flag,
                    |program| add_loops(program, world, &mut Rng::with_seed(seeds[0]), depth - 1),
                    |program| add_loops(program, world, &mut Rng::with_seed(seeds[1]), depth - 1),
                );
            }
            _ => program.each(to, "reset").write(there[0]).read(sum).run(kernels::reset),
        }
    }
}

/// A number that a program left behind.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Real(f64),
    Whole(i64),
}

impl Number {
    fn has_the_bits_of(self, other: Self) -> bool {
        match (self, other) {
            (Number::Real(a), Number::Real(b)) => a.to_bits() == b.to_bits(),
            _ => self == other,
        }
    }

    /// Whether two numbers differ by no more than sums in another order do. Whole numbers do not.
    fn is_close_to(self, other: Self) -> bool {
        match (self, other) {
            (Number::Real(a), Number::Real(b)) => {
                self.has_the_bits_of(other) || (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()))
            }
            _ => self == other,
        }
    }
}

/// Everything that a program left behind.
fn results<const A: usize>(run: &drawloom_mesh::Run, world: &World<A>) -> Vec<Number> {
    let mut all = Vec::new();
    let mut reals = |values: &[f64]| all.extend(values.iter().map(|value| Number::Real(*value)));
    world.real.iter().for_each(|dat| reals(run.dat(*dat).unwrap().as_flattened()));
    world.there.iter().for_each(|dat| reals(run.dat(*dat).unwrap().as_flattened()));
    reals(run.dat(world.lowest).unwrap().as_flattened());
    reals(&run.global(world.sum).unwrap());
    reals(&run.global(world.highest).unwrap());
    let mut wholes = |values: &[i64]| all.extend(values.iter().map(|value| Number::Whole(*value)));
    wholes(run.dat(world.count).unwrap().as_flattened());
    wholes(&run.global(world.counted).unwrap());
    wholes(&run.global(world.place).unwrap().map(i64::from));
    wholes(&run.global(world.lowest_of_all).unwrap());
    wholes(&run.global(world.lowest_place).unwrap().map(i64::from));
    world.left.iter().for_each(|left| wholes(&run.global(*left).unwrap()));
    wholes(&run.global(world.flag).unwrap().map(i64::from));
    all
}

/// So often each program runs, on what the time before has left.
const RUNS: usize = 2;

fn try_program<const A: usize>(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let (mesh, world) = world::<A>(&mut rng);
    let mut program = Program::new(mesh);
    add_loops(&mut program, &world, &mut rng, 2);
    let outcomes = |backend: Backend, what: &str| -> Vec<Vec<Number>> {
        let mut run = program.start(backend).unwrap_or_else(|e| panic!("seed {seed}, {what}: {e}"));
        let once = |_| {
            run.run().unwrap_or_else(|e| panic!("seed {seed}, {what}: {e}"));
            results(&run, &world)
        };
        (0..RUNS).map(once).collect()
    };
    let expected = outcomes(Backend::Serial, "serial");
    let compare = |backend: Backend, what: &str, is_same: fn(Number, Number) -> bool| {
        for (run, (found, expected)) in outcomes(backend, what).iter().zip(&expected).enumerate() {
            let mut both = found.iter().zip(expected).enumerate();
            if let Some((number, (a, b))) = both.find(|(_, (a, b))| !is_same(**a, **b)) {
                panic!("seed {seed}, {what}, run {run}, value {number}: {a:?} instead of {b:?}");
            }
        }
    };
    for _ in 0..2 {
        let (workers, blocks) = (rng.usize(1..4), rng.usize(1..7));
        let threads = Threads::new().workers(workers).blocks(blocks);
        let what = format!("on {workers} workers with {blocks} blocks");
        compare(Backend::Threads(threads), &what, Number::has_the_bits_of);
    }
    // Nothing but the order of additions may differ.
    compare(Backend::Debug { seed }, "shuffled", Number::is_close_to);
    let threads = Threads::new().workers(2).blocks(4).mode(Mode::Fast);
    compare(Backend::Threads(threads), "in fast mode", Number::is_close_to);
    // As messages, in turn with each executor. The last two are for small programs: they take a step for each message.
    let executors = [
        Executor::Fifo,
        Executor::Lifo,
        Executor::Parallel { workers: 2 },
        Executor::Random { seed },
        Executor::Delay { probability: 0.3, seed },
    ];
    // And with both forms of control, which keep to the protocol.
    let executor = executors[rng.usize(..executors.len())];
    let control = [Control::Plain, Control::Tree][rng.usize(..2)];
    let events = Events::new().executor(executor).control(control);
    let what = format!("as messages, {events:?}");
    compare(Backend::Events(events), &what, Number::is_close_to);
    let instance = protocol::checked(&program.event_graph_with("random", control).unwrap());
    if let Err(error) = Machine::new(&instance).run(&Settings::new(executor)) {
        panic!("seed {seed}, {what}, with the protocol checked: {error}");
    }
}

#[test]
fn random_programs_mean_the_same_on_every_backend() {
    let only = std::env::var("DRAWLOOM_SEED").ok().and_then(|seed| seed.parse().ok());
    let cases = std::env::var("DRAWLOOM_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150);
    for seed in only.map_or(0..cases, |seed: u64| seed..seed + 1) {
        // Each number of columns is compiled for itself. All of them are tried where that pays: in the optimised build.
        match seed % 8 {
            0 => try_program::<1>(seed),
            1 => try_program::<2>(seed),
            #[cfg(not(debug_assertions))]
            2 => try_program::<3>(seed),
            3 => try_program::<4>(seed),
            #[cfg(not(debug_assertions))]
            4 => try_program::<5>(seed),
            #[cfg(not(debug_assertions))]
            5 => try_program::<6>(seed),
            #[cfg(not(debug_assertions))]
            6 => try_program::<7>(seed),
            _ => try_program::<8>(seed),
        }
    }
}
