//! Whether two runs did the same, in whatever legal order.
//!
//! Messages may be late and overtake each other, so two right runs of one graph may differ in the order of everything. What
//! must be the same, if the handlers make the graph's result independent of the order, is compared:
//!
//! - for each device and output pin: which messages were sent, by their bytes, and how often each; over which edge, if
//!   the pin is indexed;
//! - for each device and input pin: which messages arrived, by their bytes, and how often each;
//! - for each device and tag: the states of the checkpoints, one after the other;
//! - the exit code.
//!
//! Sums that are added in another order are rounded otherwise. [`compare_within`] takes messages and states for the same whose
//! whole numbers are equal, and whose real numbers differ by no more than a part of the largest that comes at their place in
//! any message of that type, or in any state. The messages of a pin are then taken in the order in which they were sent, or if
//! that does not do, by the size of their numbers.
//!
//! Cancelled sends, idle rounds, the order of messages and the states in between may differ.

use rustc_hash::FxHashMap;

use super::Log;
use super::numbers::{Numbers, Pair};
use super::record::{Entry, What};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::DeviceId;

/// So many differences are described; the others are counted.
const MOST: usize = 20;

/// What two logs have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The first differences, in words.
    pub differences: Vec<String>,
    /// How many more there are.
    pub unlisted: u64,
    /// The two real numbers that differ most, if any do: of those that are taken for the same too.
    pub largest: Option<Difference>,
}

/// Two real numbers that differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// By how much, as a part of the largest number at that place.
    pub part: f64,
    /// Where, and which numbers they are.
    pub place: String,
}

impl Comparison {
    /// Whether the runs did the same.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty()
    }

    /// Notes two numbers that differ, if they do so most.
    fn note(&mut self, pair: &Pair, place: &str) {
        if pair.is_real && self.largest.as_ref().is_none_or(|largest| largest.part < pair.difference) {
            self.largest = Some(Difference { part: pair.difference, place: format!("{place}: {}", pair.words) });
        }
    }

    fn add(&mut self, words: impl FnOnce() -> String) {
        if self.differences.len() < MOST {
            self.differences.push(words());
        } else {
            self.unlisted += 1;
        }
    }
}

/// Where something is said: sending or receiving, device, pin, index.
type Place = (What, u32, u32, u32);

/// Compares two logs, up to the order of what happened; see the [module](self) for what must be the same.
///
/// # Errors
/// When the logs are of instances with different devices.
pub fn compare(left: &Log, right: &Log) -> Result<Comparison> {
    compare_within(left, right, 0.0)
}

/// As [`compare`], but real numbers may differ by a part of the largest at their place. For those of single precision that is
/// at least 1e-4, unless the tolerance is 0.
///
/// # Errors
/// As [`compare`].
pub fn compare_within(left: &Log, right: &Log, tolerance: f64) -> Result<Comparison> {
    let (a, b) = (&left.instance, &right.instance);
    let differ = a.devices() != b.devices()
        || (0..a.devices() as u32).any(|device| a.name(DeviceId(device)) != b.name(DeviceId(device)));
    if differ {
        return Err(Error::new(ErrorKind::Mismatch, "the logs are of instances with different devices"));
    }
    let mut comparison = Comparison::default();
    let (ours, theirs) = (heard(left), heard(right));
    let mut places: Vec<&Place> = ours.keys().chain(theirs.keys()).collect();
    places.sort_unstable();
    places.dedup();
    let nothing = Vec::new();
    // Made when something differs.
    let mut numbers = None;
    for place in places {
        let (ours, theirs) = (ours.get(place).unwrap_or(&nothing), theirs.get(place).unwrap_or(&nothing));
        if hashes(ours) == hashes(theirs) {
            continue;
        }
        let (what, device, pin, _) = *place;
        let kind = a.type_of(DeviceId(device));
        let (pin, message) = match what {
            What::Send => (kind.outputs()[pin as usize].name(), kind.outputs()[pin as usize].message()),
            _ => (kind.inputs()[pin as usize].name(), kind.inputs()[pin as usize].message()),
        };
        let numbers = numbers.get_or_insert_with(|| numbers_of_messages(left, right));
        let furthest = furthest(&numbers[message.index()], (left, ours), (right, theirs), tolerance);
        if let Some(pair) = &furthest {
            comparison.note(pair, &format!("device {:?}, pin {pin:?}", a.name(DeviceId(device))));
            if pair.is_close {
                continue;
            }
        }
        let verb = if what == What::Send { "sent" } else { "received" };
        comparison.add(|| {
            let name = a.name(DeviceId(device));
            match ours.len() == theirs.len() {
                true => {
                    let numbers = furthest.map_or(String::new(), |pair| format!(": {}", pair.words));
                    format!("device {name:?} {verb} other messages at pin {pin:?}{numbers}")
                }
                false => {
                    format!(
                        "device {name:?} {verb} {} messages at pin {pin:?} in one run, {} in the other",
                        ours.len(),
                        theirs.len()
                    )
                }
            }
        });
    }
    compare_checkpoints(left, right, tolerance, &mut comparison);
    if left.exit != right.exit {
        let code = |exit: Option<i32>| exit.map_or("no exit code".to_owned(), |code| format!("exit code {code}"));
        comparison.add(|| format!("{} in one run, {} in the other", code(left.exit), code(right.exit)));
    }
    Ok(comparison)
}

/// A message at a place.
struct Heard {
    /// In which order messages are taken: those that were sent, as they were; those that came, by their edges first.
    order: (u32, u64),
    /// The number of the event in which it was sent.
    sent: u64,
    hash: u64,
}

