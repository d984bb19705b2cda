//! Recorded programs give what submitting them gives, every time.

mod apart;
mod drawn;
mod failing;
mod lives;
mod priority;
mod short;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use drawloom_runtime::{ErrorKind, Loom, Max, Min, Region, Sum, Vector};

fn looms() -> Vec<Loom> {
    let mut looms = vec![Loom::serial()];
    looms.extend([1, 2, 3, 8].map(|workers| Loom::builder().workers(workers).build().unwrap()));
    looms
}

/// A program that is submitted or recorded: a stencil with halos, a sum, and something on the whole.
macro_rules! program {
    ($sink:expr, $a:expr, $b:expr, $sum:expr) => {{
        for ((halo, block), i) in $a.halos(8, 1).unwrap().zip($b.blocks(8).unwrap()).zip(0..) {
            $sink.task("smooth").read(&halo).write(&block).run(move |halo, block| {
                let first = usize::from(i > 0);
                for (k, out) in block.iter_mut().enumerate() {
                    let left = if k + first == 0 { 0.0 } else { halo[k + first - 1] };
                    *out = 0.3 * left + 0.5 * halo.get(k + first + 1).copied().unwrap_or(0.0) + 0.1;
                }
            });
        }
        for (a, b) in $a.blocks(8).unwrap().zip($b.blocks(8).unwrap()) {
            $sink.task("copy").read(&b).write(&a).run(|b, a| a.copy_from_slice(b));
        }
        for block in $a.blocks(7).unwrap() {
            $sink.task("sum").read(&block).reduce(&$sum, Sum).scratch::<f64>(3).run(|block, sum, scratch| {
                assert_eq!(scratch, [0.0; 3]);
                scratch[0] = block.iter().sum();
                *sum += scratch[0];
            });
        }
        $sink.task("turn").update(&$a).run(|a| a.rotate_left(3));
    }};
}

fn start(loom: &Loom) -> (Vector<f64>, Vector<f64>, drawloom_runtime::Value<f64>) {
    let a = loom.vector("a", (0..61).map(f64::from).collect());
    (a, loom.vector("b", vec![0.0; 61]), loom.value("sum", 0.5))
}

fn bits(a: &Vector<f64>, sum: &drawloom_runtime::Value<f64>) -> Vec<u64> {
    let mut bits: Vec<u64> = a.to_vec().unwrap().iter().map(|x| x.to_bits()).collect();
    bits.push(sum.get().unwrap().to_bits());
    bits
}

#[test]
fn a_replay_gives_the_bits_that_submitting_gives() {
    let serial = Loom::serial();
    let (a, b, sum) = start(&serial);
    for _ in 0..25 {
        program!(serial, a, b, sum);
    }
    let expected = bits(&a, &sum);
    for loom in looms() {
        let (a, b, sum) = start(&loom);
        let capture = loom.capture("step");
        program!(capture, a, b, sum);
        let plan = capture.plan().unwrap();
        assert_eq!(plan.len(), 8 + 8 + 7 + 1);
        for _ in 0..24 {
            plan.start();
        }
        plan.run().unwrap();
        assert_eq!(bits(&a, &sum), expected, "{} workers", loom.workers());
    }
}

#[test]
fn a_plan_runs_on_other_regions_of_the_same_shape() {
    for loom in looms() {
        let (a, b, sum) = start(&loom);
        let capture = loom.capture("step");
        program!(capture, a, b, sum);
        let plan = capture.plan().unwrap();
        let (c, d, total) = start(&loom);
        let other = plan.rebind(&a, &c).unwrap().rebind(&b, &d).unwrap().rebind(&sum, &total).unwrap();
        for _ in 0..3 {
            let (first, second) = (plan.start(), other.start());
            first.wait().unwrap();
            second.wait().unwrap();
        }
        assert_eq!(bits(&a, &sum), bits(&c, &total));
        let short = loom.vector("short", vec![0.0; 3]);
        let error = plan.rebind(&a, &short).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Shape);
        assert!(error.to_string().contains("`short`") && error.to_string().contains("`a`"), "{error}");
    }
}

