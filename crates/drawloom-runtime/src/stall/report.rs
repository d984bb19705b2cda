//! What waits, and for what, in words.

use rustc_hash::FxHashMap;

use super::picture::{Entry, Picture};
use super::{Guard, On, State};
use crate::core::{Core, Service};
use crate::error::{Error, ErrorKind, TaskOrigin};
use crate::sync::thread;
use crate::task::record::{Kind, TaskId};

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
    /// One child of each record that has some.
    children: &'a FxHashMap<u32, TaskId>,
}

/// The error of a wait that can never end, or has gone on for too long; `outlook` says which.
pub(super) fn error(
    core: &Core,
    picture: &Picture,
    children: &FxHashMap<u32, TaskId>,
    state: &State,
    on: On,
    outlook: &str,
) -> Error {
    let places = picture.entries.iter().enumerate().map(|(place, e)| (e.id.index(), place)).collect();
    let report = Report { core, picture, state, places, children };
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
                waits || unserved() || self.picture.is_kept(self.core, entry) || self.end(entry).is_some()
            }
            // Nobody waits for one that was given up.
            Kind::Held => entry.pending > 0 && self.guard(entry.id.index()).is_some(),
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
            On::Context(index) => format!("all tasks of context `{}`", self.core.context_name(index)),
        };
        (task, format!("{subject} for {what}"))
    }

    /// What one task waits for.
    fn line(&self, entry: &Entry) -> Option<String> {
        let who = match self.guard(entry.id.index()) {
            Some(guard) if entry.kind == Kind::Held => self.guard_words(guard, false),
            _ => self.core.peek_origin(entry.id)?.to_string(),
        };
        let service = self.core.service(entry.context, &self.picture.waiting);
        let name = self.core.context_name(self.core.home(entry.context));
        // Without workers nobody asks the policy.
        if service == Service::Workers && self.picture.is_kept(self.core, entry) {
            return Some(format!("{who} is ready, but the policy of context `{name}` does not hand it out"));
        }
        let what = if entry.pending > 0 {
            self.cause(entry.id.index(), 0)?
        } else if let Some(team) = self.core.teams.what_waits(self.core, entry.id) {
            team
        } else if let Some(end) = self.end(entry) {
            end
        } else if self.picture.commuting.contains(&entry.id) {
            "data that a task which commutes with it has".to_owned()
        } else {
            match service {
                Service::Waiting => format!("a worker: all those of context `{name}` wait inside of tasks"),
                Service::Undriven => format!("a worker of context `{name}`, all of which the application drives"),
                _ => format!("a worker: context `{name}` has none"),
            }
        };
        Some(format!("{who} waits for {what}"))
    }

    /// What a task waits for that has begun: a child, or a task that it ends with. None for the one in which the calling
    /// thread waits, of which the report tells first.
    fn end(&self, entry: &Entry) -> Option<String> {
        let own = self.core.with_running(|running| running.is_some_and(|running| running.id == entry.id));
        if own || entry.pending > 0 || !entry.claimed {
            return None;
        }
        if let Some(child) = self.children.get(&entry.id.index()) {
            return Some(format!("its child, {}", self.core.peek_origin(*child)?));
        }
        let partner = *self.picture.partners.get(&entry.id.index())?.first()?;
        let partner = self.picture.entries[*self.places.get(&partner)?].id;
        Some(format!("{}, to end with it", self.core.peek_origin(partner)?))
    }

    /// What a record waits for in order to start: the first of all, as one is enough to wait.
    fn cause(&self, record: u32, depth: usize) -> Option<String> {
        let earlier = *self.picture.earlier.get(&record)?.first()?;
        let entry = self.picture.entries[*self.places.get(&earlier)?];
        match (entry.kind, self.guard(earlier)) {
            (Kind::Held, Some(guard)) => Some(self.guard_words(guard, entry.pending == 0)),
            // A guard that was given up is gone when its turn comes.
            (Kind::Sync | Kind::Gate | Kind::Held, _) if depth < DEPTH => self.cause(earlier, depth + 1),
            (Kind::Task, _) => Some(self.core.peek_origin(entry.id)?.to_string()),
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
