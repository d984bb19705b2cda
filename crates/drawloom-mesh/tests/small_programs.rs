//! Small programs with known results, on every backend, each run twice so that nothing is left over from the first time.

use drawloom_mesh::kernel::Acc;
use drawloom_mesh::{Backend, Events, Executor, Mesh, Mode, Program, Run, Strategy, Threads};

fn backends() -> Vec<Backend> {
    vec![
        Backend::Serial,
        Backend::Debug { seed: 1 },
        Backend::Threads(Threads::new().workers(1)),
        Backend::Threads(Threads::new().workers(3)),
        Backend::Threads(Threads::new().workers(2).mode(Mode::Fast)),
        Backend::Events(Events::new()),
        Backend::Events(Events::new().executor(Executor::Lifo)),
        Backend::Events(Events::new().executor(Executor::Random { seed: 2 })),
        Backend::Events(Events::new().executor(Executor::Delay { probability: 0.5, seed: 3 })),
        Backend::Events(Events::new().executor(Executor::Parallel { workers: 2 })),
    ]
}

fn on_every_backend(program: &Program, check: impl Fn(&Run, u32)) {
    for backend in backends() {
        let mut run = program.start(backend).unwrap();
        for time in 1..=2 {
            run.run().unwrap();
            check(&run, time);
        }
    }
}

#[test]
fn the_sum_of_the_first_numbers() {
    let mut mesh = Mesh::new();
    let xs = mesh.set("xs", 8).unwrap();
    let sum = mesh.global("sum", [0_i64]).unwrap();
    let mut program = Program::new(mesh);
    program.each(xs, "iota").index().inc(sum).run(|index, sum| sum[0] += index as i64);
    on_every_backend(&program, |run, time| assert_eq!(run.global(sum).unwrap(), [28 * i64::from(time)]));
}

#[test]
fn a_dot_product_through_maps() {
    let mut mesh = Mesh::new();
    let (xs, pairs) = (mesh.set("xs", 8).unwrap(), mesh.set("pairs", 8).unwrap());
    let same = mesh.map::<1>("same", pairs, xs, (0..8).collect()).unwrap();
    let x = mesh.dat("x", xs, (0..8).map(|i| [f64::from(i)]).collect()).unwrap();
    let y = mesh.dat("y", xs, (0..8).map(|i| [f64::from(i)]).collect()).unwrap();
    let product = mesh.dat_of("product", pairs, [0.0]).unwrap();
    let sum = mesh.global("sum", [0.0]).unwrap();
    let mut program = Program::new(mesh);
    program.scalar("reset").update(sum).run(|sum| sum[0] = 0.0);
    program
        .each(pairs, "multiply")
        .read(x.at(same, 0))
        .read(y.at(same, 0))
        .write(product)
        .run(|x, y, product| product.set([x[0] * y[0]]));
    program.each(pairs, "add").read(product).inc(sum).run(|product, sum| sum[0] += product[0]);
    on_every_backend(&program, |run, _| assert_eq!(run.global(sum).unwrap(), [140.0]));
}

#[test]
fn dot_products_of_odd_and_even_elements() {
    for (n, expected) in [(4_u32, [4.0, 10.0]), (8, [56.0, 84.0])] {
        let mut mesh = Mesh::new();
        let xs = mesh.set("xs", n as usize).unwrap();
        let sums = mesh.set("sums", 2).unwrap();
        let which = mesh.map::<1>("which", xs, sums, (0..n).map(|i| i % 2).collect()).unwrap();
        let x = mesh.dat("x", xs, (0..n).map(|i| [f64::from(i)]).collect()).unwrap();
        let sum = mesh.dat_of("sum", sums, [0.0]).unwrap();
        let mut program = Program::new(mesh);
        program.each(sums, "zero").write(sum).run(|sum| sum.set([0.0]));
        program.each(xs, "add").read(x).inc(sum.at(which, 0)).run(|x, sum| sum[0] += x[0] * x[0]);
        on_every_backend(&program, |run, _| assert_eq!(run.dat(sum).unwrap().as_flattened(), expected));
    }
}

