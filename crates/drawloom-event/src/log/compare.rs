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
//! Cancelled sends, idle rounds, the order of messages and the states in between may differ.

use rustc_hash::FxHashMap;

use super::Log;
use super::record::{Entry, What};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::DeviceId;

/// So many differences are described; the others are counted.
const MOST: usize = 20;

/// What two logs have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The first differences, in words.
    pub differences: Vec<String>,
    /// How many more there are.
    pub unlisted: u64,
}

impl Comparison {
    /// Whether the runs did the same.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty()
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
    for place in places {
        let (ours, theirs) = (ours.get(place).unwrap_or(&nothing), theirs.get(place).unwrap_or(&nothing));
        if ours == theirs {
            continue;
        }
        let (what, device, pin, _) = *place;
        let kind = a.type_of(DeviceId(device));
        let pin = match what {
            What::Send => kind.outputs()[pin as usize].name(),
            _ => kind.inputs()[pin as usize].name(),
        };
        let verb = if what == What::Send { "sent" } else { "received" };
        comparison.add(|| {
            let name = a.name(DeviceId(device));
            match ours.len() == theirs.len() {
                true => format!("device {name:?} {verb} other messages at pin {pin:?}"),
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
    compare_checkpoints(left, right, &mut comparison);
    if left.exit != right.exit {
        let code = |exit: Option<i32>| exit.map_or("no exit code".to_owned(), |code| format!("exit code {code}"));
        comparison.add(|| format!("{} in one run, {} in the other", code(left.exit), code(right.exit)));
    }
    Ok(comparison)
}

/// The messages at each place, sorted by their hashes.
fn heard(log: &Log) -> FxHashMap<Place, Vec<u64>> {
    let mut heard: FxHashMap<Place, Vec<u64>> = FxHashMap::default();
    for Entry { what, device, pin, edge, hash, .. } in log.entries.iter().copied() {
        match what {
            What::Send => heard.entry((what, device, pin, edge)).or_default().push(hash),
            What::Receive => heard.entry((what, device, pin, 0)).or_default().push(hash),
            _ => {}
        }
    }
    heard.values_mut().for_each(|hashes| hashes.sort_unstable());
    heard
}

fn compare_checkpoints(left: &Log, right: &Log, comparison: &mut Comparison) {
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
    for (device, tag) in keys {
        let (a, b) = (ours.get(&(device, tag)), theirs.get(&(device, tag)));
        if a != b {
            let name = left.instance.name(DeviceId(device));
            let count = |states: Option<&Vec<&[u8]>>| states.map_or(0, Vec::len);
            comparison.add(|| match count(a) == count(b) {
                true => format!("device {name:?} had another state at checkpoint {tag:?}"),
                false => format!(
                    "device {name:?} came to checkpoint {tag:?} {} times in one run, {} in the other",
                    count(a),
                    count(b)
                ),
            });
        }
    }
}
