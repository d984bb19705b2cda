//! Tasks that several workers run at once, with the same meaning as if one had.
//!
//! All members compute the same from what the task reads, and each changes its own share of what it writes; where there are
//! no shares, the first member changes the whole. The first member alone submits children and notes what the task found.

use drawloom_runtime::plan::{Recorded, Step};
use drawloom_runtime::{Array, Future, Indexed, Matrix, Member, Region, Task, TeamMut, Value, Vector};

use crate::cells::{CellsMut, IntoSlot, Slot};
use crate::execute::{Any, Body, change_element};
use crate::forms::{self, Lists, reads};
use crate::program::{Fate, Mode, TeamOf, mix};

/// An argument as a member of a team has it.
enum TeamSlot<'v> {
    Read(Slot<'v>),
    Change(Box<dyn TeamCells + 'v>),
    Lent,
}

/// Elements that a team changes.
trait TeamCells {
    /// Shows the whole to every member.
    fn see(&mut self, member: &Member<'_>, see: &mut dyn FnMut(u64));

    /// Changes the member's part, each element with its number in the whole.
    fn change(&mut self, member: &Member<'_>, change: &mut dyn FnMut(usize, &mut u64));
}

macro_rules! as_a_whole {
    ($($region:ty)*) => { $(
        impl TeamCells for TeamMut<'_, $region> {
            fn see(&mut self, member: &Member<'_>, see: &mut dyn FnMut(u64)) {
                see_whole(self, member, see);
            }

            fn change(&mut self, member: &Member<'_>, change: &mut dyn FnMut(usize, &mut u64)) {
                self.whole(member, |mut view| view.each(change));
            }
        }
    )* };
}
as_a_whole! { Indexed<u64> Value<u64> Array<u64, 3> }

impl TeamCells for TeamMut<'_, Vector<u64>> {
    fn see(&mut self, member: &Member<'_>, see: &mut dyn FnMut(u64)) {
        see_whole(self, member, see);
    }

    fn change(&mut self, member: &Member<'_>, change: &mut dyn FnMut(usize, &mut u64)) {
        let first = member.share(self.len()).start;
        self.mine().each(&mut |k, x| change(first + k, x));
    }
}

impl TeamCells for TeamMut<'_, Matrix<u64>> {
    fn see(&mut self, member: &Member<'_>, see: &mut dyn FnMut(u64)) {
        see_whole(self, member, see);
    }

    fn change(&mut self, member: &Member<'_>, change: &mut dyn FnMut(usize, &mut u64)) {
        let len = self.len();
        let mut mine = self.mine();
        // A matrix without rows has columns all the same, and nothing to change.
        let columns = len.checked_div(mine.rows()).unwrap_or(0);
        let first = member.share(columns).start * mine.rows();
        mine.each(&mut |k, x| change(first + k, x));
    }
}

fn see_whole<R: Region>(cells: &mut TeamMut<'_, R>, member: &Member<'_>, see: &mut dyn FnMut(u64))
where
    for<'v> R::Ref<'v>: IntoSlot<'v>,
{
    cells.read_whole(member, |view| {
        if let Slot::Read(cells) = view.slot() {
            cells.each(see);
        }
    });
}

/// Submits a team task.
pub(crate) fn submit(task: Task<'_>, args: &[Any], team: TeamOf, body: Body) -> Future<u64> {
    submit_for_all(task, args, team, body)
}

/// Records a team task.
pub(crate) fn record(task: Task<'_, (), Recorded<'_>>, args: &[Any], team: TeamOf, body: Body) -> Step {
    record_for_all(task, args, team, body)
}

/// Declares what is read, and ends the description; before that and after it there may be one argument more.
macro_rules! end {
    ($task:expr, $lists:ident, $bounds:ident, $body:ident, |$r:ident| $end:expr,
     ($($a:ident as $slot:expr)?), ($($method:ident $region:ident)?)) => {
        $task
            .read_all(&$lists.line[0])
            .read_all(&$lists.scattered[0])
            .read_all(&$lists.matrix[0])
            .read_all(&$lists.value[0])
            $(.$method($region))?
            .team($bounds)
            .try_run(move |member, $($a,)? rl, rs, rm, rv $(, $region)?| {
                let mut read = Vec::new();
                reads(&mut read, rl);
                reads(&mut read, rs);
                reads(&mut read, rm);
                reads(&mut read, rv);
                let mut slots: Vec<TeamSlot<'_>> = Vec::new();
                $(slots.push($slot);)?
                slots.extend(read.into_iter().map(TeamSlot::Read));
                $(slots.push(TeamSlot::Change(Box::new($region)));)?
                let $r = call(&$body, member, slots);
                $end
            })
    };
}

