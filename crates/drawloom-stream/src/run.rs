//! Running a stream: one copy for each worker of a team.
//!
//! The copies share the position in the source, what sinks have taken, and the wish to stop. Each is made by the worker that
//! runs it, and never leaves its thread.

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use drawloom_runtime::{Context, Future, Loom, Member, panic};

use crate::error::{Error, ErrorKind, Result};
use crate::machine::time::nanoseconds;
use crate::machine::{Machine, Outside};
use crate::nested::{self, Wanted};
use crate::parameter::Parameters;
use crate::plan::check::Layout;
use crate::plan::{Description, Kind};
use crate::report::{Counts, EdgeCounts, EdgeReport, NodeReport, Report};
use crate::settings::Settings;
use crate::source::Opening;
use crate::trace::Firings;

/// A stream that was checked. It can be run many times, and by several engines at once. Runs at the same time share the buffers of
/// the stream: those who take from them, or give to them, are told of the end when the last of these runs is over. What they collect
/// stays apart: see [`Collected`](crate::Collected).
#[derive(Clone)]
pub struct Plan(Arc<Checked>);

struct Checked {
    name: String,
    id: u64,
    description: Description,
    /// How it is run next.
    layout: Mutex<Arc<Layout>>,
    ordered: bool,
}

/// What the workers of one run share.
struct Crew {
    plan: Plan,
    layout: Arc<Layout>,
    shared: Vec<Option<Arc<dyn Any + Send + Sync>>>,
    parameters: Parameters,
    outside: Outside,
    done: Mutex<Vec<(usize, Result<Done>)>>,
    workers: usize,
    /// Whether those outside were told that the run is over.
    over: AtomicBool,
}

/// What a copy did.
struct Done {
    nodes: Vec<Counts>,
    edges: Vec<EdgeCounts>,
    trips: u64,
    firings: Firings,
}

/// A stream that runs.
///
/// When it is dropped, the run is cancelled: nobody could tell it to stop any more. [`Running::detach`] lets it go on.
#[must_use = "a run that nobody waits for is cancelled"]
pub struct Running {
    crew: Arc<Crew>,
    /// It is there until somebody waits, or lets the run go on alone.
    future: Option<Future<()>>,
    /// Who may run it: all workers, if it is not said.
    context: Option<Context>,
    /// The last handle of an engine waits for its tasks: who can cancel this one must have a handle longer than that.
    loom: Loom,
}

fn engine(error: drawloom_runtime::Error) -> Error {
    Error::new(ErrorKind::Engine, format!("the engine could not run the stream: {error}"))
}

fn errors(done: &[(usize, Result<Done>)]) -> impl Iterator<Item = &Error> {
    done.iter().filter_map(|(_, done)| done.as_ref().err())
}

/// Why a run failed, as far as it is known. Those who were stopped by another's failure do not say why.
fn cause(done: &[(usize, Result<Done>)]) -> Option<&Error> {
    errors(done).find(|error| error.kind() != ErrorKind::Cancelled)
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plan({}, {} nodes)", self.0.name, self.0.description.nodes.len())
    }
}

impl Plan {
    /// The stream as a picture for Graphviz, with the figures of a run if there was one.
    pub fn to_dot(&self, report: Option<&Report>) -> String {
        crate::dot::picture(&self.0.name, &self.0.description, report)
    }

    /// Which nodes run as one, each chain from its first node to its last: see [`Stream::fuse`](crate::Stream::fuse).
    pub fn fused(&self) -> Vec<Vec<&str>> {
        let Checked { description, .. } = &*self.0;
        let layout = Arc::clone(&self.0.layout.lock());
        let name = |node: usize| description.nodes[node].name.as_str();
        let behind = |head: usize| {
            let nodes = layout.heads.iter().enumerate().filter(move |(_, of)| **of == Some(head as u32));
            nodes.map(|(node, _)| name(node))
        };
        let heads = (0..description.nodes.len()).filter(|head| behind(*head).next().is_some());
        heads.map(|head| std::iter::once(name(head)).chain(behind(head)).collect()).collect()
    }

    pub(crate) fn new(name: String, id: u64, description: Description, layout: Layout, ordered: bool) -> Self {
        Self(Arc::new(Checked { name, id, description, layout: Mutex::new(Arc::new(layout)), ordered }))
    }

    /// Runs the stream on all workers of an engine, and waits for the end.
    ///
    /// # Errors
    /// When the run fails, and inside of a node of a stream that several of these workers run: see [`Running::wait`].
    #[track_caller]
    pub fn run(&self, loom: &Loom) -> Result<Report> {
        // Before anything has begun that would have to be cancelled.
        let workers = loom.workers().max(1);
        nested::refuse_wait(loom, &Wanted { stream: &self.0.name, workers, context: None })?;
        self.start(loom, &Settings::new())?.wait()
    }

