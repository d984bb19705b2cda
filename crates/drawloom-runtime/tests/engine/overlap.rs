//! Tasks that need not wait for each other do not: they meet while they run.
//!
//! Each test submits as many tasks as there are workers, and every one of them waits until all of them are running. Were one
//! of them ordered after another without need, they would never meet; the meeting gives up after a while, and the test fails.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use drawloom_runtime::{Loom, Region, Sum};

/// A place where a number of tasks meet.
#[derive(Clone)]
struct Meeting(Arc<(Mutex<usize>, Condvar, usize)>);

impl Meeting {
    fn of(count: usize) -> Self {
        Self(Arc::new((Mutex::new(0), Condvar::new(), count)))
    }

    /// Waits for the others. Panics when they do not come, which makes the task fail.
    fn meet(&self) {
        let (here, came, count) = &*self.0;
        let mut now = here.lock().unwrap();
        *now += 1;
        came.notify_all();
        let patience = Duration::from_secs(60);
        let (now, _) = came.wait_timeout_while(now, patience, |now| *now < *count).unwrap();
        assert!(*now >= *count, "only {now} of {count} tasks run at the same time");
    }
}

fn looms(workers: usize) -> Vec<Loom> {
    let policies = ["lws", "ws", "eager", "prio", "random"];
    policies.map(|policy| Loom::builder().workers(workers).policy(policy).build().unwrap()).into()
}

#[test]
fn tasks_on_the_blocks_of_a_vector_meet() {
    for loom in looms(4) {
        let v = loom.vector("v", vec![0_u64; 64]);
        for _ in 0..5 {
            let meeting = Meeting::of(4);
            for block in v.blocks(4).unwrap() {
                let meeting = meeting.clone();
                loom.task("t").update(&block).run(move |_| meeting.meet());
            }
        }
        loom.wait_all().unwrap();
    }
}

#[test]
fn readers_of_overlapping_pieces_and_of_the_whole_meet() {
    for loom in looms(6) {
        let v = loom.vector("v", vec![0_u64; 64]);
        for _ in 0..5 {
            loom.task("before").update(&v).run(|v| v.fill(1));
            let meeting = Meeting::of(6);
            for halo in v.halos(4, 3).unwrap() {
                let meeting = meeting.clone();
                loom.task("halo").read(&halo).run(move |_| meeting.meet());
            }
            for _ in 0..2 {
                let meeting = meeting.clone();
                loom.task("whole").read(&v).run(move |_| meeting.meet());
            }
        }
        loom.wait_all().unwrap();
    }
}

#[test]
fn the_steps_of_a_stencil_overlap_where_halos_allow_it() {
    // Block 0 may be a step ahead of block 3: what the one writes, the other does not read.
    for loom in looms(2) {
        let a = loom.vector("a", vec![0_u64; 16]);
        let b = loom.vector("b", vec![0_u64; 16]);
        let meeting = Meeting::of(2);
        let (early, late) = (meeting.clone(), meeting);
        let step = |i: usize, body: Box<dyn FnOnce() + Send>| {
            let (halo, block) = (a.halos(4, 1).unwrap().get(i).unwrap(), b.blocks(4).unwrap().get(i).unwrap());
            loom.task("step").read(&halo).write(&block).run(move |_, _| body());
        };
        step(3, Box::new(move || late.meet()));
        step(0, Box::new(|| ()));
        step(1, Box::new(|| ()));
        let back = (b.halos(4, 1).unwrap().next().unwrap(), a.blocks(4).unwrap().next().unwrap());
        loom.task("back").read(&back.0).write(&back.1).run(move |_, _| early.meet());
        loom.wait_all().unwrap();
    }
}

#[test]
fn pieces_of_different_partitions_that_share_nothing_meet() {
    for loom in looms(3) {
        let v = loom.vector("v", vec![0_u64; 12]);
        // Everything was touched through the whole, the blocks and the colours before.
        loom.task("whole").update(&v).run(|v| v.fill(1));
        let colours: Vec<_> = v.by_colour(&[0, 1, 0, 1, 0, 1, 2, 2, 2, 2, 2, 2]).unwrap().collect();
        for block in v.blocks(4).unwrap() {
            loom.task("block").update(&block).run(|_| ());
        }
        let meeting = Meeting::of(3);
        let [x, y, z] = [(); 3].map(|()| meeting.clone());
        let last = v.blocks(4).unwrap().get(3).unwrap();
        loom.task("even").update(&colours[0]).run(move |_| x.meet());
        loom.task("odd").update(&colours[1]).run(move |_| y.meet());
        loom.task("last").update(&last).run(move |_| z.meet());
        loom.wait_all().unwrap();
    }
}

#[test]
fn contributors_to_one_reduction_meet() {
    for loom in looms(4) {
        let sum = loom.value("sum", 0_u64);
        let meeting = Meeting::of(4);
        for _ in 0..4 {
            let meeting = meeting.clone();
            loom.task("t").reduce(&sum, Sum).run(move |sum| {
                *sum += 1;
                meeting.meet();
            });
        }
        assert_eq!(sum.get().unwrap(), 4);
    }
}

#[test]
fn tasks_that_commute_on_different_tiles_meet() {
    for loom in looms(4) {
        let m = loom.matrix("m", 4, 4, vec![0_u64; 16]).unwrap();
        let meeting = Meeting::of(4);
        for tile in m.tiles(2, 2).unwrap() {
            let meeting = meeting.clone();
            loom.task("t").commute(&tile).run(move |_| meeting.meet());
        }
        loom.wait_all().unwrap();
    }
}

#[test]
fn children_of_different_parents_meet() {
    for loom in looms(4) {
        let v = loom.vector("v", vec![0_u64; 16]);
        let meeting = Meeting::of(4);
        for half in v.blocks(2).unwrap() {
            let (inner, lent, meeting) = (loom.clone(), half.clone(), meeting.clone());
            loom.task("parent").lend(&half).run(move |_| {
                for block in lent.blocks(2).unwrap() {
                    let meeting = meeting.clone();
                    inner.task("child").update(&block).run(move |_| meeting.meet());
                }
            });
        }
        loom.wait_all().unwrap();
    }
}

#[test]
fn a_reader_of_the_past_does_not_hold_back_other_readers() {
    // A guard is a reader like any other.
    for loom in looms(2) {
        let v = loom.vector("v", vec![0_u64; 16]);
        let guard = v.read().unwrap();
        let meeting = Meeting::of(2);
        for block in v.blocks(2).unwrap() {
            let meeting = meeting.clone();
            loom.task("t").read(&block).run(move |_| meeting.meet());
        }
        loom.wait_all().unwrap();
        drop(guard);
    }
}
