//! Running tasks that several workers share.

use std::panic::{AssertUnwindSafe, catch_unwind};

use drawloom_trace::{EventKind, IdleReason, Phase};

use super::{Core, Local, RUNNING, Running, Saved, Serial};
use crate::access::{Arg, Frame};
use crate::error::{Error, ErrorKind};
use crate::panic;
use crate::policy::WorkerId;
use crate::stall::blocked::Probe;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::task::body::Body;
use crate::task::extras::{Extras, arguments};
use crate::task::record::{Description, Record, TaskId, flag};
use crate::task::spec::Spec;
use crate::team::formation::Call;
use crate::team::member::{Member, Part, TeamBroke};
use crate::team::run::TeamRun;
use crate::team::{Bounds, CalledBy};

/// How many threads the serial engine starts for a team.
const MOST_THREADS: u32 = 1024;

impl Core {
    /// Submits a team task, unless no team of its size can be formed.
    pub(crate) fn submit_team(&self, mut spec: Spec, body: Body) -> TaskId {
        self.refuse_team(&mut spec);
        self.submit(spec, body)
    }

    /// Refuses a team task when no team of its size can be formed.
    pub(super) fn refuse_team(&self, spec: &mut Spec) {
        let Some(bounds) = spec.extras.as_ref().and_then(|extras| extras.team) else { return };
        let context = self.context(self.home(spec.context));
        if bounds.least == 0 || bounds.least > bounds.most {
            let message = format!("cannot have a team of {} to {} workers", bounds.least, bounds.most);
            spec.refuse(ErrorKind::Team, message);
        } else if self.serial.is_some() {
            if bounds.least > MOST_THREADS {
                let message = format!(
                    "needs a team of at least {} workers, and the serial engine starts at most {MOST_THREADS} threads",
                    bounds.least
                );
                spec.refuse(ErrorKind::Team, message);
            }
        } else {
            let workers = context.members().workers.len();
            if bounds.least as usize > workers {
                let message = format!(
                    "needs a team of at least {} workers, and context `{}` has {workers}",
                    bounds.least, context.name
                );
                spec.refuse(ErrorKind::Team, message);
            }
        }
    }

    /// A team task was taken from a queue: calls for its members, or runs it right here where there are no workers.
    #[cold]
    pub(super) fn call_team(&self, local: &mut Local, id: TaskId, record: &Record) {
        let (args, extras) = self.parts(record);
        let bounds = extras.and_then(|e| e.team).unwrap_or(Bounds::from(1));
        if let Some(error) = self.reason_to_cancel(id, record, args) {
            // Nothing will run, so nobody is needed for it.
            self.give_up(local, id, record, args, error);
            self.end(local, id.index(), record);
        } else if let Some(serial) = &self.serial {
            self.run_team_here(local, id, bounds, serial);
        } else {
            let context = record.context();
            let ancestors = self.ancestors(record);
            self.teams.open(self, Call::new(self, id, context, bounds, ancestors));
        }
    }

    /// Team tasks of a context that wait for workers, and must not run any more, are completed as cancelled.
    pub(crate) fn cancel_calls(&self, which: impl Fn(u32) -> bool) {
        let mut local = Local::new(None);
        // Calls that were made since the tasks were cancelled are those of other tasks, and need their teams.
        for id in self.teams.withdraw(self, |call| which(call.context) && self.is_cancelled(call.task)) {
            // One that was marked by mistake calls again.
            self.call_team(&mut local, id, self.slab.get(id.index()));
        }
        self.hand_out(&mut local);
    }

    /// The tasks in which a task was submitted, from the nearest outwards.
    fn ancestors(&self, record: &Record) -> Vec<TaskId> {
        let mut ancestors = Vec::new();
        let mut record = record;
        loop {
            // The task has not run, and its ancestors are complete only after it; so what was written before they were
            // submitted stays as it is.
            let scope = record.title.scope();
            // SAFETY: a scope lives until its parent is complete.
            let Some(scope) = (unsafe { scope.as_ref() }) else { return ancestors };
            ancestors.push(scope.parent);
            record = self.slab.get(scope.parent.index());
        }
    }

