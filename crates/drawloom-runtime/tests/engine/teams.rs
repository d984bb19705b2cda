//! Teams: tasks that several workers run at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use drawloom_runtime::{ErrorKind, Loom, Member, Sum, TeamMut, Vector};

fn looms() -> Vec<Loom> {
    let mut looms = vec![Loom::serial()];
    for workers in [3, 8, 17] {
        for policy in ["lws", "prio", "random"] {
            looms.push(Loom::builder().workers(workers).policy(policy).build().unwrap());
        }
    }
    looms
}

#[test]
fn every_member_has_its_own_rank_and_share() {
    for loom in looms() {
        let v = loom.vector("v", vec![0_u32; 100]);
        let sizes = loom.vector("sizes", vec![0_usize; 3]);
        loom.task("fill").write(&v).write(&sizes).team(3).run(|member, mut v, mut sizes| {
            v.mine().fill(member.rank() as u32 + 1);
            sizes.mine()[0] = member.size();
        });
        let mut expected = vec![1; 34];
        expected.extend([2; 33]);
        expected.extend([3; 33]);
        assert_eq!(v.to_vec().unwrap(), expected);
        assert_eq!(sizes.to_vec().unwrap(), [3; 3]);
    }
}

#[test]
fn members_meet_at_barriers_and_read_what_others_wrote() {
    for loom in looms() {
        let v = loom.vector("v", (0..64_u64).collect());
        let sum = loom.value("sum", 0_u64);
        let total = loom.task("scan").update(&v).write(&sum).team(2..=4).returns(|member, mut v, mut sum| {
            let mut last = 0;
            for _ in 0..20 {
                v.mine().iter_mut().for_each(|x| *x += 1);
                member.barrier();
                last = v.read_whole(member, |v| v.iter().sum());
                sum.whole(member, |sum| *sum = last);
            }
            last
        });
        let expected: u64 = (0..64).map(|x| x + 20).sum();
        assert_eq!(total.wait().unwrap(), expected);
        assert_eq!(sum.get().unwrap(), expected);
    }
}

#[test]
fn columns_of_a_matrix_are_shared_out() {
    for loom in looms() {
        let m = loom.matrix("m", 3, 5, vec![0_usize; 15]).unwrap();
        loom.task("number").write(&m).team(2).run(|_, mut m| {
            let mut mine = m.mine();
            for j in 0..mine.columns() {
                for i in 0..3 {
                    mine[[i, j]] = 1 + i + j;
                }
            }
        });
        let row = loom.task("row").read(&m).returns(|m| (0..5).map(|j| m[[0, j]]).collect::<Vec<_>>());
        assert_eq!(row.wait().unwrap(), [1, 2, 3, 1, 2]);
    }
}

#[test]
fn each_region_of_a_list_is_shared_out() {
    for loom in looms() {
        let v = loom.vector("v", vec![0_usize; 30]);
        let (blocks, x) = (v.blocks(3).unwrap().collect::<Vec<_>>(), loom.value("x", 0_usize));
        let team = |member: &Member<'_>, mut list: Vec<TeamMut<'_, Vector<usize>>>| {
            for (i, part) in list.iter_mut().enumerate() {
                part.mine().iter_mut().for_each(|x| *x += i + 1);
            }
            list[2].read_whole(member, |whole| whole.iter().sum::<usize>())
        };
        let sum = loom.task("add").update_all(&blocks).update(&x).team(2..=3).returns(move |member, list, mut x| {
            let sum = team(member, list);
            x.whole(member, |x| *x = sum);
            sum
        });
        assert_eq!(sum.wait().unwrap(), 30);
        let capture = loom.capture("again");
        capture.task("add").update_all(&blocks).team(2..=3).run(move |member, list| {
            team(member, list);
        });
        capture.plan().unwrap().run().unwrap();
        let expected: Vec<usize> = (0..30).map(|i| 2 * (i / 10 + 1)).collect();
        assert_eq!(v.to_vec().unwrap(), expected);
        assert_eq!(x.get().unwrap(), 30);
    }
}

#[test]
fn a_team_larger_than_its_context_is_refused() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let error = loom.task("crowd").team(3).run(|_| ()).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Team);
    assert!(error.to_string().contains("task `crowd`") && error.to_string().contains("`main` has 2"), "{error}");
    #[allow(clippy::reversed_empty_ranges, reason = "a range the wrong way round is one of the mistakes")]
    for bounds in [0..=0, 3..=2, 0..=4] {
        let error = loom.task("nobody").team(bounds).run(|_| ()).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Team);
    }
}

