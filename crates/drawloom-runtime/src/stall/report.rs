//! What waits, and for what, in words.

use rustc_hash::FxHashMap;

use super::picture::{Entry, Picture};
use super::{Guard, On, State};
use crate::core::{Core, Service};
use crate::error::{Error, ErrorKind, TaskOrigin};
use crate::sync::thread;
use crate::task::record::Kind;

/// How many waiting tasks a report names.
const NAMED: usize = 8;
/// How many points that stand for several tasks are followed at most.
const DEPTH: usize = 64;

struct Report<'a> {
    core: &'a Core,
    picture: &'a Picture,
    state: &'a State,
    /// The places in the picture of records, by number.
    places: FxHashMap<u32, usize>,
}

/// The error of a wait that can never end, or has gone on for too long; `outlook` says which.
pub(super) fn error(core: &Core, picture: &Picture, state: &State, on: On, outlook: &str) -> Error {
    let places = picture.entries.iter().enumerate().map(|(place, e)| (e.id.index(), place)).collect();
    let report = Report { core, picture, state, places };
    let waiting: Vec<&Entry> = picture.entries.iter().filter(|e| report.waits(e)).collect();
    let mut lines: Vec<String> = Vec::new();
    let mut left = 0;
    for entry in &waiting {
        match report.line(entry) {
            Some(line) if lines.len() < NAMED => lines.push(line),
            _ => left += 1,
        }
    }
    if left > 0 {
        lines.push(format!("{left} more wait"));
    }
    let (task, wait) = report.wait(on);
    let mut message = format!("{wait}{outlook}");
    if !lines.is_empty() {
        message = format!("{message}: {}", lines.join("; "));
    }
    match task {
        Some(origin) => Error::of_task(ErrorKind::Stalled, origin, message),
        None => Error::new(ErrorKind::Stalled, message),
    }
}

impl Report<'_> {
    /// Whether an entry is something of the user's that waits.
    fn waits(&self, entry: &Entry) -> bool {
        match entry.kind {
            Kind::Task => {
                // A run of a plan that has begun waits when nobody comes for its nodes.
                let unserved =
                    || entry.run && self.core.service(entry.context, &self.picture.waiting) != Service::Workers;
                let waits = entry.pending > 0 || !entry.claimed || self.core.teams.is_waiting(entry.id);
                waits || unserved() || self.picture.is_kept(self.core, entry)
            }
            Kind::Held => entry.pending > 0,
            _ => false,
        }
    }

    /// What the thread that found out waits for, and the task in which it does.
    fn wait(&self, on: On) -> (Option<TaskOrigin>, String) {
        let task = self.core.running_origin();
        let subject = if task.is_some() { "waits" } else { "this thread waits" };
        let what = match on {
            On::Task(id) => self.core.peek_origin(id).map_or("a task".to_owned(), |o| o.to_string()),
            On::Turn(id) => self.guard(id.index()).map_or("a guard".to_owned(), |g| self.guard_words(g, false)),
            On::Room => "room for one more task in flight".to_owned(),
            On::Everything => "all tasks".to_owned(),
        };
        (task, format!("{subject} for {what}"))
    }

    /// What one task waits for.
    fn line(&self, entry: &Entry) -> Option<String> {
        let who = match self.guard(entry.id.index()) {
            Some(guard) if entry.kind == Kind::Held => self.guard_words(guard, false),
            _ => self.core.peek_origin(entry.id)?.to_string(),
        };
        if self.picture.is_kept(self.core, entry) {
            let name = self.core.context_name(self.core.home(entry.context));
            return Some(format!("{who} is ready, but the policy of context `{name}` does not hand it out"));
        }
        let what = if entry.pending > 0 {
            self.cause(entry.id.index(), 0)?
        } else if let Some(team) = self.core.teams.what_waits(self.core, entry.id) {
            team
        } else if self.picture.commuting.contains(&entry.id) {
            "data that a task which commutes with it has".to_owned()
        } else {
            let name = self.core.context_name(entry.context);
            match self.core.service(entry.context, &self.picture.waiting) {
                Service::Waiting => format!("a worker: all those of context `{name}` wait inside of tasks"),
                Service::Undriven => format!("a worker of context `{name}`, all of which the application drives"),
                _ => format!("a worker: context `{name}` has none"),
            }
        };
        Some(format!("{who} waits for {what}"))
    }

    /// What a record waits for: the first of all, as one is enough to wait.
    fn cause(&self, record: u32, depth: usize) -> Option<String> {
        let earlier = *self.picture.earlier.get(&record)?.first()?;
        let entry = self.picture.entries[*self.places.get(&earlier)?];
        match entry.kind {
            Kind::Held => {
                let guard = self.guard(earlier)?;
                Some(self.guard_words(guard, entry.pending == 0))
            }
            Kind::Sync if depth < DEPTH => self.cause(earlier, depth + 1),
            Kind::Task => Some(self.core.peek_origin(entry.id)?.to_string()),
            _ => None,
        }
    }

    fn guard(&self, record: u32) -> Option<&Guard> {
        self.state.guards.iter().find(|g| g.task.index() == record)
    }

    fn guard_words(&self, guard: &Guard, held: bool) -> String {
        let mode = if guard.arg.mode().mutates() { "write" } else { "read" };
        let (file, line) = (guard.location.file(), guard.location.line());
        let own = guard.thread == thread::current().id();
        let holder = match (held, own) {
            (false, _) => "",
            (true, true) => ", which this thread holds",
            (true, false) => ", which another thread holds",
        };
        format!("the {mode} guard of region `{}` ({file}:{line}){holder}", guard.arg.piece().name())
    }
}