    /// A worker that is asked into teams joins, and works for them until nobody asks any more.
    #[cold]
    pub(crate) fn take_part(&self, local: &mut Local, worker: WorkerId) {
        let state = &self.workers.seat(worker).state;
        // Not when the request was taken back, a change was announced, or someone looked: the next operation decides.
        if !state.join() {
            return;
        }
        while let Some(team) = self.volunteer(worker) {
            for phase in [Phase::Input, Phase::Transfers, Phase::Execute] {
                self.tracer.phase(worker, phase);
            }
            self.run_member(local, &team);
            self.teams.end_part(self, worker);
            self.hand_out(local);
        }
        while !state.release() {
            // Someone looked since the last operation, or a change is announced. A whole operation, which takes no task,
            // makes up for the one and waits for the other.
            state.enter();
            state.leave();
        }
    }

    /// A worker waits until a team has claimed it, or nobody asks for it any more.
    fn volunteer(&self, worker: WorkerId) -> Option<Arc<TeamRun>> {
        self.tracer.idle(Some(worker), IdleReason::WaitingForTeam);
        let team = self.teams.volunteer(self, worker);
        self.tracer.busy(Some(worker));
        team
    }

    /// Runs a team task on threads of its own: the serial engine.
    fn run_team_here(&self, local: &mut Local, id: TaskId, bounds: Bounds, serial: &Serial) {
        // Not one inside of the other: there may be many attempts.
        while self.run_attempt_here(local, id, bounds, serial) {}
    }

    /// Runs a team task once on threads of its own. True when it is to be tried again.
    fn run_attempt_here(&self, local: &mut Local, id: TaskId, bounds: Bounds, serial: &Serial) -> bool {
        let size = bounds.least;
        let team = TeamRun::new(id, Vec::new(), size);
        #[cfg(not(loom))]
        std::thread::scope(|scope| {
            let team = &team;
            let mut threads = Vec::new();
            for _ in 1..size {
                let member = move || {
                    let mut local = Local::new(None);
                    self.run_member(&mut local, team);
                    serial.end();
                    local.ready
                };
                serial.begin();
                match std::thread::Builder::new().spawn_scoped(scope, member) {
                    Ok(thread) => threads.push(thread),
                    Err(e) => {
                        serial.end();
                        let message = format!("cannot start a thread for a team: {e}");
                        team.call_off(Error::of_task(
                            ErrorKind::System,
                            self.origin(self.slab.get(id.index())),
                            message,
                        ));
                        // Those who do not exist are done.
                        if team.finish() {
                            self.complete_team(local, team);
                        }
                    }
                }
            }
            self.run_member(local, team);
            // From here on the thread only waits for the others, one of which may wait for ever otherwise.
            serial.end();
            for thread in threads {
                // The last one to end completes the task, and may have made others ready.
                local.ready.extend(thread.join().unwrap_or_default());
            }
            serial.begin();
        });
        #[cfg(loom)]
        {
            let _ = serial;
            self.run_member(local, &team);
        }
        team.is_tried_again()
    }

    /// Runs one member's part of a team task. The last one completes the task.
    pub(crate) fn run_member(&self, local: &mut Local, team: &TeamRun) {
        let record = self.slab.get(team.task.index());
        let (rank, run) = team.arrive(|| self.prepare_team(local, team, record));
        if run {
            self.tracer.of_task(EventKind::Start, team.task, local.worker);
            let kind =
                if self.run_body_as_member(local, team, rank, record) { EventKind::End } else { EventKind::Failed };
            self.tracer.of_task(kind, team.task, local.worker);
        }
        if team.finish() {
            self.complete_team(local, team);
        }
    }

    /// A member of a team waits for the others: until they come, its worker can join no other team. `is_over` tells whoever asks
    /// whether it would go on if it looked now.
    pub(crate) fn meet<T>(&self, worker: Option<WorkerId>, is_over: &Probe<'_>, wait: impl FnOnce() -> T) -> T {
        let _note = self.stalls.enter(Some(self.inside_task(worker, Some(CalledBy::Members))), is_over);
        self.set_meets(worker, true);
        let met = wait();
        self.set_meets(worker, false);
        met
    }