#[test]
fn scalar_code_and_control_flow() {
    let mut mesh = Mesh::new();
    let (x, y) = (mesh.global("x", [10_i64]).unwrap(), mesh.global("y", [0_i64]).unwrap());
    let (goes_on, count) = (mesh.global("goes on", [true]).unwrap(), mesh.global("count", [0_i64]).unwrap());
    let seen = mesh.global("seen", [0_i64]).unwrap();
    let mut program = Program::new(mesh);
    program.scalar("begin").update(x).update(y).update(goes_on).update(seen).run(|x, y, goes_on, seen| {
        (*x, *y, *goes_on, *seen) = ([10], [0], [true], [0]);
    });
    program.while_true(goes_on, |program| {
        program.scalar("move").update(x).update(y).update(goes_on).run(|x, y, goes_on| {
            (x[0], y[0]) = (x[0] - 1, y[0] + 1);
            goes_on[0] = x[0] > 0;
        });
    });
    program.if_true(
        x,
        |program| program.scalar("wrong").update(y).run(|y| y[0] = -1),
        |program| {
            // Both few and many runs: one is recorded in full, the other replayed.
            program.repeat_with("few", count, 3, |program| {
                program.scalar("note").read(count).update(seen).run(|count, seen| seen[0] = 10 * seen[0] + count[0]);
            });
            program.scalar("after").read(count).update(seen).run(|count, seen| seen[0] = 10 * seen[0] + count[0]);
            program.repeat_with("many", count, 20, |program| {
                program.scalar("note").read(count).update(seen).run(|count, seen| seen[0] += count[0]);
            });
        },
    );
    on_every_backend(&program, |run, _| {
        assert_eq!((run.global(x).unwrap(), run.global(y).unwrap()), ([0], [10]));
        assert_eq!(run.global(count).unwrap(), [20], "after a repetition, the counter is the number of runs");
        assert_eq!(run.global(seen).unwrap(), [123 + 190]);
    });
}

/// OP2's `jac1`: two sweeps of a Jacobi-like iteration on a grid of 5 x 5, with an edge from each node to itself.
#[test]
fn jacobi_on_a_grid() {
    const SIDE: usize = 5;
    let number = |i: usize, j: usize| (i + j * SIDE) as u32;
    let (mut table, mut a, mut r) = (Vec::new(), Vec::new(), vec![[0.0, 0.0]; SIDE * SIDE]);
    for (i, j) in (0..SIDE * SIDE).map(|n| (n % SIDE, n / SIDE)) {
        table.extend([number(i, j), number(i, j)]);
        a.push([-1.0, 0.0, 0.0]);
        for (di, dj) in [(-1, 0), (1, 0), (0, -1), (0, 1)] {
            match (i.checked_add_signed(di), j.checked_add_signed(dj)) {
                (Some(x), Some(y)) if x < SIDE && y < SIDE => {
                    table.extend([number(i, j), number(x, y)]);
                    a.push([0.25, 0.0, 0.0]);
                }
                _ => r[number(i, j) as usize][0] += 0.25,
            }
        }
    }
    let mut mesh = Mesh::new();
    let (nodes, edges) = (mesh.set("nodes", SIDE * SIDE).unwrap(), mesh.set("edges", a.len()).unwrap());
    let ends = mesh.map::<2>("ends", edges, nodes, table).unwrap();
    // As `jac2`: of each dat only one component is used, and their numbers differ.
    let a = mesh.dat::<f64, 3>("a", edges, a).unwrap();
    let r = mesh.dat::<f64, 2>("r", nodes, r).unwrap();
    let u = mesh.dat_of::<f64, 2>("u", nodes, [0.0; 2]).unwrap();
    let du = mesh.dat_of::<f64, 3>("du", nodes, [0.0; 3]).unwrap();
    let (sum, max) = (mesh.global("sum", [0.0]).unwrap(), mesh.global("max", [0.0]).unwrap());
    let beta = mesh.constant("beta", [1.0]).unwrap();
    let mut program = Program::new(mesh);
    program.each(nodes, "begin").write(u).run(|u| u.set([0.0; 2]));
    program.repeat("sweep", 2, |program| {
        program
            .each(edges, "res")
            .read(a)
            .read(u.at(ends, 1))
            .read(beta)
            .inc(du.at(ends, 0))
            .run(|a, u, beta, du| du[0] += beta[0] * a[0] * u[0]);
        program.scalar("reset").update(sum).update(max).run(|sum, max| (sum[0], max[0]) = (0.0, 0.0));
        program.each(nodes, "update").read(r).update(du).update(u).inc(sum).max(max).run(|r, du, u, sum, max| {
            u[0] += du[0] + r[0];
            du[0] = 0.0;
            sum[0] += u[0] * u[0];
            max[0].offer(u[0]);
        });
    });
    on_every_backend(&program, |run, _| {
        let rms = (run.global(sum).unwrap()[0] / (SIDE * SIDE) as f64).sqrt();
        assert!((rms - 0.386491).abs() < 1e-6, "{rms}");
        assert_eq!(run.global(max).unwrap(), [0.625]);
        let found: Vec<f64> = run.dat(u).unwrap().iter().map(|u| u[0]).collect();
        let expected = [
            0.625, 0.4375, 0.375, 0.4375, 0.625, 0.4375, 0.125, 0.0625, 0.125, 0.4375, 0.375, 0.0625, 0.0, 0.0625,
            0.375, 0.4375, 0.125, 0.0625, 0.125, 0.4375, 0.625, 0.4375, 0.375, 0.4375, 0.625,
        ];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
        }
    });
}