    /// Begins a run.
    ///
    /// # Errors
    /// When there are no workers for it, or a setting is of another stream.
    #[track_caller]
    pub fn start(&self, loom: &Loom, settings: &Settings) -> Result<Running> {
        let (whose, available) = match &settings.context {
            Some(context) => (format!("context `{}`", context.name()), context.workers().map_err(engine)?.len()),
            None => ("the engine".to_owned(), loom.workers()),
        };
        // An engine without workers runs it on this thread.
        let available = available.max(1);
        let workers = settings.workers.unwrap_or(available);
        let size = u32::try_from(workers).ok().filter(|size| *size > 0);
        let Some(size) = size.filter(|_| workers <= available) else {
            let message = format!("{workers} workers were asked for stream `{}`; {whose} has {available}", self.0.name);
            return Err(Error::new(ErrorKind::Engine, message));
        };
        let crew = Arc::new(self.crew(settings, workers)?);
        let theirs = Arc::clone(&crew);
        let mut task = loom.task(self.0.name.clone());
        if let Some(context) = &settings.context {
            task = task.in_context(context);
        }
        let future = task.team(size).run(move |member| theirs.work(member));
        Ok(Running { crew, future: Some(future), context: settings.context.clone(), loom: loom.clone() })
    }

    /// What a run needs before its workers begin.
    fn crew(&self, settings: &Settings, workers: usize) -> Result<Crew> {
        let Checked { name, id, description, ordered, .. } = &*self.0;
        let parameters = settings.parameters(name, *id, description)?;
        let in_turn = *ordered && workers > 1;
        let sources = description.nodes.iter().filter(|node| matches!(node.kind, Kind::Source { .. }));
        if in_turn && sources.count() > 1 {
            let message = format!(
                "stream `{name}` is ordered and has several sources, between which there is no order: one worker can run it"
            );
            return Err(Error::new(ErrorKind::Setting, message));
        }
        let opening = Opening { workers, one_by_one: in_turn, patience: None };
        let open = |node: &crate::plan::Node| node.open.as_ref().map(|open| open(&opening));
        let shared = description.nodes.iter().map(open).collect();
        // Nothing may fail from here on: a crew ends what was begun.
        for around in description.nodes.iter().filter_map(|node| node.around.as_ref()) {
            (around.begin)();
        }
        Ok(Crew {
            plan: self.clone(),
            layout: Arc::clone(&self.0.layout.lock()),
            shared,
            parameters,
            outside: Outside::new(workers, settings, in_turn),
            done: Mutex::default(),
            workers,
            over: AtomicBool::new(false),
        })
    }
}

impl Running {
    /// Asks all workers to stop. What sinks have taken already stays there.
    pub fn cancel(&self) {
        self.crew.stop();
    }

    /// Asks for all items that are under way to be brought to their end, in vectors that are not full where it must be. The
    /// report counts such flushes at the sources.
    pub fn flush(&self) {
        // Release: what was given before is found by who sees the wish; Acquire in `flush_if_wished`.
        self.crew.outside.flushes.fetch_add(1, Ordering::Release);
        self.crew.outside.bell.ring();
    }

    /// How many items the sources have given so far.
    pub fn given(&self) -> u64 {
        self.crew.outside.all_given()
    }

    /// Whether the run is over.
    pub fn is_complete(&self) -> bool {
        self.future.as_ref().is_none_or(Future::is_complete)
    }

    /// Waits for the end.
    ///
    /// Inside of a task this works for what the task has started, if its workers can come. The copies of a stream do not go on
    /// to something else before all of them are done, so inside of a node of a stream that several workers run, one can wait for a
    /// run of one worker, and for one in a context that has none of these workers.
    ///
    /// # Errors
    /// When a node, source or sink failed, the run was cancelled, or the engine could not run it; inside of a task as said above.
    /// A run that is not over then is cancelled.
    pub fn wait(mut self) -> Result<Report> {
        if !self.is_complete() {
            let (stream, workers) = (&*self.crew.plan.0.name, self.crew.workers);
            nested::refuse_wait(&self.loom, &Wanted { stream, workers, context: self.context.as_ref() })?;
        }
        if let Some(Err(error)) = self.future.take().map(Future::wait) {
            // The engine may have refused to wait, and nobody else can stop it.
            self.crew.stop();
            // What a node says comes first: it may be why tasks failed that the node has left behind.
            return Err(cause(&self.crew.done()).cloned().unwrap_or_else(|| engine(error)));
        }
        self.crew.end()
    }

    /// Lets the run go on though nobody waits for it. How it ends is not known then. The last handle of an engine still waits
    /// for it.
    pub fn detach(mut self) {
        self.future = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.future.is_some() {
            self.cancel();
        }
    }
}

impl Crew {
    /// Asks all workers to stop.
    fn stop(&self) {
        // Relaxed: it is only a wish, and nothing is published with it.
        self.outside.stop.store(true, Ordering::Relaxed);
        self.outside.bell.ring();
    }