macro_rules! of_any {
    ($any:expr, $r:ident => $end:expr) => {
        match $any {
            Any::Line($r) => $end,
            Any::Scattered($r) => $end,
            Any::Matrix($r) => $end,
            Any::Array($r) => $end,
            Any::Value($r) => $end,
            Any::Floats(_) => unreachable!("teams leave floats alone"),
        }
    };
}

/// Functions for teams whose members all run the body, and what that returns.
macro_rules! for_all {
    ($($name:ident: $task:ty => $out:ty, |$r:ident| $end:expr;)*) => { $(
        fn $name(task: $task, args: &[Any], team: TeamOf, body: Body) -> $out {
            let modes: Vec<Mode> = body.task.args.iter().map(|(_, mode)| *mode).collect();
            let first = modes.first().is_some_and(|mode| mode.is_special());
            let last = modes.last() == Some(&Mode::Update);
            let listed = args.iter().zip(modes.iter().copied()).skip(usize::from(first));
            let lists = Lists::new(listed.filter(|(_, mode)| *mode == Mode::Read));
            let bounds = team.least..=team.most;
            macro_rules! finish {
                ($described:expr, $before:tt, $after:tt) => {
                    end!($described, lists, bounds, body, |$r| $end, $before, $after)
                };
            }
            match (first, last) {
                (false, false) => finish!(task, (), ()),
                (false, true) => of_any!(&args[args.len() - 1], r => finish!(task, (), (update r))),
                (true, false) => match modes[0] {
                    Mode::Write => {
                        of_any!(&args[0], r => finish!(task.write(r), (a as TeamSlot::Change(Box::new(a))), ()))
                    }
                    Mode::Commute => {
                        of_any!(&args[0], r => finish!(task.commute(r), (a as TeamSlot::Change(Box::new(a))), ()))
                    }
                    mode => of_any!(&args[0], r => finish!(forms::lend(task, r, mode), (_a as TeamSlot::Lent), ())),
                },
                (true, true) => unreachable!("a team changes one argument at most"),
            }
        }
    )* };
}

for_all! {
    submit_for_all: Task<'_> => Future<u64>, |result| result;
    record_for_all: Task<'_, (), Recorded<'_>> => Step, |result| result.map(drop);
}

/// What every member does.
fn call(body: &Body, member: &Member<'_>, mut slots: Vec<TeamSlot<'_>>) -> Result<u64, String> {
    let task = &body.task;
    assert_eq!(slots.len(), task.args.len(), "t{} has other arguments", task.id);
    body.run.began.lock().unwrap().insert(task.id);
    // One member fails, before it comes to where all others wait for it, or after.
    let fails = task.fate != Fate::Returns && member.rank() == task.id % member.size();
    if fails && task.id.is_multiple_of(2) {
        return body.fail();
    }
    let mut h = task.id as u64;
    for ((_, mode), slot) in task.args.iter().zip(&mut slots) {
        match slot {
            TeamSlot::Read(Slot::Read(cells)) => cells.each(&mut |x| h = mix(h, x)),
            TeamSlot::Change(cells) if *mode == Mode::Update => cells.see(member, &mut |x| h = mix(h, x)),
            _ => {}
        }
    }
    for (arg, ((_, mode), slot)) in task.args.iter().zip(&mut slots).enumerate() {
        if let TeamSlot::Change(cells) = slot {
            cells.change(member, &mut |k, x| change_element(task.id, arg, *mode, h, k, x));
        }
    }
    drop(slots);
    if member.rank() == 0 {
        body.submit_children(&mut h);
    }
    if fails {
        return body.fail();
    }
    if member.rank() == 0 && task.fate == Fate::Returns {
        body.run.note(task.id, h, body.repeats);
    }
    Ok(h)
}