/// Directly and through a map, one loop adds to the same dat: what comes directly is never zeroed.
#[test]
fn increments_directly_and_through_a_map() {
    let n = 3000;
    let mut mesh = Mesh::new();
    let xs = mesh.set("xs", n).unwrap();
    let next = mesh.map::<1>("next", xs, xs, (0..n as u32).map(|i| (i + 1) % n as u32).collect()).unwrap();
    let x = mesh.dat_of("x", xs, [0.0]).unwrap();
    let mut program = Program::new(mesh);
    program.repeat("twice", 2, |program| {
        program.each(xs, "both").inc(x).inc(x.at(next, 0)).index().run(|here, there, index| {
            here[0] += 1.0;
            there[0] += index as f64;
        });
    });
    on_every_backend(&program, |run, time| {
        let expected = |i: usize| 2.0 * f64::from(time) * (1.0 + ((i + n - 1) % n) as f64);
        for (i, x) in run.dat(x).unwrap().iter().enumerate() {
            assert_eq!(x[0], expected(i), "element {i}");
        }
    });
}

#[test]
fn structs_and_truth_values_are_elements_too() {
    #[derive(Clone, Copy, Debug, PartialEq, drawloom_runtime::Element)]
    #[repr(C)]
    struct Particle {
        position: [f32; 3],
        species: u32,
    }
    let mut mesh = Mesh::new();
    let particles = mesh.set("particles", 2000).unwrap();
    let at = mesh.dat_of("at", particles, [Particle { position: [0.0; 3], species: 1 }]).unwrap();
    let alive = mesh.dat_of("alive", particles, [false]).unwrap();
    let mut program = Program::new(mesh);
    program.each(particles, "drift").index().update(at).write(alive).run(|index, at, alive| {
        at[0].position[1] = index as f32;
        alive.set([index % 2 == 0]);
    });
    on_every_backend(&program, |run, _| {
        assert_eq!(run.dat(at).unwrap()[1999][0], Particle { position: [0.0, 1999.0, 0.0], species: 1 });
        assert_eq!(run.dat(alive).unwrap()[..2], [[true], [false]]);
    });
}

#[test]
fn loops_over_empty_sets_do_nothing() {
    let mut mesh = Mesh::new();
    let (none, some) = (mesh.set("none", 0).unwrap(), mesh.set("some", 5).unwrap());
    let nowhere = mesh.map::<2>("nowhere", none, some, Vec::new()).unwrap();
    let x = mesh.dat_of("x", some, [1.0]).unwrap();
    let y = mesh.dat_of("y", none, [1.0]).unwrap();
    let sum = mesh.global("sum", [2.0]).unwrap();
    let mut program = Program::new(mesh);
    let kernel = |_: &[f64; 1], _: &mut [[Acc<f64>; 1]; 2], sum: &mut [Acc<f64>; 1]| sum[0] += 1.0;
    program.each(none, "nothing").read(y).inc(x.through(nowhere)).inc(sum).run(kernel);
    on_every_backend(&program, |run, _| {
        assert_eq!(run.global(sum).unwrap(), [2.0]);
        assert_eq!(run.dat(x).unwrap(), [[1.0]; 5]);
    });
}

