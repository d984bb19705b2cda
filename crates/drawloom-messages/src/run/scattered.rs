//! Executors that choose single deliveries: random, and delayed.
//!
//! A message over many edges lies here once, with the number of its deliveries that are still to come.

use fastrand::Rng;

use super::part::{Part, Step, Stop};
use super::ring::{Post, edges_of};
use crate::graph::topology::Topology;
use crate::handlers::{Sent, pins};

/// Messages in flight, edge by edge.
#[derive(Default)]
struct Pending {
    /// An edge, and which message comes over it.
    deliveries: Vec<(u32, u32)>,
    messages: Vec<Message>,
    free: Vec<u32>,
}

#[derive(Default)]
struct Message {
    words: Vec<u64>,
    number: Option<u64>,
    left: u32,
}

impl Post for Pending {
    fn post(&mut self, topology: &Topology, pin: u32, sent: Sent, message: &[u64], number: Option<u64>) -> Option<u64> {
        let (start, end) = edges_of(topology, pin, sent)?;
        if start < end {
            let slot = self.free.pop().unwrap_or_else(|| {
                self.messages.push(Message::default());
                self.messages.len() as u32 - 1
            });
            let place = &mut self.messages[slot as usize];
            place.words.clear();
            place.words.extend_from_slice(message);
            (place.number, place.left) = (number, end - start);
            self.deliveries.extend((start..end).map(|edge| (edge, slot)));
        }
        Some(u64::from(end - start))
    }
}

impl Pending {
    fn deliver(&mut self, part: &mut Part, (edge, slot): (u32, u32)) -> Result<(), Stop> {
        let message = &mut self.messages[slot as usize];
        part.deliver_one(edge, &message.words, message.number)?;
        message.left -= 1;
        if message.left == 0 {
            self.free.push(slot);
        }
        Ok(())
    }
}

/// How many steps go by before the limit of the run is looked at.
const OFTEN: u32 = 1024;

fn any_pin(rng: &mut Rng) -> impl FnMut(&[u64]) -> Option<u32> {
    move |set| {
        let count = pins::count(set);
        if count == 0 { None } else { pins::nth(set, rng.u32(..count)) }
    }
}

/// Runs until all is quiet: each step is one delivery or one send, all equally likely.
pub(crate) fn random(part: &mut Part, seed: u64) -> Result<(), Stop> {
    let mut rng = Rng::with_seed(seed);
    let mut pending = Pending::default();
    let mut step = 0_u32;
    loop {
        let (deliveries, devices) = (pending.deliveries.len(), part.waiting.len());
        if deliveries + devices == 0 {
            if !part.quiet()? {
                return Ok(());
            }
            continue;
        }
        let choice = rng.usize(..deliveries + devices);
        if choice < deliveries {
            let delivery = pending.deliveries.swap_remove(choice);
            pending.deliver(part, delivery)?;
        } else {
            let device = part.waiting.swap_remove(choice - deliveries);
            part.unwait(device);
            if part.ask(device, 1, any_pin(&mut rng), &mut pending)? == Step::Sent {
                part.wait(device);
            }
        }
        step = step.wrapping_add(1);
        if step.is_multiple_of(OFTEN) {
            part.check_limit()?;
        }
    }
}

/// Runs until all is quiet, in rounds: each delivery and each send is put off with a probability.
pub(crate) fn delay(part: &mut Part, probability: f64, seed: u64) -> Result<(), Stop> {
    let mut rng = Rng::with_seed(seed);
    let mut pending = Pending::default();
    let (mut turn, mut arriving) = (Vec::new(), Vec::new());
    loop {
        std::mem::swap(&mut part.waiting, &mut turn);
        for device in turn.drain(..) {
            part.unwait(device);
            if rng.f64() < probability || part.ask(device, 1, any_pin(&mut rng), &mut pending)? == Step::Sent {
                part.wait(device);
            }
        }
        std::mem::swap(&mut pending.deliveries, &mut arriving);
        for delivery in arriving.drain(..) {
            if rng.f64() < probability {
                pending.deliveries.push(delivery);
            } else {
                pending.deliver(part, delivery)?;
            }
        }
        part.check_limit()?;
        if part.waiting.is_empty() && pending.deliveries.is_empty() && !part.quiet()? {
            return Ok(());
        }
    }
}
