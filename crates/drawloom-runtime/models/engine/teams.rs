//! Tasks that several workers run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{append, check, loom};
use crate::sync::thread;

#[test]
fn teams_that_compete_for_overlapping_workers_all_come_together() {
    check(|| {
        let loom = loom(3);
        let contexts = [[0, 1], [1, 2]].map(|numbers| {
            let workers = numbers.map(|number| loom.worker(number).unwrap());
            loom.context("pair").workers(workers).create().unwrap()
        });
        let teams = contexts.iter().map(|context| {
            let together = Arc::new(AtomicUsize::new(0));
            loom.task("pair").in_context(context).team(2).returns(move |member| {
                together.fetch_add(1, Ordering::SeqCst);
                member.barrier();
                together.load(Ordering::SeqCst)
            })
        });
        let teams: Vec<_> = teams.collect();
        let wide = loom.task("all").team(2..=3).returns(|member| member.size());
        for team in teams {
            assert_eq!(team.wait().unwrap(), 2, "all members run at once");
        }
        assert!(wide.wait().unwrap() >= 2);
    });
}

#[test]
fn a_team_forms_although_a_worker_waits_for_children() {
    check(|| {
        let loom = loom(2);
        let x = loom.value("x", 0_u64);
        let (inner, lent) = (loom.clone(), x.clone());
        // The parent's worker can come to teams of its own family while it waits, and to no other.
        loom.task("parent").lend(&x).run(move |_| {
            let (deeper, same) = (inner.clone(), lent.clone());
            let team = inner.task("team of the family").team(2).run(|member| member.barrier());
            inner.task("child").lend(&lent).run(move |_| {
                deeper.task("grandchild").update(&same).run(|x| append(x, 1));
            });
            team.wait().unwrap();
        });
        let foreign = loom.task("foreign team").team(2).run(|member| member.barrier());
        foreign.wait().unwrap();
        assert_eq!(x.get().unwrap(), 1);
        loom.wait_all().unwrap();
    });
}

#[test]
fn a_team_forms_while_its_context_changes() {
    check(|| {
        let loom = loom(3);
        let pair = [0, 1].map(|number| loom.worker(number).unwrap());
        let context = loom.context("changing").workers(pair).create().unwrap();
        let team = loom.task("team").in_context(&context).team(2).run(|member| member.barrier());
        let (same, third) = (context.clone(), loom.worker(2).unwrap());
        let other = thread::spawn(move || {
            same.add_workers([third]).unwrap();
            same.remove_workers([pair[0]]).unwrap();
        });
        loom.task("task").in_context(&context).run(|| ());
        team.wait().unwrap();
        other.join().unwrap();
        loom.wait_all().unwrap();
    });
}

#[test]
fn whoever_looks_at_workers_does_not_keep_teams_from_forming() {
    check(|| {
        let loom = loom(2);
        let team = loom.task("team").team(2).run(|member| member.barrier());
        for worker in loom.worker_ids() {
            loom.is_blocked_in_team(worker).unwrap();
        }
        team.wait().unwrap();
        for worker in loom.worker_ids() {
            loom.is_blocked_in_team(worker).unwrap();
        }
        // Whoever was observed leaves its team after one more operation, and takes other tasks then.
        loom.task("task").run(|| ()).wait().unwrap();
        loom.task("team").team(2).run(|member| member.barrier()).wait().unwrap();
    });
}

#[test]
fn a_member_that_leaves_early_does_not_keep_others_waiting() {
    check(|| {
        let loom = loom(2);
        let team = loom.task("team").team(2).try_run(|member| {
            if member.rank() == 0 {
                return Err("no luck");
            }
            thread::yield_now();
            Ok(())
        });
        assert!(team.wait().is_err());
        loom.task("task").run(|| ()).wait().unwrap();
    });
}