#[test]
fn a_plan_runs_there_and_back_between_two_regions() {
    for loom in looms() {
        let start: Vec<u64> = (0..40).map(|i| i * i).collect();
        let (old, new) = (loom.vector("old", start.clone()), loom.vector("new", vec![0; 40]));
        let capture = loom.capture("smooth");
        for (from, to) in old.halos(4, 1).unwrap().zip(new.blocks(4).unwrap()) {
            capture.task("block").read(&from).write(&to).run(|from, to| {
                // All blocks but the first begin with an element of their neighbour.
                to.iter_mut().enumerate().for_each(|(i, x)| *x = from[i].wrapping_mul(3) ^ from[i + 1]);
            });
        }
        let there = capture.plan().unwrap();
        let back = there.exchange(&old, &new).unwrap();
        let mut expected = start;
        let block = |x: &[u64]| -> Vec<u64> {
            let first_of = |block: usize| (10 * block).saturating_sub(1);
            (0..40).map(|i| first_of(i / 10) + i % 10).map(|i| x[i].wrapping_mul(3) ^ x[i + 1]).collect()
        };
        for _ in 0..3 {
            there.run().unwrap();
            back.run().unwrap();
            expected = block(&block(&expected));
            assert_eq!(old.to_vec().unwrap(), expected, "{} workers", loom.workers());
        }
        let third = loom.vector("third", vec![0; 40]);
        let error = there.exchange(&old, &third).unwrap_err().to_string();
        assert!(error.contains("`old` and `third` cannot be exchanged: the plan does not use"), "{error}");
        let error = there.rebind(&old, &new).unwrap_err().to_string();
        assert!(error.contains("`exchange`"), "{error}");
        // Exchanged twice, it is what it was; and a region is in its own place already.
        let again = back.exchange(&old, &new).unwrap().exchange(&old, &old).unwrap();
        again.run().unwrap();
        assert_eq!(new.to_vec().unwrap(), block(&expected));
    }
}

#[test]
fn runs_are_ordered_with_tasks_submitted_before_and_after() {
    for loom in looms() {
        let x = loom.value("x", 1_u64);
        let capture = loom.capture("double");
        capture.task("double").update(&x).run(|x| *x = x.wrapping_mul(2));
        let plan = capture.plan().unwrap();
        for _ in 0..30 {
            loom.task("add").update(&x).run(|x| *x = x.wrapping_add(1));
            plan.start();
        }
        let expected = (0..30).fold(1_u64, |x, _| x.wrapping_add(1).wrapping_mul(2));
        assert_eq!(x.get().unwrap(), expected);
    }
}

#[test]
fn a_failing_task_fails_the_run_and_the_next_run_can_succeed() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        let y = loom.value("y", 0_u64);
        let rounds = std::sync::atomic::AtomicU64::new(0);
        let capture = loom.capture("risky");
        capture.task("write").write(&x).run(move |x| {
            *x = rounds.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            assert_ne!(*x, 1, "the second round is bad");
        });
        capture.task("use").read(&x).write(&y).run(|x, y| *y = *x + 10);
        let plan = capture.plan().unwrap();
        plan.run().unwrap();
        let error = plan.run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panicked);
        assert_eq!(error.task().unwrap().name, "write");
        assert_eq!(error.cancelled_tasks()[0].name, "use");
        plan.run().unwrap();
        assert_eq!(y.get().unwrap(), 12);
        loom.wait_all().unwrap();
    }
}

#[test]
fn very_many_independent_tasks_all_run() {
    for loom in looms() {
        let x = loom.vector("x", vec![0_u32; 5000]);
        let capture = loom.capture("all");
        for element in x.blocks(5000).unwrap() {
            capture.task("one").update(&element).run(|x| x[0] += 1);
        }
        let plan = capture.plan().unwrap();
        for _ in 0..20 {
            plan.start();
        }
        assert!(x.to_vec().unwrap().iter().all(|&x| x == 20));
    }
}

#[test]
fn the_graph_of_a_recording_can_be_asked() {
    let loom = Loom::serial();
    let (a, b, sum) = start(&loom);
    let capture = loom.capture("step");
    program!(capture, a, b, sum);
    let graph = capture.graph().unwrap();
    assert!(graph.check().is_valid());
    assert!(graph.order().is_ok());
}

#[test]
fn overlapping_arguments_are_refused_with_the_names_of_both() {
    let loom = Loom::serial();
    let x = loom.vector("x", vec![0; 10]);
    let half = x.blocks(2).unwrap().next().unwrap();
    let capture = loom.capture("bad");
    capture.task("shift").read(&half).update(&x).run(|_, _| ());
    let error = capture.plan().unwrap_err().to_string();
    assert!(error.contains("shift") && error.contains("P1") && error.contains("blocks2"), "{error}");
}