    /// One worker's part.
    fn work(&self, member: &Member<'_>) {
        nested::inside(&self.plan.0.name, member, || self.run_part(member));
    }

    fn run_part(&self, member: &Member<'_>) {
        let current = Rc::new(Cell::new(0));
        let done = panic::catch(|| self.run_copy(member, &current));
        let done = done.unwrap_or_else(|why| {
            let name = &self.plan.0.description.nodes[current.get() as usize].name;
            Err(Error::new(ErrorKind::Panic, format!("node `{name}` panicked: {why}")).at_node(name))
        });
        if done.is_err() {
            self.stop();
        }
        let all = {
            let mut all = self.done.lock();
            all.push((member.rank(), done));
            all.len() == self.workers
        };
        if all {
            self.tell_outside();
        }
    }

    /// The run is over, for those outside: sinks have all that they get.
    fn tell_outside(&self) {
        if self.over.swap(true, Ordering::AcqRel) {
            return;
        }
        let nodes = &self.plan.0.description.nodes;
        nodes.iter().filter_map(|node| node.settle.as_ref()).for_each(|settle| settle(&self.outside.bell));
        nodes.iter().filter_map(|node| node.around.as_ref()).for_each(|around| (around.end)());
    }

    fn run_copy(&self, member: &Member<'_>, current: &Rc<Cell<u32>>) -> Result<Done> {
        let Checked { id, description, .. } = &*self.plan.0;
        let shared = (&self.shared[..], &self.parameters);
        let mut machine = Machine::new(description, *id, &self.layout, shared, current, (&self.outside, member))?;
        machine.firings.begun = nanoseconds(self.outside.began.elapsed());
        machine.run_all()?;
        let nodes = machine.nodes.iter().map(|node| node.counts).collect();
        let edges = machine.edge_counts();
        Ok(Done { nodes, edges, trips: machine.trips, firings: machine.firings })
    }

    /// What the copies did that are done, in the order of their ranks.
    fn done(&self) -> MutexGuard<'_, Vec<(usize, Result<Done>)>> {
        let mut done = self.done.lock();
        done.sort_by_key(|(rank, _)| *rank);
        done
    }

    /// All workers are done.
    fn end(&self) -> Result<Report> {
        self.tell_outside();
        let (description, layout) = (&self.plan.0.description, &self.layout);
        let done = self.done();
        if let Some(error) = cause(&done).or_else(|| errors(&done).next()) {
            return Err(error.clone());
        }
        let stream = self.plan.0.name.clone();
        let mut report = Report { stream, workers: self.workers, timed: self.outside.timed, ..Report::default() };
        let head = |head: &Option<u32>| head.map(|head| description.nodes[head as usize].name.clone());
        report.nodes.extend(description.nodes.iter().zip(&layout.heads).map(|(node, runs_in)| NodeReport {
            name: node.name.clone(),
            fused_into: head(runs_in),
            fuses: node.fuses,
            width: node.width,
            is_source: matches!(node.kind, Kind::Source { .. }),
            ..NodeReport::default()
        }));
        report.edges.extend(description.edges.iter().zip(&layout.sizes).map(|(edge, size)| {
            let channel = &description.channels[edge.channel as usize];
            EdgeReport {
                from: description.nodes[channel.node as usize].name.clone(),
                channel: channel.name.clone(),
                to: description.nodes[edge.to as usize].name.clone(),
                capacity: size.capacity,
                ..EdgeReport::default()
            }
        }));
        for done in done.iter().filter_map(|(_, done)| done.as_ref().ok()) {
            report.trips += done.trips;
            report.firings.push(done.firings.clone());
            for (node, counts) in report.nodes.iter_mut().zip(&done.nodes) {
                node.inputs += if node.is_source { counts.outputs } else { counts.inputs };
                node.runs += counts.runs;
                node.full_runs += counts.full_runs;
                node.signals += counts.signals;
                node.flushes += counts.flushes;
                node.user += Duration::from_nanos(counts.body.saturating_sub(counts.pushing));
                node.pushing += Duration::from_nanos(counts.pushing);
                node.overhead += Duration::from_nanos(counts.fire.saturating_sub(counts.body));
            }
            for (edge, counts) in report.edges.iter_mut().zip(&done.edges) {
                edge.blocked += Duration::from_nanos(counts.blocked);
                edge.high_water = edge.high_water.max(counts.high_water);
                edge.signals_high_water = edge.signals_high_water.max(counts.signals_high_water);
            }
        }
        let mut items = vec![0_u64; description.edges.len()];
        for done in done.iter().filter_map(|(_, done)| done.as_ref().ok()) {
            items.iter_mut().zip(&done.edges).for_each(|(items, counts)| *items += counts.items);
        }
        *self.plan.0.layout.lock() = Arc::new(layout.sized(description, Some(&items)));
        Ok(report)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // The engine may never have run it.
        self.tell_outside();
    }
}