/// The messages at each place, in order.
fn heard(log: &Log) -> FxHashMap<Place, Vec<Heard>> {
    let mut heard: FxHashMap<Place, Vec<Heard>> = FxHashMap::default();
    for Entry { number, what, device, pin, edge, message, hash, .. } in log.entries.iter().copied() {
        let (place, order, sent) = match what {
            What::Send => ((what, device, pin, edge), (0, number), number),
            What::Receive => ((what, device, pin, 0), (edge, message), message),
            _ => continue,
        };
        heard.entry(place).or_default().push(Heard { order, sent, hash });
    }
    heard.values_mut().for_each(|list| list.sort_unstable_by_key(|heard| heard.order));
    heard
}

fn hashes(list: &[Heard]) -> Vec<u64> {
    let mut hashes: Vec<u64> = list.iter().map(|heard| heard.hash).collect();
    hashes.sort_unstable();
    hashes
}

/// The numbers of each type of message, and how large they become in both runs.
fn numbers_of_messages(left: &Log, right: &Log) -> Vec<Numbers> {
    let types = left.instance.graph_type().messages();
    let mut numbers: Vec<Numbers> = types.iter().map(|message| Numbers::new(message.layout())).collect();
    for log in [left, right] {
        for entry in log.entries.iter().filter(|entry| entry.what == What::Send) {
            let pin = &log.instance.type_of(DeviceId(entry.device)).outputs()[entry.pin as usize];
            if let Some(bytes) = log.messages.get(&entry.number) {
                numbers[pin.message().index()].see(bytes);
            }
        }
    }
    numbers
}

/// The two numbers that differ most between the messages of a place. None if their bytes are not known, or there are more in
/// one run.
fn furthest(numbers: &Numbers, ours: (&Log, &[Heard]), theirs: (&Log, &[Heard]), tolerance: f64) -> Option<Pair> {
    let bytes = |(log, list): (&'_ Log, &[Heard])| -> Option<Vec<Box<[u8]>>> {
        list.iter().map(|heard| log.messages.get(&heard.sent).cloned()).collect()
    };
    let (mut ours, mut theirs) = (bytes(ours)?, bytes(theirs)?);
    if ours.len() != theirs.len() {
        return None;
    }
    let worst = |ours: &[Box<[u8]>], theirs: &[Box<[u8]>]| {
        let pairs = ours.iter().zip(theirs).filter_map(|(a, b)| numbers.furthest(a, b, tolerance));
        pairs.max_by(|a, b| (!a.is_close).cmp(&!b.is_close).then(a.difference.total_cmp(&b.difference)))
    };
    let in_order = worst(&ours, &theirs);
    if in_order.as_ref().is_none_or(|pair| pair.is_close) {
        return in_order;
    }
    let by_size = |a: &[u8], b: &[u8]| {
        let (a, b) = (numbers.list(a), numbers.list(b));
        let mut orders = a.iter().zip(&b).map(|(a, b)| a.total_cmp(b));
        orders.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    };
    ours.sort_by(|a, b| by_size(a, b));
    theirs.sort_by(|a, b| by_size(a, b));
    worst(&ours, &theirs).filter(|pair| pair.is_close).or(in_order)
}

fn compare_checkpoints(left: &Log, right: &Log, tolerance: f64, comparison: &mut Comparison) {
    fn gather(log: &Log) -> FxHashMap<(u32, &str), Vec<&[u8]>> {
        let mut states: FxHashMap<_, Vec<&[u8]>> = FxHashMap::default();
        for checkpoint in &log.checkpoints {
            states.entry((checkpoint.device.0, checkpoint.tag.as_str())).or_default().push(&checkpoint.state);
        }
        states
    }
    let (ours, theirs) = (gather(left), gather(right));
    let mut keys: Vec<_> = ours.keys().chain(theirs.keys()).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    let types = left.instance.graph_type().devices();
    let mut numbers: Vec<Numbers> = types.iter().map(|kind| Numbers::new(kind.state())).collect();
    for log in [left, right] {
        for checkpoint in &log.checkpoints {
            let kind = log.instance.type_id(checkpoint.device).index();
            numbers[kind].see(&checkpoint.state);
        }
    }
    for (device, tag) in keys {
        let (a, b) = (ours.get(&(device, tag)), theirs.get(&(device, tag)));
        if a != b {
            let name = left.instance.name(DeviceId(device));
            let count = |states: Option<&Vec<&[u8]>>| states.map_or(0, Vec::len);
            let numbers = &numbers[left.instance.type_id(DeviceId(device)).index()];
            let pairs = a.into_iter().flatten().zip(b.into_iter().flatten());
            let pairs = pairs.filter_map(|(a, b)| numbers.furthest(a, b, tolerance));
            let worst = pairs.max_by(|a, b| a.difference.total_cmp(&b.difference));
            if let Some(pair) = &worst {
                comparison.note(pair, &format!("device {name:?}, checkpoint {tag:?}"));
                if pair.is_close && count(a) == count(b) {
                    continue;
                }
            }
            let words = worst.map_or(String::new(), |pair| format!(": {}", pair.words));
            comparison.add(|| match count(a) == count(b) {
                true => format!("device {name:?} had another state at checkpoint {tag:?}{words}"),
                false => format!(
                    "device {name:?} came to checkpoint {tag:?} {} times in one run, {} in the other",
                    count(a),
                    count(b)
                ),
            });
        }
    }
}