/// Owners of nodes would have to repeat nearly every edge, so what edges contribute is kept first and applied later.
#[test]
fn a_mesh_whose_neighbours_are_far_apart_runs_in_parallel_with_the_same_bits() {
    let (count, nodes) = (9_000_u32, 7_000);
    // A fixed order without any locality; some edges lead to one node twice.
    let end = |edge: u32, salt: u32| (edge.wrapping_mul(2_654_435_761).wrapping_add(salt) >> 7) % nodes;
    let table = (0..count).flat_map(|edge| [end(edge, 1), end(edge, if edge % 50 == 0 { 1 } else { 77_777_777 })]);
    let mut mesh = Mesh::new();
    let edges = mesh.set("edges", count as usize).unwrap();
    let vertices = mesh.set("nodes", nodes as usize).unwrap();
    let ends = mesh.map::<2>("ends", edges, vertices, table.clone().collect()).unwrap();
    let values = (0..nodes).map(|n| [f64::from(n) * 0.37, 1.0 / (1.0 + f64::from(n))]).collect();
    let value = mesh.dat("value", vertices, values).unwrap();
    let flow = mesh.dat_of("flow", vertices, [0.0; 3]).unwrap();
    let lowest = mesh.dat_of("lowest", vertices, [f64::MAX]).unwrap();
    let total = mesh.global("total", [0.0]).unwrap();
    let mut program = Program::new(mesh);
    program.repeat("time", 3, |program| {
        program
            .each(edges, "exchange")
            .read(value.through(ends))
            .inc(flow.at(ends, 0))
            .inc(flow.through(ends))
            .min(lowest.at(ends, 1))
            .inc(total)
            .run(|value, first, both, lowest, total| {
                let [a, b] = value;
                for n in 0..3 {
                    first[n] += a[0] * b[1] + n as f64;
                    both[0][n] -= b[0] * 0.1;
                    both[1][n] += a[1] / 3.0;
                }
                lowest[0].offer(a[0] - b[0]);
                total[0] += a[1];
            });
    });
    let results = |backend| {
        let mut run = program.start(backend).unwrap();
        run.run().unwrap();
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        let found = [run.dat(flow).unwrap().concat(), run.dat(lowest).unwrap().concat()];
        let total = run.global(total).unwrap().to_vec();
        (found.map(bits), bits(total), run.stats()[0].strategy)
    };
    let (flows, total, _) = results(Backend::Serial);
    for workers in [2, 3] {
        let (same_flows, same_total, strategy) = results(Backend::Threads(Threads::new().workers(workers)));
        assert_eq!(strategy, Strategy::Staged);
        assert!(same_flows == flows && same_total == total, "{workers} workers");
    }
    // With one worker no iteration is kept for another.
    let (same_flows, _, strategy) = results(Backend::Threads(Threads::new().workers(1)));
    assert_eq!(strategy, Strategy::Chain);
    assert!(same_flows == flows);
}

/// The pads of contributions start at zero, below which an unsigned number has no room.
#[test]
fn unsigned_numbers_are_decremented_through_maps_and_as_globals() {
    let mut mesh = Mesh::new();
    let (nodes, edges) = (mesh.set("nodes", 3).unwrap(), mesh.set("edges", 2).unwrap());
    let ends = mesh.map::<2>("ends", edges, nodes, vec![0, 1, 1, 2]).unwrap();
    let left = mesh.dat_of("left", nodes, [10_u32]).unwrap();
    let also = mesh.dat_of("also", nodes, [10_u32]).unwrap();
    let all = mesh.global("all", [100_u32]).unwrap();
    let mut program = Program::new(mesh);
    program.each(edges, "take").inc(left.at(ends, 0)).inc(also.through(ends)).inc(all).run(|left, also, all| {
        left[0] -= 1;
        also[0][0] -= 1;
        also[1][0] -= 2;
        all[0] -= 3;
    });
    on_every_backend(&program, |run, time| {
        assert_eq!(run.dat(left).unwrap(), [[10 - time], [10 - time], [10]]);
        assert_eq!(run.dat(also).unwrap(), [[10 - time], [10 - 3 * time], [10 - 2 * time]]);
        assert_eq!(run.global(all).unwrap(), [100 - 6 * time]);
    });
}

#[test]
fn a_sum_of_integers_is_the_same_in_every_order_also_where_a_part_of_it_has_no_room() {
    let mut mesh = Mesh::new();
    let xs = mesh.set("xs", 40).unwrap();
    let (sum, beyond) = (mesh.global("sum", [i32::MAX]).unwrap(), mesh.global("beyond", [i32::MAX]).unwrap());
    let mut program = Program::new(mesh);
    program.each(xs, "to and fro").index().inc(sum).inc(beyond).run(|index, sum, beyond| {
        if index % 2 == 0 {
            sum[0] -= 5;
        } else {
            sum[0] += 5;
        }
        beyond[0] += 1;
    });
    on_every_backend(&program, |run, time| {
        assert_eq!(run.global(sum).unwrap(), [i32::MAX]);
        assert_eq!(run.global(beyond).unwrap(), [i32::MAX.wrapping_add(40 * time as i32)]);
    });
}

