//! The builder's last step for team tasks.

use super::member::Member;
use super::share::TeamAccess;
use crate::access::Frame;
use crate::sync::Arc;
use crate::task::arity::for_each_arity;
use crate::task::body::{self, BodyError, BodyResult};
use crate::task::builder::{Sink, Submit, Task};
use crate::task::future::Future;

/// A task that needs several workers at once: its body is run by all of them.
///
/// ```
/// use drawloom_runtime::{Loom, Region};
///
/// let loom = Loom::builder().workers(2).build()?;
/// let v = loom.vector("v", vec![1_u64; 1000]);
/// let sum = loom.value("sum", 0_u64);
/// loom.task("double and sum").update(&v).write(&sum).team(1..=2).run(|member, mut v, mut sum| {
///     v.mine().iter_mut().for_each(|x| *x *= 2);
///     let total: u64 = v.read_whole(member, |v| v.iter().sum());
///     sum.whole(member, |sum| *sum = total);
/// });
/// assert_eq!(sum.get()?, 2000);
/// # Ok::<(), drawloom_runtime::Error>(())
/// ```
#[must_use = "a task is submitted by `run`, `returns` or `try_run`"]
pub struct TeamTask<'a, A, S = Submit>(pub(crate) Task<'a, A, S>);

impl<'a, A, S: Sink> TeamTask<'a, A, S> {
    /// As [`Task::retry`]: when the body fails on any member, what the team had overwritten is restored, and another team runs
    /// it again, up to this many times.
    pub fn retry(self, times: u32) -> Self {
        Self(self.0.retry(times).0)
    }
}

/// What each member of a team runs.
pub(crate) fn team_body<A: TeamAccesses, F>(body: F) -> impl Fn(&mut Frame<'_>) -> BodyResult + Send + Sync + 'static
where
    F: for<'v> Fn(&Member<'v>, A::Views<'v>) -> BodyResult + Send + Sync + 'static,
{
    move |frame: &mut Frame<'_>| {
        let member = frame.member();
        // SAFETY: the frame's arguments are those that were declared, in this order, and the task runs only once they are
        // granted.
        let views = unsafe { A::views(frame, &member) };
        body(&member, views)
    }
}

impl<A: TeamAccesses> TeamTask<'_, A> {
    fn submit<F, T>(self, body: F) -> Future<T>
    where
        F: for<'v> Fn(&Member<'v>, A::Views<'v>) -> Result<T, BodyError> + Send + Sync + 'static,
        T: Send + 'static,
    {
        let core = Arc::clone(self.0.core());
        let (future, result) = Future::new(Arc::clone(&core));
        let body = team_body::<A, _>(move |member, views| {
            let value = body(member, views)?;
            // A value counts only when no member failed.
            if member.all_succeeded() && member.rank() == 0 {
                result.set(value);
            }
            Ok(())
        });
        let id = core.submit_team(self.0.into_parts().0, body::again(body));
        future.of_task(id)
    }
}

/// The accesses of a team task, in the order in which they were declared.
pub trait TeamAccesses: 'static {
    /// What the body of a member receives.
    type Views<'v>;

    /// Makes the views of all arguments of a frame.
    ///
    /// # Safety
    /// The frame's arguments are those that were declared with these accesses, and the task has been granted them.
    #[doc(hidden)]
    unsafe fn views<'v>(frame: &mut Frame<'v>, member: &Member<'v>) -> Self::Views<'v>;
}

macro_rules! submit {
    ($(($($a:ident $x:ident),*))*) => { $(
        impl<$($a: TeamAccess),*> TeamAccesses for ($($a,)*) {
            type Views<'v> = ($($a::TeamView<'v>,)*);
            #[allow(clippy::unused_unit, reason = "the list may be empty")]
            unsafe fn views<'v>(_frame: &mut Frame<'v>, _member: &Member<'v>) -> Self::Views<'v> {
                // SAFETY: promised by the caller.
                ($(unsafe { $a::team_view(_frame, _member) },)*)
            }
        }

        #[allow(clippy::type_complexity)]
        impl<'a, $($a: TeamAccess),*> TeamTask<'a, ($($a,)*)> {
            /// Submits the task. Every member of the team runs the body, with what it knows about the team and one
            /// parameter for each access.
            pub fn run<F>(self, body: F) -> Future<()>
            where
                F: for<'v> Fn(&Member<'v>, $($a::TeamView<'v>),*) + Send + Sync + 'static,
            {
                self.returns(body)
            }

            /// Submits the task. The value of the future is what the body returns on the first member.
            pub fn returns<F, T>(self, body: F) -> Future<T>
            where
                F: for<'v> Fn(&Member<'v>, $($a::TeamView<'v>),*) -> T + Send + Sync + 'static,
                T: Send + 'static,
            {
                self.submit(move |member, ($($x,)*)| Ok(body(member, $($x),*)))
            }

            /// Submits the task. The value of the future is what the body returns on the first member. An error on any
            /// member makes the task fail.
            pub fn try_run<F, T, E>(self, body: F) -> Future<T>
            where
                F: for<'v> Fn(&Member<'v>, $($a::TeamView<'v>),*) -> Result<T, E> + Send + Sync + 'static,
                T: Send + 'static,
                E: Into<BodyError>,
            {
                self.submit(move |member, ($($x,)*)| body(member, $($x),*).map_err(Into::into))
            }
        }
    )* };
}

for_each_arity!(submit);
