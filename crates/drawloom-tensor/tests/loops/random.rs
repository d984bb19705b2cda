//! Random graphs give what a direct interpreter of the rules gives.
//!
//! The interpreter keeps to the words of the rules: a list of nodes, `refs` that say how many loop-control nodes are
//! upstream, a stack of records, and a `while` loop at the end of the list. It shares no code with the program.

use std::sync::Arc;

use drawloom_tensor::{Counts, Fault, Graph, Inputs, LoopTurn, Next, Outputs, Settings, Tensor};
use fastrand::Rng;

use crate::ROWS;

/// A node of a list: what it reads (`None` is the input of the graph), and whether it controls a loop.
#[derive(Clone, Debug)]
struct Listed {
    reads: Vec<Option<usize>>,
    control: Option<bool>,
    output: bool,
}

/// What a run shows to the world.
#[derive(Debug, PartialEq)]
struct Seen {
    partitions: Vec<usize>,
    order: Vec<usize>,
    kept: Vec<Option<usize>>,
    runs: Vec<u64>,
    placed: Vec<(u64, u64)>,
    rows: Vec<i64>,
}

fn mix(a: i64, b: i64) -> i64 {
    let mixed = (a ^ b.rotate_left(17)).wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    mixed ^ (mixed >> 29)
}

/// How many rows an iteration makes, and thinks there are: a loop may change its mind, but not for ever.
fn script(node: usize, counts: Counts) -> (u64, u64) {
    let hash = mix(node as i64, (counts.iteration * 31 + counts.previous * 7 + counts.previous_outer) as i64);
    let total = if counts.iteration > 2 { 0 } else { (hash >> 8).rem_euclid(8) as u64 };
    (hash.rem_euclid(4) as u64, total)
}

/// What a loop with a function of its own does at the end: it skips a row after each iteration, and goes on by number.
fn own_end(counts: &mut Counts, state: &mut u64) -> bool {
    *state += 1;
    if counts.iteration < *state % 3 {
        counts.iteration += 1;
        counts.previous += counts.current + 1;
        true
    } else {
        counts.previous_outer += counts.previous + counts.current;
        counts.iteration = 0;
        counts.previous = 0;
        false
    }
}

/// What a node computes from the values that it reads.
fn compute(node: usize, values: &[&[i64]], rows: Option<u64>) -> Vec<i64> {
    let hash = values.iter().fold(node as i64, |hash, value| value.iter().fold(mix(hash, 1), |hash, v| mix(hash, *v)));
    let length = rows.unwrap_or_else(|| values.iter().map(|value| value.len() as u64).max().unwrap_or(1));
    (0..length as i64).map(|row| mix(hash, row)).collect()
}

fn interpret(listed: &[Listed]) -> Option<Seen> {
    // A list in which everything comes after what it reads, as near as possible to the one that was given.
    let mut list: Vec<usize> = Vec::new();
    while list.len() < listed.len() {
        let ready = |node: &usize| listed[*node].reads.iter().flatten().all(|read| list.contains(read));
        list.push((0..listed.len()).filter(|node| !list.contains(node)).find(ready)?);
    }
    // The partitions, and the tensors that need a sink.
    let mut refs = vec![0usize; listed.len()];
    let (mut current_partn, mut kept) = (0, Vec::new());
    for node in &list {
        let Listed { reads, control, .. } = &listed[*node];
        let partition_of = |read: &Option<usize>| read.map_or(0, |read| refs[read]);
        let maxpar = reads.iter().map(partition_of).max().unwrap_or(0);
        let own = if control.is_some() {
            if maxpar != current_partn || current_partn == 4 {
                return None;
            }
            current_partn += 1;
            current_partn
        } else {
            maxpar
        };
        kept.extend(reads.iter().filter(|read| partition_of(read) < own));
        refs[*node] = own;
    }
    kept.sort();
    kept.dedup();
    if listed.iter().zip(&refs).any(|(node, partition)| node.output && *partition != current_partn) {
        return None;
    }
    list.sort_by_key(|node| refs[*node]);
    // The execution.
    let mut seen =
        Seen { partitions: refs, order: list, kept, runs: vec![0; listed.len()], placed: vec![], rows: vec![] };
    let mut values: Vec<Vec<i64>> = vec![vec![]; listed.len()];
    let mut records = [Counts::default(); 5];
    let mut stack: Vec<usize> = Vec::new();
    let mut states = vec![0u64; listed.len()];
    let mut at = 0;
    loop {
        while at < seen.order.len() {
            let node = seen.order[at];
            seen.runs[node] += 1;
            let reads: Vec<&[i64]> =
                listed[node].reads.iter().map(|read| read.map_or(&[7i64][..], |read| &values[read])).collect();
            if listed[node].output {
                let offset =
                    stack.len().checked_sub(1).map_or(0, |top| records[top].previous + records[top].previous_outer);
                seen.placed.push((offset, reads[0].len() as u64));
                let end = offset as usize + reads[0].len();
                seen.rows.resize(seen.rows.len().max(end), 0);
                seen.rows[offset as usize..end].copy_from_slice(reads[0]);
            } else if listed[node].control.is_some() {
                let record = &mut records[stack.len()];
                let (current, total) = script(node, *record);
                values[node] = compute(node, &reads, Some(current));
                (record.current, record.total) = (current, total);
                stack.push(node);
            } else {
                values[node] = compute(node, &reads, None);
            }
            at += 1;
        }
        loop {
            let Some(node) = stack.pop() else { return Some(seen) };
            let counts = &mut records[stack.len()];
            let again = if listed[node].control == Some(true) {
                own_end(counts, &mut states[node])
            } else {
                let new_batches = counts.previous + counts.current;
                if new_batches < counts.total {
                    counts.iteration += 1;
                    counts.previous = new_batches;
                    true
                } else {
                    counts.previous_outer += new_batches;
                    counts.iteration = 0;
                    counts.previous = 0;
                    false
                }
            };
            if again {
                at = seen.order.iter().position(|other| *other == node).unwrap();
                break;
            }
        }
    }
}