    /// The body of a member sleeps. From the first time on nobody counts on its worker for teams, until its part is over, or it
    /// waits for children: it may look every moment whether it is called, and each time others would be asked in vain.
    pub(crate) fn sleep_as_member<T>(
        &self,
        worker: Option<WorkerId>,
        by: CalledBy,
        is_over: &Probe<'_>,
        sleep: impl FnOnce() -> T,
    ) -> T {
        self.flush_inside();
        if worker.is_some_and(|worker| !self.workers.seat(worker).meets()) {
            self.set_meets(worker, true);
        }
        let _note = self.stalls.enter(Some(self.inside_task(worker, Some(by))), is_over);
        let _asleep = Asleep::begin(self);
        sleep()
    }

    fn set_meets(&self, worker: Option<WorkerId>, meets: bool) {
        let Some(worker) = worker else { return };
        self.workers.seat(worker).set_meets(meets);
        self.teams.reconsider(self);
    }

    /// Gives back what the calling thread has freed, from inside of a body that is about to sleep: it would look like tasks that
    /// are being submitted, and others may need it.
    pub(crate) fn flush_inside(&self) {
        if let Some(running) = self.running() {
            // SAFETY: the pointer is that of the thread's own state. Whoever set it is inside of the body, and not using it.
            self.flush(unsafe { &mut *running.local });
        }
    }

    /// The first member looks whether the task may run, and makes the scope that children of any member will share.
    fn prepare_team(&self, local: &mut Local, team: &TeamRun, record: &Record) -> Result<(), Error> {
        let (args, _) = self.parts(record);
        if let Some(error) = self.reason_to_cancel(team.task, record, args) {
            return Err(error);
        }
        self.tracer.team_formed(team.task, team.size, local.worker);
        self.make_proper_here(args)?;
        // What is overwritten counts as proper from here on: the body's children may spoil it again.
        for arg in args.iter().filter(|a| a.mode().replaces()) {
            arg.piece().tree().heal(&arg.piece().indices);
        }
        let running = Running { core: self, id: team.task, record, local, node: None, outer: RUNNING.get() };
        self.scope_inside(&running);
        // As above: until all members are there, this one alone has the task.
        if let (args, Some(extras)) = self.parts(record)
            && extras.retries > 0
            && extras.saved.is_none()
        {
            extras.saved = Some(Saved::save(args));
        }
        // Making the scope adds no child.
        record.open.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }

    /// Runs the body as one of the members. False when it failed.
    fn run_body_as_member(&self, local: &mut Local, team: &TeamRun, rank: u32, record: &Record) -> bool {
        let (args, extras) = self.shared_parts(record);
        let (parameters, layouts): (&[_], &[_]) = extras.map_or((&[], &[]), |e| (&e.parameters, &e.scratch));
        let mut scratch = local.take_scratch();
        let worker = local.worker;
        let running = Running { core: self, id: team.task, record, local, node: None, outer: RUNNING.get() };
        let before = RUNNING.replace((&raw const running).cast());
        // Team tasks reduce nothing: no access that reduces is one of a team.
        let mut frame = Frame::new(args, parameters, &[], &mut scratch, layouts);
        frame.team = Some(Part { core: self, run: team, rank, worker });
        let description: *mut Description = record.description.get().cast();
        // SAFETY: the description was written before the task could be ready, and the table is not changed. Only the
        // address of the payload is taken.
        let (call, payload) = unsafe { ((*description).table.call, &raw mut (*description).payload) };
        // SAFETY: the payload belongs to the table. The body of a team task can run again, and is `Sync`.
        let result = catch_unwind(AssertUnwindSafe(|| unsafe { call(payload, &mut frame) }));
        RUNNING.set(before);
        local.give_scratch(scratch);
        let error = match result {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => self.error_of(record, error),
            Err(panic) if panic.is::<TeamBroke>() => {
                let message = format!("member {rank} waited for others that ended without coming");
                // Whatever ended the others is the better reason.
                team.fail(u32::MAX - team.size + rank, Error::of_task(ErrorKind::Team, self.origin(record), message));
                return false;
            }
            Err(panic) => Error::of_task(ErrorKind::Panicked, self.origin(record), panic::message(panic)),
        };
        team.fail(rank, error);
        false
    }

