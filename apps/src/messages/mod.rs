//! Graphs of devices that send each other messages, for the message machine. Each comes with C text of its handlers, so that other tools of the family can run the
//! exported files.
//!
//! | file | what it is |
//! |---|---|
//! | [`ring`] | a token goes around |
//! | [`heat`] | heat spreads over a grid, without a global clock |
//! | [`storm`] | waves flood a graph, each after the one before has calmed down |

pub mod heat;
pub mod ring;
pub mod storm;

use drawloom_messages::Registry;

/// A registry of the types of these graphs.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    for graph_type in [ring::graph_type(), heat::graph_type(), storm::graph_type()] {
        registry.register(&graph_type).expect("the types have different names");
    }
    registry
}