#[test]
fn the_lowest_and_the_highest_may_be_absent() {
    for present in [false, true] {
        let mut mesh = Mesh::new();
        let (nodes, edges) = (mesh.set("nodes", 3).unwrap(), mesh.set("edges", 2).unwrap());
        let ends = mesh.map::<2>("ends", edges, nodes, vec![0, 1, 1, 2]).unwrap();
        let lowest = mesh.dat_of("lowest", nodes, [9_i64]).unwrap();
        let highest = mesh.global("highest", [-1_i64]).unwrap();
        let both = mesh.dat_of("both", nodes, [0_i64]).unwrap();
        let mut program = Program::new(mesh);
        program
            .each(edges, "find")
            .index()
            .min_if(present, lowest.at(ends, 1))
            .max_if(present, highest)
            .max_if(present, both.through(ends))
            .run(|index, lowest, highest, both| {
                let index = index as i64;
                lowest.into_iter().for_each(|lowest| lowest[0].offer(index));
                highest.into_iter().for_each(|highest| highest[0].offer(index));
                both.into_iter().flatten().for_each(|both| both[0].offer(index + 1));
            });
        on_every_backend(&program, |run, _| {
            let expected = if present { [[9], [0], [1]] } else { [[9]; 3] };
            assert_eq!(run.dat(lowest).unwrap(), expected);
            assert_eq!(run.global(highest).unwrap(), [if present { 1 } else { -1 }]);
            assert_eq!(run.dat(both).unwrap(), if present { [[1], [2], [2]] } else { [[0]; 3] });
        });
    }
}

#[test]
fn formatting_does_not_show_what_was_contributed() {
    let mut mesh = Mesh::new();
    let set = mesh.set("set", 1).unwrap();
    let x = mesh.dat_of("x", set, [0_i64]).unwrap();
    let y = mesh.dat_of("y", set, [0_i64]).unwrap();
    let z = mesh.dat_of("z", set, [0_i64]).unwrap();
    let w = mesh.dat_of("w", set, [0_i64]).unwrap();
    let (lowest, highest) = (mesh.global("lowest", [0_i64]).unwrap(), mesh.global("highest", [0_i64]).unwrap());
    let (of_lowest, of_highest) = (mesh.global("l", [0_u8]).unwrap(), mesh.global("h", [0_u8]).unwrap());
    let mut program = Program::new(mesh);
    program
        .each(set, "look")
        .inc(x)
        .min(y)
        .max(z)
        .write(w)
        .min_with(lowest, of_lowest)
        .max_with(highest, of_highest)
        .run(|x, y, z, w, lowest, highest| {
            x[0] += 123;
            w.set([123]);
            lowest.offer(-123, 123);
            highest.offer(123, 123);
            assert_eq!(format!("{x:?} {y:?} {z:?} {w:?}"), "[Acc(..)] [Lowest(..)] [Highest(..)] Out(..)");
            assert_eq!(format!("{lowest:?} {highest:#?}"), "LowestWith(..) HighestWith(..)");
        });
    program.start(Backend::Serial).unwrap().run().unwrap();
}

/// What each block of 1024 iterations contributes to a sum, such that every other order of folding rounds differently.
#[test]
fn blocks_are_folded_pairwise_by_their_numbers() {
    const PARTS: [f64; 5] = [1e16, 1.0, -1e16, 1.0, 3.0];
    let mut mesh = Mesh::new();
    let set = mesh.set("set", 5 * 1024).unwrap();
    let sum = mesh.global("sum", [0.0]).unwrap();
    let mut program = Program::new(mesh);
    program.each(set, "add").index().inc(sum).run(|index, sum| {
        if index % 1024 == 0 {
            sum[0] += PARTS[index / 1024];
        }
    });
    let expected = ((PARTS[0] + PARTS[1]) + (PARTS[2] + PARTS[3])) + PARTS[4];
    for backend in [Backend::Serial, Backend::Threads(Threads::new().workers(2).blocks(3))] {
        let mut run = program.start(backend).unwrap();
        run.run().unwrap();
        assert_eq!(run.global(sum).unwrap(), [expected]);
    }
}