#[test]
fn a_task_of_a_plan_cannot_submit() {
    // Often, as another worker may be giving the refused task up while it is waited for.
    for loom in (0..50).flat_map(|_| looms()) {
        let x = loom.host_value("x", None);
        let inner = loom.clone();
        let capture = loom.capture("nested");
        capture.task("outer").write(&x).run(move |x| *x = Some(inner.task("inner").run(|| ()).wait().unwrap_err()));
        capture.plan().unwrap().run().unwrap();
        let error = x.read().unwrap().clone().unwrap();
        assert_eq!(error.kind(), ErrorKind::Plan);
        assert!(error.to_string().contains("`inner`") && error.to_string().contains("`outer`"), "{error}");
        loom.wait_all().unwrap();
    }
}

#[test]
fn a_task_that_runs_a_plan_is_told_once_that_it_cannot() {
    for loom in (0..20).flat_map(|_| looms()) {
        let x = loom.value("x", 0);
        let capture = loom.capture("increment");
        capture.task("add").update(&x).run(|x| *x += 1);
        let plan = capture.plan().unwrap();
        let inner = plan.clone();
        let error = loom.task("outer").returns(move || inner.run().unwrap_err().to_string()).wait().unwrap();
        assert!(error.contains("`increment`") && error.contains("`outer`"), "{error}");
        loom.wait_all().unwrap();
        plan.run().unwrap();
        assert_eq!(x.get().unwrap(), 1);
    }
}

#[test]
fn a_plan_that_reads_what_was_never_written_is_refused_when_it_runs() {
    for loom in looms() {
        let x = loom.vector_without_contents::<f64>("x", 10).unwrap();
        let y = loom.vector("y", vec![0.0; 10]);
        let capture = loom.capture("copy");
        capture.task("other").write(&y).run(|y| y.fill(0.0));
        capture.task("first reader").read(&x).write(&y).run(|x, y| y.copy_from_slice(x));
        capture.task("second reader").read(&x).update(&y).run(|_, _| ());
        let plan = capture.plan().unwrap();
        let error = plan.run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Uninitialised);
        let text = error.to_string();
        assert!(text.contains("`copy`") && text.contains("task `first reader`") && text.contains("`x`"), "{text}");
        loom.task("fill").write(&x).run(|x| x.fill(2.0));
        plan.run().unwrap();
        assert_eq!(y.to_vec().unwrap(), [2.0; 10]);
        let _ = loom.wait_all();
    }
}

#[test]
fn a_plan_whose_last_handle_is_gone_still_runs_to_its_end() {
    for loom in looms() {
        for _ in 0..30 {
            let x = loom.vector("x", vec![0_u64; 64]);
            let sum = loom.value("sum", 0_u64);
            let capture = loom.capture("short-lived");
            for block in x.blocks(16).unwrap() {
                capture.task("add").update(&block).run(|x| x.iter_mut().for_each(|x| *x += 1));
                capture.task("sum").read(&block).reduce(&sum, Sum).run(|x, sum| *sum += x.iter().sum::<u64>());
            }
            let plan = capture.plan().unwrap();
            let (first, second) = (plan.start(), plan.start());
            drop(plan);
            first.wait().unwrap();
            second.wait().unwrap();
            assert_eq!(sum.get().unwrap(), 64 + 128);
        }
    }
}

#[test]
fn reductions_that_follow_each_other_in_a_plan_are_kept_apart() {
    for loom in looms() {
        let x = loom.vector("x", vec![10_u64; 4]);
        let first = x.blocks(2).unwrap().next().unwrap();
        let capture = loom.capture("several");
        for i in 0..20_u64 {
            capture.task("most").reduce(&x, Max).run(move |x| x.fill(i * 10));
            capture.task("sum").reduce(&first, Sum).run(|x| x.fill(1));
            capture.task("least").reduce(&x, Min).run(|x| x.fill(1000));
        }
        capture.plan().unwrap().run().unwrap();
        let expected = (0..20).fold(10, |x: u64, i| x.max(i * 10) + 1);
        assert_eq!(x.to_vec().unwrap(), [expected, expected, 190, 190]);
    }
}