#[test]
fn a_panic_of_one_member_fails_the_task_and_hangs_nobody() {
    for loom in looms() {
        let v = loom.vector("v", vec![0_u8; 4]);
        let failed = loom.task("unlucky").write(&v).team(2..=3).run(|member, _| {
            assert_ne!(member.rank(), 1, "rank one is unlucky");
            member.barrier();
        });
        let error = failed.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panicked, "{error}");
        assert!(error.to_string().contains("rank one is unlucky"), "{error}");
        assert_eq!(v.to_vec().unwrap_err().kind(), ErrorKind::Panicked);
        // The workers are free again.
        assert_eq!(loom.task("next").team(2).returns(|m| m.size()).wait().unwrap(), 2);
    }
}

#[test]
fn a_member_that_returns_early_breaks_the_barrier() {
    for loom in looms() {
        let failed = loom.task("early").team(2).run(|member| {
            if member.rank() == 0 {
                member.barrier();
            }
        });
        let error = failed.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Team, "{error}");
    }
}

#[test]
fn members_that_ask_for_different_wholes_break_the_barrier() {
    for loom in looms() {
        let (x, y) = (loom.value("x", 0), loom.value("y", 0));
        let failed = loom.task("confused").update(&x).update(&y).team(2).run(|member, mut x, mut y| {
            if member.rank() == 0 {
                x.whole(member, |x| *x = 1)
            } else {
                y.whole(member, |y| *y = 1)
            };
        });
        assert_eq!(failed.wait().unwrap_err().kind(), ErrorKind::Team);
    }
}

#[test]
fn an_error_of_one_member_fails_the_task() {
    for loom in looms() {
        let failed = loom.task("fussy").team(2).try_run(|m| if m.rank() == 1 { Err("no") } else { Ok(7) });
        let error = failed.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        assert!(error.to_string().contains("no"), "{error}");
    }
}

#[test]
fn a_cancelled_team_task_runs_on_nobody() {
    for loom in looms() {
        let x = loom.value("x", 0);
        loom.task("bad").write(&x).run(|_| panic!("on purpose"));
        let ran = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ran);
        let team = loom.task("team").update(&x).team(2).run(move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(team.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(ran.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn teams_that_compete_for_overlapping_workers_all_run() {
    for workers in [2, 3, 8, 17] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        let all = loom.worker_ids();
        let left = loom.context("left").workers(all[..workers / 2 + 1].to_vec()).create().unwrap();
        let right = loom.context("right").workers(all[workers / 2 - 1..].to_vec()).create().unwrap();
        let counts: Vec<_> = (0..3).map(|i| loom.vector(format!("count {i}"), vec![0_u64; 64])).collect();
        for i in 0..60 {
            let context = match i % 3 {
                0 => left.clone(),
                1 => right.clone(),
                _ => loom.main_context(),
            };
            let most = context.workers().unwrap().len() as u32;
            let bounds = if i % 2 == 0 { most.min(2)..=most } else { most..=most };
            loom.task("team").update(&counts[i % 3]).in_context(&context).team(bounds).run(|member, mut count| {
                count.mine().iter_mut().for_each(|c| *c += 1);
                member.barrier();
                count.whole(member, |count| count.iter_mut().for_each(|c| *c *= 3));
            });
            loom.task("filler").in_context(&context).run(|| ());
        }
        loom.wait_all().unwrap();
        let expected = (0..20).fold(0_u64, |c, _| (c + 1).wrapping_mul(3));
        for count in counts {
            assert_eq!(count.to_vec().unwrap(), vec![expected; 64], "{workers} workers");
        }
    }
}

#[test]
fn a_task_waits_for_a_team_among_its_children() {
    for loom in looms() {
        let handle = loom.clone();
        let sizes = loom.task("parent").returns(move || {
            let children: Vec<_> = (0..5).map(|_| handle.task("child").team(2).returns(|m| m.size())).collect();
            children.into_iter().map(|c| c.wait().unwrap()).sum::<usize>()
        });
        assert_eq!(sizes.wait().unwrap(), 10);
    }
}

#[test]
fn a_team_does_not_wait_for_a_worker_that_waits_for_another_team() {
    // With two workers: the parent on one of them needs both for its child, while another team needs both, too.
    let loom = Loom::builder().workers(2).build().unwrap();
    for _ in 0..30 {
        let handle = loom.clone();
        let parent =
            loom.task("parent").returns(move || handle.task("inner").team(2).returns(|m| m.size()).wait().unwrap());
        let outer: Vec<_> = (0..3).map(|_| loom.task("outer").team(2).returns(|m| m.size())).collect();
        assert_eq!(parent.wait().unwrap(), 2);
        for team in outer {
            assert_eq!(team.wait().unwrap(), 2);
        }
    }
}

#[test]
fn members_submit_children_and_wait_for_them() {
    for loom in looms() {
        let handle = loom.clone();
        let v = loom.vector("v", vec![0_u32; 2]);
        let blocks: Vec<_> = v.blocks(2).unwrap().collect();
        loom.task("family").lend(&v).team(2).run(move |member, _| {
            let block = &blocks[member.rank()];
            for _ in 0..10 {
                handle.task("child").update(block).run(|b| b[0] += 1);
            }
            handle.task("last").update(block).run(|b| b[0] *= 2).wait().unwrap();
        });
        assert_eq!(v.to_vec().unwrap(), [20, 20]);
    }
}

#[test]
fn teams_form_while_their_context_is_resized() {
    for workers in [3, 8] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        let all = loom.worker_ids();
        let context = loom.context("elastic").create().unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        let x = loom.value("x", 0_u64);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = fastrand::Rng::with_seed(workers as u64);
                while !stop.load(Ordering::Relaxed) {
                    let subset: Vec<_> = all.iter().copied().filter(|_| random.bool()).collect();
                    context.resize(subset).unwrap();
                    context.resize(all.clone()).unwrap();
                }
            });
            for _ in 0..200 {
                let task = loom.task("team").update(&x).in_context(&context).team(1..=3);
                task.run(|member, mut x| {
                    x.whole(member, |x| *x += 1);
                });
            }
            // A team can be refused when the context is empty just then.
            let refused =
                std::iter::from_fn(|| loom.wait_all().err()).inspect(|e| assert_eq!(e.kind(), ErrorKind::Team));
            let refused = refused.count();
            stop.store(true, Ordering::Relaxed);
            if refused == 0 {
                assert_eq!(x.get().unwrap(), 200);
            }
        });
    }
}

