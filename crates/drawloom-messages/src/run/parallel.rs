//! The parallel executor: each worker of a team owns a part of the devices.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use drawloom_runtime::{Loom, Member};
use parking_lot::Mutex;

use super::machine::{guarded, report};
use super::mail::{Mail, Next};
use super::part::{Part, Stop};
use super::report::Report;
use super::ring::{Post, Ring};
use super::settings::Settings;
use super::split;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::instance::{Changing, Instance};
use crate::graph::topology::Topology;
use crate::handlers::{Sent, pins};

/// After how many turns of devices a worker looks whether mail should be exchanged within a round: what it sends is for others
/// to work on meanwhile, and one of them may have the device that all others send to.
const TURNS: usize = 64;

/// What the workers share: each takes its part at the beginning, and puts it back at the end.
struct Crew {
    parts: Vec<Mutex<Option<Part>>>,
    errors: Vec<Mutex<Option<Error>>>,
    mail: Mail,
}

/// Runs a machine on the workers of an engine. Returns what it did, also if it failed, and then why.
pub(crate) fn run(
    instance: &Arc<Instance>,
    states: &mut Changing,
    workers: usize,
    settings: &Settings,
) -> Result<(Report, Option<Error>)> {
    if workers == 0 {
        return Err(Error::new(ErrorKind::Setting, "a parallel run needs at least one worker"));
    }
    let part_of = split::parts_of(instance, workers, settings.partition.as_ref())?;
    let engine = |e: drawloom_runtime::Error| Error::new(ErrorKind::Engine, format!("the engine cannot run it: {e}"));
    let loom = match &settings.loom {
        Some(loom) if loom.workers() < workers => {
            let message = format!("{workers} workers were asked for, but the engine has {}", loom.workers());
            return Err(Error::new(ErrorKind::Setting, message));
        }
        Some(loom) => loom.clone(),
        None => Loom::builder().workers(workers).build().map_err(engine)?,
    };
    let size = u32::try_from(workers).map_err(|_| Error::new(ErrorKind::Setting, "there are too many workers"))?;
    let numbers = Arc::new(AtomicU64::new(0));
    let pieces = split::split(instance, states, &part_of, workers)?;
    let parts = pieces.into_iter().map(|piece| {
        let mut part = Part::new(instance, Arc::new(piece.topology), &piece.fixed, piece.states, settings);
        part.recorder.iter_mut().for_each(|recorder| recorder.share(&numbers));
        Mutex::new(Some(part))
    });
    let crew = Arc::new(Crew {
        parts: parts.collect(),
        errors: (0..workers).map(|_| Mutex::default()).collect(),
        mail: Mail::new(workers, settings.most_steps.unwrap_or(u64::MAX)),
    });
    let theirs = Arc::clone(&crew);
    loom.task("event machine").team(size).run(move |member| work(&theirs, member)).wait().map_err(engine)?;
    let mut parts: Vec<Part> = crew.parts.iter().filter_map(|place| place.lock().take()).collect();
    for part in &mut parts {
        let theirs = part.take_states();
        split::restore(instance, &part.topology, &theirs, states);
    }
    // The error of the first worker counts, so that it does not depend on who was faster when several have one.
    let error = crew.errors.iter().find_map(|place| place.lock().take());
    let error = error.or_else(|| crew.mail.lost().map(|text| Error::new(ErrorKind::Internal, text)));
    let limit =
        || Error::new(ErrorKind::Limit, "the run took more steps than its limit").of_type(instance.graph_type().id());
    let report = report(instance, parts);
    let error = error.or_else(|| (report.exit.is_none() && crew.mail.is_over_limit()).then(limit));
    Ok((report, error))
}

