//! A stream as one task of a graph: the members of a team task run it on what the task reads.

use std::sync::{Arc, Mutex, PoisonError};

use drawloom_runtime::{Member, WorkerId};

use crate::error::Result;
use crate::given::Given;
use crate::report::Report;
use crate::run::{Crew, Plan};
use crate::settings::Settings;

/// A stream that the members of a team task run together, from inside of its body.
///
/// ```
/// use drawloom_runtime::{Loom, Region};
/// use drawloom_stream::{Given, Settings, Stream, sink, source};
///
/// let mut stream = Stream::new("odd").ordered();
/// let (numbers, place) = source::given::<u64>();
/// let numbers = stream.source("numbers", numbers);
/// let odd = stream.node("odd", numbers).filter(|n| n % 2 == 1);
/// let odd = stream.collect("result", odd);
/// let stream = stream.plan()?.in_team(&Settings::new());
///
/// let loom = Loom::builder().workers(2).build().unwrap();
/// let a = loom.vector("a", (0..1000).collect::<Vec<u64>>());
/// let b = loom.vector("b", vec![0_u64; 500]);
/// loom.task("odd").read(&a).write(&b).team(1..=2).try_run(move |member, a, mut b| {
///     stream.run(member, &Given::new().slice(place, a))?;
///     b.whole(member, |b| odd.move_into(b));
///     Ok::<(), drawloom_stream::Error>(())
/// });
/// assert_eq!(b.read().unwrap()[..3], [1, 3, 5]);
/// # Ok::<(), drawloom_stream::Error>(())
/// ```
pub struct TeamStream {
    plan: Plan,
    settings: Settings,
    /// What the members of each team share that runs it now, by the first worker of the team. No worker is in two teams.
    crews: Mutex<Vec<(Option<WorkerId>, Arc<Crew>)>>,
}

impl Plan {
    /// The stream as a part of team tasks. Of the settings, only parameters and whether time is measured count: who runs it is
    /// for the task to say.
    pub fn in_team(&self, settings: &Settings) -> TeamStream {
        TeamStream { plan: self.clone(), settings: settings.clone(), crews: Mutex::default() }
    }
}

impl TeamStream {
    /// Runs the stream once, with a copy for each member. All members must call this, each with the same slices; all of them get
    /// the report, or the error.
    ///
    /// # Errors
    /// When a node, source or sink failed, or a setting is of another stream.
    pub fn run(&self, member: &Member<'_>, given: &Given<'_>) -> Result<Report> {
        let team = member.workers().first().copied();
        let opened = if member.rank() == 0 { self.open(team, member.size(), given).err() } else { None };
        member.barrier();
        let crew = self.find(team);
        if let Some(crew) = &crew {
            crew.work(member, given);
        }
        // The first member forgets the crew when all have found it, and all of them are done.
        member.barrier();
        if member.rank() == 0 {
            self.lock().retain(|(other, _)| *other != team);
        }
        match (crew, opened) {
            (Some(crew), _) => crew.end(),
            (None, Some(error)) => Err(error),
            // The first member has the same settings, and says what is wrong with them.
            (None, None) => self.plan.crew(&self.settings, member.size(), given).map(|_| Report::default()),
        }
    }

    /// Asks all teams that run the stream now to stop. What sinks have taken already stays there.
    pub fn cancel(&self) {
        self.lock().iter().for_each(|(_, crew)| crew.stop());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Option<WorkerId>, Arc<Crew>)>> {
        // Nothing panics while it is locked.
        self.crews.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, team: Option<WorkerId>, size: usize, given: &Given<'_>) -> Result<()> {
        let crew = Arc::new(self.plan.crew(&self.settings, size, given)?);
        let mut crews = self.lock();
        // A team whose member panicked may have left its crew here.
        crews.retain(|(other, _)| *other != team);
        crews.push((team, crew));
        Ok(())
    }

    fn find(&self, team: Option<WorkerId>) -> Option<Arc<Crew>> {
        self.lock().iter().find(|(other, _)| *other == team).map(|(_, crew)| Arc::clone(crew))
    }
}

impl std::fmt::Debug for TeamStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TeamStream({:?})", self.plan)
    }
}
