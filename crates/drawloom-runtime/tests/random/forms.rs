//! The typed forms of tasks that random programs use.
//!
//! The types of a task's accesses are part of the program text, so a description can only use forms that are written out
//! here. Lists take any number of regions of one kind; the other accesses are declared one by one, first. Tasks that are
//! tried again, or recorded have the same forms, with one other access at most.

use drawloom_runtime::access::{Views, ViewsMut};
use drawloom_runtime::plan::{Recorded, Step};
use drawloom_runtime::task::builder::Sink;
use drawloom_runtime::{Array, Future, Indexed, Matrix, Max, Region, Sum, Task, Value, Vector};

use crate::cells::{IntoSlot, Slot};
use crate::execute::{Any, Body};
use crate::layout::Form;
use crate::program::Mode;

/// Whether a piece can be in the lists of a task.
pub(crate) fn in_lists(has_special: bool, mode: Mode, form: Form) -> bool {
    match (has_special, mode) {
        (false, _) => true,
        (true, Mode::Read) => matches!(form, Form::Line | Form::Scattered | Form::Matrix | Form::Value),
        (true, _) => matches!(form, Form::Line | Form::Scattered),
    }
}

/// Whether there is a form with these two accesses before the lists.
pub(crate) fn has_pair(first: (Mode, Form), second: (Mode, Form)) -> bool {
    let simple = |(mode, form)| match mode {
        Mode::Max => false,
        Mode::Commute | Mode::Sum => form == Form::Line || form == Form::Scattered,
        _ => form == Form::Line,
    };
    let both_lines = first.1 == Form::Line && second.1 == Form::Line;
    simple(first) && simple(second) && (both_lines || first.0 == second.0)
}

/// The regions of a task that are declared in lists: read, and updated.
#[derive(Default)]
pub(crate) struct Lists {
    pub(crate) line: [Vec<Vector<u64>>; 2],
    pub(crate) scattered: [Vec<Indexed<u64>>; 2],
    pub(crate) matrix: [Vec<Matrix<u64>>; 2],
    array: [Vec<Array<u64, 3>>; 2],
    pub(crate) value: [Vec<Value<u64>>; 2],
}

impl Lists {
    pub(crate) fn new<'a>(args: impl Iterator<Item = (&'a Any, Mode)>) -> Self {
        let mut lists = Self::default();
        for (any, mode) in args {
            let which = usize::from(mode == Mode::Update);
            match any.clone() {
                Any::Line(r) => lists.line[which].push(r),
                Any::Scattered(r) => lists.scattered[which].push(r),
                Any::Matrix(r) => lists.matrix[which].push(r),
                Any::Array(r) => lists.array[which].push(r),
                Any::Value(r) => lists.value[which].push(r),
                Any::Floats(_) => unreachable!("floats are in no list"),
            }
        }
        lists
    }
}

pub(crate) fn reads<'v, R: Region>(slots: &mut Vec<Slot<'v>>, views: Views<'v, R>)
where
    R::Ref<'v>: IntoSlot<'v>,
{
    slots.extend(views.iter().map(IntoSlot::slot));
}

fn changes<'v, R: Region>(slots: &mut Vec<Slot<'v>>, views: &'v mut ViewsMut<'_, R>)
where
    R::Mut<'v>: IntoSlot<'v>,
{
    slots.extend(views.iter_mut().map(IntoSlot::slot));
}

/// Ends the description of a task whose special accesses are declared: the lists, and how it is run.
macro_rules! with_lists {
    ($task:expr, $lists:expr, $body:expr, ($($special:ident),*)) => {
        with_lists!($task, $lists, $body, ($($special),*), (|task, body| task), try_run, (), |result| result)
    };
    ($task:expr, $lists:expr, $body:expr, ($($special:ident),*), (|$t:ident, $b:ident| $more:expr), $run:ident,
     ($($first:ident)?), |$result:ident| $end:expr) => {{
        let (lists, $b) = ($lists, $body);
        let $t = $task
            .read_all(&lists.line[0])
            .read_all(&lists.scattered[0])
            .read_all(&lists.matrix[0])
            .read_all(&lists.value[0])
            .update_all(&lists.line[1])
            .update_all(&lists.scattered[1]);
        $more.$run(move |$($first,)? $($special,)* rl, rs, rm, rv, mut ul, mut us| {
            let mut slots = vec![$($special.slot()),*];
            reads(&mut slots, rl);
            reads(&mut slots, rs);
            reads(&mut slots, rm);
            reads(&mut slots, rv);
            changes(&mut slots, &mut ul);
            changes(&mut slots, &mut us);
            let $result = $b.call(slots);
            $end
        })
    }};
}

