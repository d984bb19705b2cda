//! The builder's last step for tasks that are recorded.
//!
//! A recorded task has everything that a submitted one has, except for a value: it runs once in each replay, so there is no
//! one result that a future could hold. Let it write into a [`Value`](crate::Value) instead, which can be read after a run.
//!
//! ```compile_fail,E0599
//! # let loom = drawloom_runtime::Loom::serial();
//! let x = loom.value("x", 2);
//! let capture = loom.capture("double");
//! let double = capture.task("double").read(&x).returns(|x| 2 * x);
//! ```
//!
//! Instead:
//!
//! ```
//! # let loom = drawloom_runtime::Loom::serial();
//! let (x, double) = (loom.value("x", 2), loom.value("double", 0));
//! let capture = loom.capture("double");
//! capture.task("double").read(&x).write(&double).run(|x, double| *double = 2 * x);
//! capture.plan()?.run()?;
//! assert_eq!(double.get()?, 4);
//! # Ok::<(), drawloom_runtime::Error>(())
//! ```

use super::capture::{Recorded, Step};
use crate::access::{Access, Accesses};
use crate::task::arity::for_each_arity;
use crate::task::body::{BodyError, BodyResult};
use crate::task::builder::{RetryTask, Task};
use crate::team::Member;
use crate::team::share::TeamAccess;
use crate::team::task::{TeamTask, team_body};

impl<A: Accesses> Task<'_, A, Recorded<'_>> {
    fn keep<F>(self, body: F) -> Step
    where
        F: for<'v> Fn(A::Views<'v>) -> BodyResult + Send + Sync + 'static,
    {
        // SAFETY: the frame's arguments are those that were declared, in this order, and the task runs only once they are
        // granted.
        self.record(Box::new(move |frame| body(unsafe { A::views(frame) })))
    }
}

macro_rules! record {
    ($(($($a:ident $x:ident),*))*) => { $(
        impl<'a, $($a: Access),*> Task<'a, ($($a,)*), Recorded<'a>> {
            /// Records the task. Its body has one parameter for each access, in the order in which they were declared, and
            /// runs once in each replay.
            pub fn run<F>(self, body: F) -> Step
            where
                F: for<'v> Fn($($a::View<'v>),*) + Send + Sync + 'static,
            {
                self.keep(move |($($x,)*)| {
                    body($($x),*);
                    Ok(())
                })
            }

            /// Records the task. An error makes it fail in that replay.
            pub fn try_run<F, E>(self, body: F) -> Step
            where
                F: for<'v> Fn($($a::View<'v>),*) -> Result<(), E> + Send + Sync + 'static,
                E: Into<BodyError>,
            {
                self.keep(move |($($x,)*)| body($($x),*).map_err(Into::into))
            }
        }

        impl<'a, $($a: Access),*> RetryTask<'a, ($($a,)*), Recorded<'a>> {
            /// Records the task. A panic of its body makes it run again, in the same replay.
            pub fn run<F>(self, body: F) -> Step
            where
                F: for<'v> Fn($($a::View<'v>),*) + Send + Sync + 'static,
            {
                self.0.run(body)
            }

            /// Records the task. An error of its body makes it run again, in the same replay.
            pub fn try_run<F, E>(self, body: F) -> Step
            where
                F: for<'v> Fn($($a::View<'v>),*) -> Result<(), E> + Send + Sync + 'static,
                E: Into<BodyError>,
            {
                self.0.try_run(body)
            }
        }

        #[allow(clippy::type_complexity)]
        impl<'a, $($a: TeamAccess),*> TeamTask<'a, ($($a,)*), Recorded<'a>> {
            /// Records the task. Every member of the team runs the body, with what it knows about the team and one
            /// parameter for each access. In each replay a team is formed anew.
            pub fn run<F>(self, body: F) -> Step
            where
                F: for<'v> Fn(&Member<'v>, $($a::TeamView<'v>),*) + Send + Sync + 'static,
            {
                self.try_run(move |member, $($x),*| {
                    body(member, $($x),*);
                    Ok::<(), BodyError>(())
                })
            }

            /// Records the task. An error on any member makes it fail in that replay.
            pub fn try_run<F, E>(self, body: F) -> Step
            where
                F: for<'v> Fn(&Member<'v>, $($a::TeamView<'v>),*) -> Result<(), E> + Send + Sync + 'static,
                E: Into<BodyError>,
            {
                let body = team_body::<($($a,)*), _>(move |member, ($($x,)*)| body(member, $($x),*).map_err(Into::into));
                self.0.record(Box::new(body))
            }
        }
    )* };
}

for_each_arity!(record);