#[test]
fn a_worker_can_be_asked_whether_it_is_blocked_in_a_team() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let handle = loom.clone();
    let blocked = loom.task("asks").team(2).returns(move |member| {
        let blocked =
            handle.worker_ids().into_iter().map(|w| handle.is_blocked_in_team(w).unwrap()).collect::<Vec<_>>();
        member.barrier();
        blocked
    });
    assert_eq!(blocked.wait().unwrap(), [true, true]);
    // Having been observed, both workers complete an operation before they leave; then they are free for the next team.
    assert_eq!(loom.task("next").team(2).returns(|m| m.size()).wait().unwrap(), 2);
    let other = Loom::builder().workers(4).build().unwrap();
    let error = loom.is_blocked_in_team(other.worker(3).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Foreign);
}

#[test]
fn what_the_children_of_a_team_reduce_is_folded_before_the_team_task_is_complete() {
    for loom in looms() {
        let (handle, sum) = (loom.clone(), loom.value("sum", 1_u64));
        let lent = sum.clone();
        loom.task("team").lend(&sum).team(2).run(move |_, _| {
            for _ in 0..5 {
                handle.task("add").reduce(&lent, Sum).run(|sum| *sum += 1);
            }
        });
        assert_eq!(sum.get().unwrap(), 11);
    }
}

#[test]
fn a_team_task_is_cancelled_before_it_runs_or_runs_in_its_team() {
    for workers in [2, 3, 8] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        let x = loom.vector("x", vec![0_u64; 4]);
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    loom.cancel();
                    std::thread::yield_now();
                }
            });
            for _ in 0..2000 {
                let team = loom.task("team").write(&x).team(2).returns(|member, mut x| {
                    x.mine().fill(1);
                    member.size()
                });
                match team.wait() {
                    Ok(size) => assert_eq!(size, 2),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}"),
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        let _ = loom.wait_all();
        assert_eq!(loom.task("after").team(2).returns(|member| member.size()).wait().unwrap(), 2);
    }
}

/// A worker that waits for children helps with teams of their family, and one of those may itself have children that it
/// waits for. When that is over, the worker still waits in the first task, and belongs to no other team.
#[test]
fn a_worker_that_waits_inside_of_a_task_joins_no_team_of_another_family() {
    thread_local! {
        static WAITS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }
    let loom = Loom::builder().workers(3).build().unwrap();
    let outer = |loom: &Loom| loom.task("outer").team(2..=3).returns(|_| WAITS.get());
    for _ in 0..500 {
        let handle = loom.clone();
        let family = loom.task("parent").run(move || {
            WAITS.set(true);
            for _ in 0..3 {
                let inner = handle.clone();
                let team = handle.task("team").team(1..=2).run(move |_| {
                    inner.task("grandchild").run(std::thread::yield_now).wait().unwrap();
                });
                team.wait().unwrap();
            }
            WAITS.set(false);
        });
        let others: Vec<_> = (0..6).map(|_| outer(&loom)).collect();
        for other in others {
            assert!(!other.wait().unwrap(), "a team of another family ran inside of a task that waits");
        }
        family.wait().unwrap();
    }
}