/// Functions that submit tasks with one special access at most: how they go on before they are run, the
/// method that runs them, the first parameter of their bodies if any, and what the bodies return.
macro_rules! simple_forms {
    ($($name:ident: $task:ty => $out:ty, (|$t:ident, $b:ident| $more:expr), $run:ident, ($($first:ident)?),
       |$r:ident| $end:expr;)*) => { $(
        pub(crate) fn $name(task: $task, args: &[Any], body: Body) -> $out {
            let modes: Vec<Mode> = body.task.args.iter().map(|(_, mode)| *mode).collect();
            let specials = modes.iter().filter(|mode| mode.is_special()).count();
            let lists = Lists::new(args.iter().zip(modes.iter().copied()).skip(specials));
            macro_rules! end {
                ($described:expr, $specials:tt) => {
                    with_lists!($described, lists, body, $specials, (|$t, $b| $more), $run, ($($first)?), |$r| $end)
                };
            }
            macro_rules! each_mode {
                ($region:ident) => {
                    match modes[0] {
                        Mode::Write => end!(task.write($region), (a)),
                        Mode::Commute => end!(task.commute($region), (a)),
                        Mode::Sum => end!(task.reduce($region, Sum), (a)),
                        Mode::Max => end!(task.reduce($region, Max), (a)),
                        mode => end!(lend(task, $region, mode), (a)),
                    }
                };
            }
            match args.first().filter(|_| specials > 0) {
                None => end!(task, ()),
                Some(Any::Line(r)) => each_mode!(r),
                Some(Any::Scattered(r)) => each_mode!(r),
                Some(Any::Matrix(r)) => each_mode!(r),
                Some(Any::Array(r)) => each_mode!(r),
                Some(Any::Value(r)) => each_mode!(r),
                Some(Any::Floats(r)) if modes[0] == Mode::Write => end!(task.write(r), (a)),
                Some(Any::Floats(r)) => end!(task.reduce(r, Sum), (a)),
            }
        }
    )* };
}

simple_forms! {
    retried: Task<'_> => Future<u64>, (|task, body| task.retry(body.task.retries)), try_run, (), |result| result;
    recorded: Task<'_, (), Recorded<'_>> => Step, (|task, body| task), try_run, (), |result| result.map(drop);
    recorded_again: Task<'_, (), Recorded<'_>> => Step,
        (|task, body| task.retry(body.task.retries)), try_run, (), |result| result.map(drop);
}

/// Submits a task with accesses that are all declared one by one.
macro_rules! one_by_one {
    ($task:expr, $body:expr, $($method:ident $region:ident),*) => {{
        let body = $body;
        $task$(.$method($region))*.try_run(move |$($region),*| body.call(vec![$($region.slot()),*]))
    }};
}

/// Submits a task.
pub(crate) fn submit(task: Task<'_>, args: &[Any], body: Body) -> Future<u64> {
    let modes: Vec<Mode> = body.task.args.iter().map(|(_, mode)| *mode).collect();
    let specials = modes.iter().filter(|mode| mode.is_special()).count();
    let lists = Lists::new(args.iter().zip(modes.iter().copied()).skip(specials));
    if body.task.retries > 0 {
        return retried(task, args, body);
    }
    match (specials, body.task.direct) {
        (0, true) => submit_directly(task, args, &modes, &lists, body),
        (0, false) => submit_lists(task, &lists, body),
        (1, _) => submit_one(task, (&args[0], modes[0]), &lists, body),
        _ => submit_pair(task, [(&args[0], modes[0]), (&args[1], modes[1])], &lists, body),
    }
}

fn submit_lists(task: Task<'_>, lists: &Lists, body: Body) -> Future<u64> {
    task.read_all(&lists.line[0])
        .read_all(&lists.scattered[0])
        .read_all(&lists.matrix[0])
        .read_all(&lists.array[0])
        .read_all(&lists.value[0])
        .update_all(&lists.line[1])
        .update_all(&lists.scattered[1])
        .update_all(&lists.matrix[1])
        .update_all(&lists.array[1])
        .update_all(&lists.value[1])
        .try_run(move |rl, rs, rm, ra, rv, mut ul, mut us, mut um, mut ua, mut uv| {
            let mut slots = Vec::new();
            reads(&mut slots, rl);
            reads(&mut slots, rs);
            reads(&mut slots, rm);
            reads(&mut slots, ra);
            reads(&mut slots, rv);
            changes(&mut slots, &mut ul);
            changes(&mut slots, &mut us);
            changes(&mut slots, &mut um);
            changes(&mut slots, &mut ua);
            changes(&mut slots, &mut uv);
            body.call(slots)
        })
}

