//! A run that follows a log, step by step, and verifies each step.

use rustc_hash::FxHashMap;

use super::Log;
use super::record::{Entry, Recorder, What};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::topology::Topology;
use crate::graph::{DeviceId, EdgeId};
use crate::handlers::Sent;
use crate::run::part::{Part, Step, Stop};
use crate::run::ring::{Post, edges_of};

/// Messages in flight, by the number of their sends.
#[derive(Default)]
struct Pending {
    messages: FxHashMap<u64, (Vec<u64>, Vec<u32>)>,
}

/// Which devices were told something that all devices must be told before anything else happens.
struct Told {
    by: Vec<bool>,
    count: usize,
    /// How many are to be told.
    total: usize,
}

impl Told {
    /// Nobody was told so far, of those that are to be.
    fn new(is_to_be: impl Iterator<Item = bool>) -> Self {
        let by: Vec<bool> = is_to_be.map(|is_to_be| !is_to_be).collect();
        Self { total: by.iter().filter(|told| !**told).count(), by, count: 0 }
    }

    /// Tells a device; false if it was told before.
    fn tell(&mut self, device: u32) -> bool {
        self.count += 1;
        !std::mem::replace(&mut self.by[device as usize], true)
    }

    fn is_complete(&self) -> bool {
        self.count == self.total
    }
}

/// What has been told: init at the beginning, idle in the round that is going on.
struct Rounds {
    init: Told,
    idle: Told,
    /// Which devices are told that all is quiet.
    hear: Vec<bool>,
}

impl Rounds {
    /// Why an event cannot come now, if so.
    fn refuse(&mut self, entry: &Entry) -> Option<&'static str> {
        if self.idle.is_complete() && self.idle.count > 0 {
            self.idle = Told::new(self.hear.iter().copied());
        }
        match entry.what {
            What::Init if !self.init.tell(entry.device) => Some("the device was initialised before"),
            What::Init => None,
            _ if !self.init.is_complete() => Some("not all devices are initialised"),
            What::Idle if !self.idle.tell(entry.device) => Some("the device was told before, or is not told at all"),
            What::Idle => None,
            _ if self.idle.count > 0 => Some("not all devices were told that all is quiet"),
            _ => None,
        }
    }
}

impl Post for Pending {
    fn post(&mut self, topology: &Topology, pin: u32, sent: Sent, message: &[u64], number: Option<u64>) -> Option<u64> {
        let (start, end) = edges_of(topology, pin, sent)?;
        // All steps of a replay are recorded, to be compared.
        if let Some(number) = number.filter(|_| start < end) {
            self.messages.insert(number, (message.to_vec(), (start..end).collect()));
        }
        Some(u64::from(end - start))
    }
}

/// Why a replay ends.
pub(crate) enum End {
    /// A handler ended it.
    Stop,
    /// The log says something else.
    Mismatch(Error),
}

impl From<Stop> for End {
    fn from(_: Stop) -> Self {
        End::Stop
    }
}

/// Follows a log.
pub(crate) fn follow(part: &mut Part, log: &Log) -> Result<(), End> {
    let mut recorder = Recorder::new(log.states, usize::MAX);
    recorder.entries.reserve(1);
    part.recorder = Some(recorder);
    let mut pending = Pending::default();
    let devices = part.instance.devices();
    let hear: Vec<bool> = (0..devices as u32).map(|device| part.hears_idle(device)).collect();
    let idle = Told::new(hear.iter().copied());
    let mut rounds = Rounds { init: Told::new((0..devices).map(|_| true)), idle, hear };
    for entry in &log.entries {
        if let Some(recorder) = &mut part.recorder {
            recorder.next = entry.number;
            recorder.entries.clear();
            recorder.messages.clear();
        }
        if let Some(why) = rounds.refuse(entry) {
            return Err(mismatch(log, entry, why));
        }
        let result = step(part, &mut pending, entry, rounds.idle.count == 1, log);
        // What is compared is what the part recorded itself, as every executor does.
        if !matches!(result, Err(End::Mismatch(_))) {
            let recorded = part.recorder.as_ref().and_then(|recorder| recorder.entries.last().copied());
            match recorded {
                Some(recorded) if recorded == *entry => {}
                Some(recorded) => return Err(differs(log, entry, &recorded)),
                None => return Err(mismatch(log, entry, "nothing happens there")),
            }
        }
        match result {
            // The workers of a parallel run may have gone on for a while after one of them had exited.
            Err(End::Stop) if part.context.exit.is_some() && part.context.failure.is_none() => {
                part.context.stop = false
            }
            other => other?,
        }
    }
    if part.context.exit.is_some() {
        return Err(End::Stop);
    }
    if !rounds.init.is_complete() || !(rounds.idle.count == 0 || rounds.idle.is_complete()) {
        let message = "the log ends before all devices were told something";
        return Err(End::Mismatch(Error::new(ErrorKind::Mismatch, message)));
    }
    if rounds.idle.total == 0 {
        // Nobody is there to be told, which is done nevertheless.
        part.counts.idle_rounds = log.counts.idle_rounds;
    }
    if let Some(number) = pending.messages.keys().min() {
        let message = format!("the log ends, but the message of event {number} did not arrive everywhere");
        return Err(End::Mismatch(Error::new(ErrorKind::Mismatch, message)));
    }
    let waiting = std::mem::take(&mut part.waiting);
    for device in waiting {
        part.unwait(device);
        if part.ask(device, 1, crate::handlers::pins::first, &mut pending)? == Step::Sent {
            let name = part.instance.name(DeviceId(device));
            let message = format!("the log ends, but device {name:?} still wants to send");
            return Err(End::Mismatch(Error::new(ErrorKind::Mismatch, message).at_device(name)));
        }
    }
    Ok(())
}

