//! How many edges a history makes, counted without an engine.

use std::cell::Cell;

use super::history::{Comer, History, Weaver};
use super::scope::ScopeId;
use super::slot::OpenReduction;
use crate::access::{Arg, Mode};
use crate::data::region::Region;
use crate::loom::Loom;
use crate::task::record::TaskId;

/// Counts tasks and edges, and completes none.
#[derive(Default)]
struct Count {
    tasks: Cell<u32>,
    edges: Cell<usize>,
}

impl Count {
    fn task(&self, waits: usize) -> TaskId {
        self.tasks.set(self.tasks.get() + 1);
        self.edges.set(self.edges.get() + waits);
        TaskId::new(self.tasks.get(), 1)
    }
}

impl Weaver for Count {
    fn sync_point(&self, tasks: &[TaskId]) -> TaskId {
        match tasks {
            [] => TaskId::NONE,
            [only] => *only,
            _ => self.task(tasks.len()),
        }
    }

    fn is_complete(&self, task: TaskId) -> bool {
        task.is_none()
    }

    fn begin_fold(&self, _: ScopeId, _: &OpenReduction, _: Arg) -> TaskId {
        self.task(0)
    }
}

/// A history with a counter, and tasks that are only ordered.
struct Program {
    history: History,
    count: Count,
}

impl Program {
    fn new() -> Self {
        // Not the outermost scope, whose slots are in the pieces.
        Self { history: History::new(ScopeId(7)), count: Count::default() }
    }

    /// Orders a task, and returns how many others it waits for.
    fn task(&mut self, args: &[Arg]) -> usize {
        let task = self.count.task(0);
        let mut waits = Vec::new();
        let ordered = self.history.order(&self.count, Comer::plain(task, args), &mut waits, &mut Vec::new());
        assert!(ordered.is_ok(), "the arguments do not overlap");
        let folds: usize = self.history.take_folds().iter().map(|(_, waits)| waits.len()).sum();
        self.count.edges.set(self.count.edges.get() + waits.len() + folds);
        waits.len()
    }

    /// Orders the same task again and again.
    fn tasks(&mut self, count: usize, args: &[Arg]) {
        for _ in 0..count {
            self.task(args);
        }
    }

    /// Orders a task on each region of a list.
    fn each<R: Region>(&mut self, regions: &[R], mode: Mode) {
        for region in regions {
            self.task(&[arg(region, mode)]);
        }
    }

    fn edges(&self) -> usize {
        self.count.edges.get()
    }
}

fn arg<R: Region>(region: &R, mode: Mode) -> Arg {
    // SAFETY: the region is there until the test ends.
    unsafe { Arg::new(region.handle().piece(), mode) }
}

#[test]
fn many_readers_then_many_writers_make_a_linear_number_of_edges() {
    let loom = Loom::serial();
    let x = loom.value("x", 0_u64);
    let mut program = Program::new();
    let n = 1000;
    for _ in 0..10 {
        program.tasks(n, &[arg(&x, Mode::Read)]);
        program.tasks(n, &[arg(&x, Mode::Update)]);
    }
    assert!(program.edges() <= 3 * 20 * n, "{} edges for {} tasks", program.edges(), 20 * n);
}

#[test]
fn many_readers_then_many_tasks_that_commute_make_a_linear_number_of_edges() {
    let loom = Loom::serial();
    let x = loom.value("x", 0_u64);
    let mut program = Program::new();
    let n = 1000;
    for _ in 0..10 {
        program.tasks(n, &[arg(&x, Mode::Read)]);
        program.tasks(n, &[arg(&x, Mode::Commute)]);
    }
    assert!(program.edges() <= 3 * 20 * n, "{} edges for {} tasks", program.edges(), 20 * n);
}

#[test]
fn writers_of_blocks_and_readers_of_the_whole_make_a_linear_number_of_edges_in_both_orders() {
    let loom = Loom::serial();
    let n = 500;
    let v = loom.vector("v", vec![0_u64; n]);
    let blocks: Vec<_> = v.blocks(n).unwrap().collect();
    let mut program = Program::new();
    for _ in 0..5 {
        program.each(&blocks, Mode::Write);
        program.tasks(n, &[arg(&v, Mode::Read)]);
        // The other way round: readers of the whole are in the way of every block.
        program.each(&blocks, Mode::Update);
        program.task(&[arg(&v, Mode::Update)]);
    }
    let tasks = 5 * (3 * n + 1);
    assert!(program.edges() <= 4 * tasks, "{} edges for {tasks} tasks", program.edges());
}

#[test]
fn a_step_of_a_stencil_waits_for_its_neighbours_only() {
    let loom = Loom::serial();
    let width = 64;
    let (a, b) = (loom.vector("a", vec![0_u64; 4 * width]), loom.vector("b", vec![0_u64; 4 * width]));
    let mut program = Program::new();
    for step in 0..20 {
        let (from, to) = if step % 2 == 0 { (&a, &b) } else { (&b, &a) };
        for (halo, block) in from.halos(width, 1).unwrap().zip(to.blocks(width).unwrap()) {
            // Three writers of the step before, and three readers of what is overwritten, of which some are the same.
            let waits = program.task(&[arg(&halo, Mode::Read), arg(&block, Mode::Write)]);
            assert!(waits <= 6, "{waits} edges in step {step}");
        }
    }
}

#[test]
fn a_region_that_is_left_alone_makes_no_edges() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0_u64; 64]);
    let mut program = Program::new();
    for block in v.blocks(64).unwrap() {
        assert_eq!(program.task(&[arg(&block, Mode::Update)]), 0);
    }
    for tile in v.blocks(8).unwrap() {
        assert_eq!(program.task(&[arg(&tile, Mode::Update)]), 8, "what lies in a piece is waited for once");
    }
    for block in v.blocks(64).unwrap() {
        assert_eq!(program.task(&[arg(&block, Mode::Update)]), 1, "what was overwritten is forgotten");
    }
}

#[test]
fn partitions_used_in_turn_do_not_remember_each_other_for_ever() {
    let loom = Loom::serial();
    let v = loom.vector("v", vec![0_u64; 60]);
    let mut program = Program::new();
    let round = |program: &mut Program| {
        program.each(&v.blocks(12).unwrap().collect::<Vec<_>>(), Mode::Update);
        program.each(&v.blocks(5).unwrap().collect::<Vec<_>>(), Mode::Update);
        program.edges()
    };
    let (mut before, mut most) = (round(&mut program), 0);
    for _ in 0..50 {
        let now = round(&mut program);
        most = most.max(now - before);
        before = now;
    }
    assert!(most <= 3 * 17, "{most} edges in a round of 17 tasks");
}