    fn complete_team(&self, local: &mut Local, team: &TeamRun) {
        let record = self.slab.get(team.task.index());
        let running = Running { core: self, id: team.task, record, local, node: None, outer: RUNNING.get() };
        let before = RUNNING.replace((&raw const running).cast());
        self.settle_children(&running);
        RUNNING.set(before);
        let failure = team.failure();
        if failure.is_some() && !team.is_called_off() && self.may_try_again(local, team, record) {
            if self.is_serial() {
                team.try_again();
            } else {
                self.call_team(local, team.task, record);
            }
            return;
        }
        let (args, _) = self.parts(record);
        // A body that ran once is gone; one that can run again, or did not run, is dropped here.
        // SAFETY: all members are done, so this thread alone has the task.
        let again = unsafe { (*record.description.get()).assume_init_ref() }.table.again;
        if again || team.is_called_off() {
            self.drop_body(record);
        }
        if team.is_called_off() {
            self.tracer.of_task(EventKind::Cancelled, team.task, local.worker);
        }
        if let Some(error) = failure {
            self.fail(team.task, record, args, error);
        }
        self.end(local, team.task.index(), record);
    }

    /// Whether a task whose team has failed is tried again. What it had overwritten is restored in any case; see `retry`.
    fn may_try_again(&self, local: &mut Local, team: &TeamRun, record: &Record) -> bool {
        // All members are done, so this thread alone has the task.
        let (_, Some(extras)) = self.parts(record) else { return false };
        let Some(saved) = extras.saved.take() else { return false };
        let may_retry = extras.retries > 0 && record.flags.load(Ordering::Relaxed) & flag::CANCELLED == 0;
        let retries = may_retry && self.end_attempt(local, team.task, record).is_ok();
        let (args, extras) = self.parts(record);
        saved.restore(args);
        if let (true, Some(extras)) = (retries, extras) {
            extras.retries -= 1;
            extras.saved = Some(saved);
        }
        retries
    }

    /// The arguments and rare parts of a task that several threads run.
    fn shared_parts<'r>(&self, record: &'r Record) -> (&'r [Arg], Option<&'r Extras>) {
        // SAFETY: while a team runs, nobody changes the description except for `inside`, which was made before; see
        // `scope_inside`.
        let description = unsafe { (*record.description.get()).assume_init_ref() };
        // SAFETY: written before the task could be ready.
        let count = unsafe { *record.arg_count.get() } as usize;
        let extras = description.extras.as_deref();
        (arguments(&description.args, extras, count), extras)
    }
}

/// A body sleeps, and must not wait for tasks: for as long as this lives, also when it panics.
struct Asleep<'a>(&'a Core);

impl<'a> Asleep<'a> {
    fn begin(core: &'a Core) -> Self {
        Self::set(core, true);
        Self(core)
    }

    fn set(core: &Core, asleep: bool) {
        if let Some(running) = core.running() {
            // SAFETY: as in `flush_inside`.
            unsafe { (*running.local).asleep = asleep };
        }
    }
}

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        Self::set(self.0, false);
    }
}

impl<'v> Frame<'v> {
    /// What the body of a team task knows about its team.
    pub(crate) fn member(&self) -> Member<'v> {
        Member::new(self.team.expect("team bodies run in frames of teams"))
    }
}

#[cfg(test)]
mod tests {
    use crate::error::{Error, ErrorKind};
    use crate::sync::atomic::Ordering;
    use crate::task::future::Pending;
    use crate::task::record::flag;
    use crate::{Loom, Region};

    #[test]
    fn a_team_task_that_was_marked_by_mistake_runs_in_a_team() {
        let loom = Loom::builder().workers(2).build().unwrap();
        let core = loom.core();
        let x = loom.value("x", 0_u64);
        let guard = x.write().unwrap();
        let pair = loom.task("pair").read(&x).team(2).run(|member, _| assert_eq!(member.size(), 2));
        let id = pair.id();
        core.failures.cancel(Some(7), Error::new(ErrorKind::Cancelled, "another context"), |spared| {
            core.slab.get(id.index()).flags.fetch_or(flag::CANCELLED, Ordering::AcqRel);
            spared.insert(id);
        });
        drop(guard);
        pair.wait().unwrap();
    }
}