/// Forms without lists, as most programs use.
fn submit_directly(task: Task<'_>, args: &[Any], modes: &[Mode], lists: &Lists, body: Body) -> Future<u64> {
    use Any::{Line, Matrix, Scattered, Value};
    use Mode::{Read, Update};
    match (args, modes) {
        ([], []) => one_by_one!(task, body,),
        ([Line(a)], [Update]) => one_by_one!(task, body, update a),
        ([Line(a)], [Read]) => one_by_one!(task, body, read a),
        ([Line(a), Line(b)], [Read, Update]) => one_by_one!(task, body, read a, update b),
        ([Line(a), Line(b), Line(c)], [Read, Read, Update]) => one_by_one!(task, body, read a, read b, update c),
        ([Line(a), Line(b), Line(c), Line(d)], [Read, Read, Read, Update]) => {
            one_by_one!(task, body, read a, read b, read c, update d)
        }
        ([Scattered(a)], [Update]) => one_by_one!(task, body, update a),
        ([Line(a), Scattered(b)], [Read, Update]) => one_by_one!(task, body, read a, update b),
        ([Matrix(a)], [Update]) => one_by_one!(task, body, update a),
        ([Matrix(a), Matrix(b)], [Read, Update]) => one_by_one!(task, body, read a, update b),
        ([Value(a)], [Update]) => one_by_one!(task, body, update a),
        ([Line(a), Value(b)], [Read, Update]) => one_by_one!(task, body, read a, update b),
        // A scratch buffer, which must be zero each time.
        ([Line(a), Line(b)], [Read, Read]) => {
            task.read(a).scratch::<u64>(8).read(b).try_run(move |a: &[u64], scratch: &mut [u64], b: &[u64]| {
                assert_eq!(scratch, [0; 8], "a scratch buffer starts with zeros");
                scratch.fill(7);
                body.call(vec![a.slot(), b.slot()])
            })
        }
        _ => submit_lists(task, lists, body),
    }
}

/// One access that is no plain read or update.
fn submit_one(task: Task<'_>, (any, mode): (&Any, Mode), lists: &Lists, body: Body) -> Future<u64> {
    macro_rules! each_mode {
        ($r:ident) => {
            match mode {
                Mode::Write => with_lists!(task.write($r), lists, body, (a)),
                Mode::Commute => with_lists!(task.commute($r), lists, body, (a)),
                Mode::Sum => with_lists!(task.reduce($r, Sum), lists, body, (a)),
                Mode::Max => with_lists!(task.reduce($r, Max), lists, body, (a)),
                _ => with_lists!(lend(task, $r, mode), lists, body, (a)),
            }
        };
    }
    match any {
        Any::Line(r) => each_mode!(r),
        Any::Scattered(r) => each_mode!(r),
        Any::Matrix(r) => each_mode!(r),
        Any::Array(r) => each_mode!(r),
        Any::Value(r) => each_mode!(r),
        Any::Floats(r) if mode == Mode::Write => with_lists!(task.write(r), lists, body, (a)),
        Any::Floats(r) => with_lists!(task.reduce(r, Sum), lists, body, (a)),
    }
}

type Lending<R> = drawloom_runtime::access::Lend<R>;

pub(crate) fn lend<'a, R: Region, S: Sink>(
    task: Task<'a, (), S>,
    region: &'a R,
    mode: Mode,
) -> Task<'a, (Lending<R>,), S> {
    match mode {
        Mode::LendRead => task.lend_to_read(region),
        Mode::LendWrite => task.lend_to_write(region),
        _ => task.lend(region),
    }
}

/// Two accesses that are no plain reads or updates.
fn submit_pair(task: Task<'_>, [first, second]: [(&Any, Mode); 2], lists: &Lists, body: Body) -> Future<u64> {
    use Any::{Line, Scattered};
    macro_rules! second_of {
        ($task:expr) => {
            match second {
                (Line(r), Mode::Write) => with_lists!($task.write(r), lists, body, (a, b)),
                (Line(r), Mode::Commute) => with_lists!($task.commute(r), lists, body, (a, b)),
                (Line(r), Mode::Sum) => with_lists!($task.reduce(r, Sum), lists, body, (a, b)),
                (Line(r), Mode::Lend) => with_lists!($task.lend(r), lists, body, (a, b)),
                (Line(r), Mode::LendRead) => with_lists!($task.lend_to_read(r), lists, body, (a, b)),
                (Line(r), _) => with_lists!($task.lend_to_write(r), lists, body, (a, b)),
                _ => unreachable!("there is no such pair"),
            }
        };
    }
    match (first, second) {
        ((Scattered(p), Mode::Commute), (Scattered(q), _)) => {
            with_lists!(task.commute(p).commute(q), lists, body, (a, b))
        }
        ((Scattered(p), Mode::Commute), (Line(q), _)) => with_lists!(task.commute(p).commute(q), lists, body, (a, b)),
        ((Line(p), Mode::Commute), (Scattered(q), _)) => with_lists!(task.commute(p).commute(q), lists, body, (a, b)),
        ((Scattered(p), _), (Scattered(q), _)) => with_lists!(task.reduce(p, Sum).reduce(q, Sum), lists, body, (a, b)),
        ((Scattered(p), _), (Line(q), _)) => with_lists!(task.reduce(p, Sum).reduce(q, Sum), lists, body, (a, b)),
        ((Line(p), _), (Scattered(q), _)) => with_lists!(task.reduce(p, Sum).reduce(q, Sum), lists, body, (a, b)),
        ((Line(p), Mode::Write), _) => second_of!(task.write(p)),
        ((Line(p), Mode::Commute), _) => second_of!(task.commute(p)),
        ((Line(p), Mode::Sum), _) => second_of!(task.reduce(p, Sum)),
        ((Line(p), mode), _) => second_of!(lend(task, p, mode)),
        _ => unreachable!("there is no such pair"),
    }
}
