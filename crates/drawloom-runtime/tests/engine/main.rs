//! What the engine does, one concept in each file.

mod awaiting;
mod changing;
mod contexts;
mod deleting;
mod devices;
mod drivers;
mod ending;
mod handing_over;
mod heap;
mod inside;
mod long_chains;
mod memory;
mod operators;
mod order;
mod overlap;
mod phases;
mod policies;
mod recorded;
mod retry;
mod runtimes;
mod stall;
mod teams;
mod unwritten;
mod validity;
mod views;