/// What one worker does.
fn work(crew: &Crew, member: &Member<'_>) {
    let rank = member.rank();
    let part = crew.parts[rank].lock().take();
    // Each rank takes its part once.
    let Some(mut part) = part else { return };
    let mut worker = Worker { rank, mail: &crew.mail, post: Outgoing::new(rank, member.size()), taken: Vec::new() };
    let _alarm = Alarm(&crew.mail);
    let mut error = guard(&crew.mail, &mut part, Part::init);
    // Nobody's messages arrive before all devices are initialised.
    member.barrier();
    while error.is_none() && !crew.mail.is_stopped() {
        let mut next = Next::End;
        error = guard(&crew.mail, &mut part, |part| {
            next = worker.run(part)?;
            Ok(())
        });
        if error.is_some() || next != Next::Tell {
            break;
        }
        // When one worker comes here, all do: they were quiet together. So all meet at the barrier, whatever happens.
        part.counts.idle_rounds += 1;
        error = guard(&crew.mail, &mut part, Part::tell_idle);
        member.barrier();
    }
    *crew.errors[rank].lock() = error;
    *crew.parts[rank].lock() = Some(part);
}

/// Wakes the other workers should this one break down, which would be a mistake of ours, not of a handler.
struct Alarm<'a>(&'a Mail);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// Does something with a part. When that ends the run, all workers end.
fn guard(mail: &Mail, part: &mut Part, execute: impl FnOnce(&mut Part) -> Result<(), Stop>) -> Option<Error> {
    let error = guarded(part, execute);
    if error.is_some() || part.context.stop {
        mail.stop();
    }
    error
}

/// A worker's side of the mail.
struct Worker<'a> {
    rank: usize,
    mail: &'a Mail,
    post: Outgoing,
    taken: Vec<Ring>,
}

impl Worker<'_> {
    /// Runs rounds until all parts are quiet, or the run must end.
    fn run(&mut self, part: &mut Part) -> Result<Next, Stop> {
        let mut turn = Vec::new();
        loop {
            std::mem::swap(&mut part.waiting, &mut turn);
            for (number, device) in turn.drain(..).enumerate() {
                part.turn(device, pins::first, &mut self.post)?;
                if number % TURNS == TURNS - 1 && self.mail.is_wanted(self.rank) {
                    if self.mail.exchange(self.rank, part, &mut self.post.rings, &mut self.taken) == Next::End {
                        return Ok(Next::End);
                    }
                    self.read(part)?;
                }
            }
            if self.mail.exchange(self.rank, part, &mut self.post.rings, &mut self.taken) == Next::End {
                return Ok(Next::End);
            }
            self.post.own.drain(part)?;
            self.read(part)?;
            part.check_limit()?;
            while part.waiting.is_empty() {
                match self.mail.rest(self.rank, part, &mut self.taken) {
                    Next::Work => self.read(part)?,
                    next => return Ok(next),
                }
            }
        }
    }

    /// The messages of others arrive. The rings stay, to be given back.
    fn read(&mut self, part: &mut Part) -> Result<(), Stop> {
        self.taken.iter_mut().try_for_each(|ring| ring.drain(part))
    }
}

/// Messages that a worker sends: to its own devices, and to those of each other worker.
struct Outgoing {
    rank: u32,
    own: Ring,
    rings: Vec<Ring>,
}

impl Outgoing {
    fn new(rank: usize, workers: usize) -> Self {
        Self { rank: rank as u32, own: Ring::default(), rings: (0..workers).map(|_| Ring::default()).collect() }
    }

    fn ring(&mut self, part: u32) -> &mut Ring {
        if part == self.rank { &mut self.own } else { &mut self.rings[part as usize] }
    }
}

impl Post for Outgoing {
    #[inline]
    fn post(&mut self, topology: &Topology, pin: u32, sent: Sent, message: &[u64], number: Option<u64>) -> Option<u64> {
        let (pin, beyond) = (pin as usize, topology.beyond.as_ref()?);
        if let Sent::Edge(index) = sent {
            let edges = &beyond.indexed[beyond.first_indexed[pin] as usize..beyond.first_indexed[pin + 1] as usize];
            let (part, edge) = *edges.get(index as usize)?;
            self.ring(part).push(edge, edge + 1, message, number);
            return Some(1);
        }
        let (start, end) = (topology.first_edge[pin], topology.first_edge[pin + 1]);
        if start < end {
            self.own.push(start, end, message, number);
        }
        let mut edges = u64::from(end - start);
        for route in &beyond.routes[beyond.first_route[pin] as usize..beyond.first_route[pin + 1] as usize] {
            self.rings[route.part as usize].push(route.start, route.end, message, number);
            edges += u64::from(route.end - route.start);
        }
        Some(edges)
    }
}