struct Control {
    node: usize,
    own_end: bool,
}

impl drawloom_tensor::LoopControl for Control {
    fn state(&self) -> Box<dyn std::any::Any + Send> {
        Box::new(0u64)
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>) -> Result<(), Fault> {
        let (current, total) = script(self.node, inputs.counts());
        write(self.node, inputs, outputs, Some(current))?;
        if self.own_end {
            turn.push_with(
                current,
                total,
                Arc::new(|_, _, counts, state| {
                    let state = state.downcast_mut::<u64>().ok_or_else(|| Fault::new("the state is lost"))?;
                    Ok(if own_end(counts, state) { Next::Again } else { Next::Done })
                }),
            );
        } else {
            turn.push(current, total);
        }
        Ok(())
    }
}

fn write(node: usize, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, rows: Option<u64>) -> Result<(), Fault> {
    let reads = (0..inputs.len()).map(|index| inputs.get(index)?.values::<i64>()).collect::<Result<Vec<_>, Fault>>()?;
    let values = compute(node, &reads, rows);
    outputs.allocate::<i64>(0, &[values.len()])?.copy_from_slice(&values);
    Ok(())
}

fn execute(listed: &[Listed]) -> Option<Seen> {
    let mut graph = Graph::new("random");
    graph.input("x").unwrap();
    for (node, entry) in listed.iter().enumerate() {
        let reads: Vec<String> =
            entry.reads.iter().map(|read| read.map_or("x".to_owned(), |read| format!("t{read}"))).collect();
        let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
        let (name, tensor) = (format!("n{node}"), format!("t{node}"));
        let id = match entry.control {
            _ if entry.output => graph.output(&name, &[(reads[0], ROWS)]),
            Some(own_end) => graph.loop_control(&name, "Control", Control { node, own_end }, &reads, &[&tensor]),
            None => {
                let kernel = move |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| {
                    assert_eq!(inputs.counts(), Counts::default());
                    write(node, inputs, outputs, None)
                };
                graph.kernel(&name, "Mix", kernel, &reads, &[&tensor])
            }
        };
        assert_eq!(id.unwrap().index(), node);
    }
    let program = graph.check(4).ok()?;
    let graph = program.graph();
    let input = Tensor::new(&[1], vec![7i64]).unwrap();
    let outcome = program.run(&[("x", input.view())], &Settings::new()).unwrap();
    let nodes: Vec<_> = (0..listed.len()).map(|node| graph.find_node(&format!("n{node}")).unwrap()).collect();
    let mut kept: Vec<Option<usize>> =
        program.crossing().iter().map(|tensor| graph.tensor_name(*tensor)[1..].parse().ok()).collect();
    kept.sort();
    Some(Seen {
        partitions: nodes.iter().map(|node| program.partition(*node)).collect(),
        order: program.order().iter().map(|node| node.index()).collect(),
        kept,
        runs: nodes.iter().map(|node| outcome.runs(*node)).collect(),
        placed: outcome.placed().iter().map(|placed| (placed.first, placed.rows)).collect(),
        rows: outcome.outputs()[0].values::<i64>().unwrap().to_vec(),
    })
}

/// A random list. Most loop-control nodes read from the one before, or there would be few nests.
fn list(rng: &mut Rng) -> Vec<Listed> {
    let count = rng.usize(1..12);
    let mut listed: Vec<Listed> = Vec::new();
    let mut last_control = None;
    for node in 0..count {
        let mut reads: Vec<Option<usize>> = (0..rng.usize(1..4))
            .map(|_| if node == 0 || rng.usize(..4) == 0 { None } else { Some(rng.usize(..node)) })
            .collect();
        let control = (rng.usize(..3) == 0).then(|| rng.usize(..3) == 0);
        if control.is_some() && rng.usize(..6) > 0 {
            reads.push(last_control);
        }
        if control.is_some() {
            last_control = Some(node);
        }
        listed.push(Listed { reads, control, output: false });
    }
    let result = if rng.usize(..8) > 0 { last_control.unwrap_or(count - 1) } else { rng.usize(..count) };
    let downstream = (result..count).rev().find(|node| *node == result || listed[*node].reads.contains(&Some(result)));
    listed.push(Listed { reads: vec![downstream], control: None, output: true });
    // The list may be in any order.
    let mut places: Vec<usize> = (0..listed.len()).collect();
    if rng.bool() {
        rng.shuffle(&mut places);
    }
    let mut shuffled = listed.clone();
    for (node, entry) in listed.into_iter().enumerate() {
        let reads = entry.reads.iter().map(|read| read.map(|read| places[read])).collect();
        shuffled[places[node]] = Listed { reads, ..entry };
    }
    shuffled
}

#[test]
fn random_graphs_give_what_a_direct_interpreter_gives() {
    let cases = super::cases(3000);
    let (mut ran, mut refused) = (0, 0);
    for seed in 0..cases {
        let listed = list(&mut Rng::with_seed(seed));
        let expected = interpret(&listed);
        let found = execute(&listed);
        assert_eq!(found, expected, "seed {seed}: {listed:?}");
        if expected.is_some() { ran += 1 } else { refused += 1 }
    }
    assert!(ran > cases / 4 && refused > cases / 20, "{ran} ran, {refused} were refused");
}