fn step(part: &mut Part, pending: &mut Pending, entry: &Entry, first: bool, log: &Log) -> Result<(), End> {
    match entry.what {
        What::Init => part.init_one(entry.device)?,
        What::Idle => {
            if !pending.messages.is_empty() {
                return Err(mismatch(log, entry, "messages are in flight, so all is not quiet"));
            }
            part.counts.idle_rounds += u64::from(first);
            part.idle_one(entry.device)?;
        }
        What::Send | What::Cancel => {
            let pin = entry.pin;
            let choose = |set: &[u64]| {
                let is_ready = set.get(pin as usize / 64).is_some_and(|word| word >> (pin % 64) & 1 == 1);
                is_ready.then_some(pin)
            };
            if part.ask(entry.device, 1, choose, pending)? == Step::Quiet {
                return Err(mismatch(log, entry, "the pin does not want to send"));
            }
        }
        What::Receive => {
            let missing = || mismatch(log, entry, "no such message is in flight");
            let (words, edges) = pending.messages.get_mut(&entry.message).ok_or_else(missing)?;
            let place = edges.iter().position(|edge| *edge == entry.edge).ok_or_else(missing)?;
            edges.swap_remove(place);
            let words = std::mem::take(words);
            let result = part.deliver_one(entry.edge, &words, Some(entry.message));
            match pending.messages.get_mut(&entry.message) {
                Some((_, edges)) if edges.is_empty() => drop(pending.messages.remove(&entry.message)),
                Some((place, _)) => *place = words,
                None => {}
            }
            result?;
        }
        What::Ready => return Err(mismatch(log, entry, "questions are not events")),
    }
    Ok(())
}

fn differs(log: &Log, logged: &Entry, found: &Entry) -> End {
    let why = match () {
        () if logged.what != found.what => format!("what happens is {:?}", found.what.name()),
        () if logged.hash != found.hash => "the message has other bytes".to_owned(),
        () if logged.state != found.state => "the state afterwards is another one".to_owned(),
        () => {
            let edge = EdgeId(found.edge);
            format!("it is device {:?}, pin {}, {edge:?}", log.instance.name(DeviceId(found.device)), found.pin)
        }
    };
    mismatch(log, logged, &why)
}

fn mismatch(log: &Log, entry: &Entry, why: &str) -> End {
    let name = log.instance.name(DeviceId(entry.device));
    let kind = log.instance.type_of(DeviceId(entry.device));
    let pin = match entry.what {
        What::Receive => kind.inputs().get(entry.pin as usize).map(|pin| pin.name()),
        What::Send | What::Cancel => kind.outputs().get(entry.pin as usize).map(|pin| pin.name()),
        _ => None,
    };
    let place = pin.map_or(String::new(), |pin| format!(" at pin {pin:?}"));
    let message = format!("event {}, {} of device {name:?}{place}: {why}", entry.number, entry.what.name());
    let error = Error::new(ErrorKind::Mismatch, message).at_device(name);
    End::Mismatch(if let Some(pin) = pin { error.at_pin(pin) } else { error })
}