#[test]
fn a_contributor_that_fails_in_a_plan_spoils_what_it_contributes_to_and_no_other_contributor() {
    for loom in looms() {
        let sum = loom.value("sum", 0_u64);
        let seen = loom.vector("seen", vec![0_u64; 20]);
        let capture = loom.capture("sum");
        for (i, seen) in seen.blocks(20).unwrap().enumerate() {
            capture.task("add").reduce(&sum, Sum).update(&seen).run(move |sum, seen| {
                seen[0] += 1;
                *sum += 1;
                assert!(i != 3 || seen[0] != 2, "the second run is bad");
            });
        }
        let plan = capture.plan().unwrap();
        plan.run().unwrap();
        assert_eq!(plan.run().unwrap_err().kind(), ErrorKind::Panicked);
        assert_eq!(sum.get().unwrap_err().kind(), ErrorKind::Panicked);
        for (i, seen) in seen.blocks(20).unwrap().enumerate() {
            assert_eq!(seen.to_vec().ok(), (i != 3).then_some(vec![2]));
        }
        loom.task("again").write(&sum).write(&seen).run(|sum, seen| {
            *sum = 0;
            seen.fill(5);
        });
        plan.run().unwrap();
        assert_eq!(sum.get().unwrap(), 20);
        let _ = loom.wait_all();
    }
}

#[test]
fn a_plan_on_a_region_without_contents_is_refused_whatever_it_was_recorded_with() {
    for loom in looms() {
        let (x, y) = (loom.vector("x", vec![1_u64; 4]), loom.vector_without_contents::<u64>("y", 4).unwrap());
        let other = loom.vector_without_contents::<u64>("other", 4).unwrap();
        let capture = loom.capture("copy");
        capture.task("fill").write(&y).run(|y| y.fill(3));
        capture.task("copy").read(&x).update(&y).run(|x, y| y.copy_from_slice(x));
        let plan = capture.plan().unwrap();
        let error = plan.rebind(&x, &other).unwrap().run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Uninitialised);
        assert!(error.to_string().contains("`other`"), "{error}");
        // What the refused run did not write is still missing.
        assert_eq!(loom.task("early").read(&y).run(|_| ()).wait().unwrap_err().kind(), ErrorKind::Uninitialised);
        plan.run().unwrap();
        assert_eq!(y.to_vec().unwrap(), [1; 4]);
        let _ = loom.wait_all();
    }
}

/// Says when it is dropped.
struct Witness(std::sync::Arc<std::sync::atomic::AtomicBool>);

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
    }
}

#[test]
fn a_run_goes_on_when_every_handle_of_its_plan_is_gone() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let loom = Loom::builder().workers(1).build().unwrap();
    for nodes in [3, 300] {
        let dropped = std::sync::Arc::new(AtomicBool::new(false));
        let (go, gone) = std::sync::mpsc::channel();
        let mut gone = Some(std::sync::Mutex::new(gone));
        let v = loom.vector("v", vec![false; nodes]);
        let capture = loom.capture("orphan");
        for part in v.blocks(nodes).unwrap() {
            let witness = Witness(std::sync::Arc::clone(&dropped));
            let gone = gone.take();
            capture.task("node").write(&part).run(move |part| {
                if let Some(gone) = &gone {
                    gone.lock().unwrap().recv().unwrap();
                }
                part[0] = !witness.0.load(Ordering::SeqCst);
            });
        }
        let run = capture.plan().unwrap().start();
        go.send(()).unwrap();
        run.wait().unwrap();
        assert_eq!(v.to_vec().unwrap(), vec![true; nodes], "the plan was dropped before its nodes ran");
        // The only worker is done with the run before it runs another task.
        loom.task("last").run(|| ()).wait().unwrap();
        assert!(dropped.load(Ordering::SeqCst), "the plan stays");
    }
}

#[test]
fn children_in_a_plan_that_was_rebound_are_lent_the_new_region() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let regions = [loom.value("x", 0), loom.value("y", 0)];
    let which = Arc::new(AtomicUsize::new(0));
    let capture = loom.capture("lending");
    let (inner, children, chosen) = (loom.clone(), regions.clone(), Arc::clone(&which));
    capture.task("parent").lend(&regions[0]).run(move |_| {
        inner.task("child").update(&children[chosen.load(Ordering::Relaxed)]).run(|x| *x += 1);
    });
    let plan = capture.plan().unwrap();
    plan.run().unwrap();
    let rebound = plan.rebind(&regions[0], &regions[1]).unwrap();
    let text = rebound.run().unwrap_err().to_string();
    assert!(text.contains("`child`") && text.contains("`x`") && text.contains("did not lend"), "{text}");
    which.store(1, Ordering::Relaxed);
    rebound.run().unwrap();
    assert_eq!(regions.map(|region| region.get().unwrap()), [1, 1]);
}
