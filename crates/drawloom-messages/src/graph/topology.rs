//! Which edges leave which pin, as flat arrays.
//!
//! The output pins of all devices are counted through. The edges of pin `p` are those from `first_edge[p]` to
//! `first_edge[p + 1]`, so sending over all edges of a pin is sending over a range of numbers.

/// A device: its type, the row of its state and properties in those of the type, and its first output pin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) kind: u32,
    pub(crate) slot: u32,
    pub(crate) first_pin: u32,
}

/// The far end of an edge: a device, its input pin, and the row of the edge in those of that pin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) device: u32,
    pub(crate) pin: u32,
    pub(crate) slot: u32,
}

/// Edges that leave for another part of the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) part: u32,
    /// A range of the other part's edges.
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// The devices and edges of a machine, or of a part of it.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    pub(crate) devices: Vec<Row>,
    pub(crate) first_edge: Vec<u32>,
    pub(crate) edges: Vec<Edge>,
    /// What else a part needs; nothing when the machine is one part.
    pub(crate) beyond: Option<Beyond>,
}

/// What a part knows about the others.
#[derive(Debug, Default)]
pub(crate) struct Beyond {
    /// The routes of pin `p` are those from `first_route[p]` to `first_route[p + 1]`.
    pub(crate) first_route: Vec<u32>,
    pub(crate) routes: Vec<Route>,
    /// The number of each device in the instance.
    pub(crate) names: Vec<u32>,
    /// The number of each edge in the instance.
    pub(crate) edge_names: Vec<u32>,
    /// The part and the number there of each edge of an indexed pin, from `first_indexed[p]` on.
    pub(crate) first_indexed: Vec<u32>,
    pub(crate) indexed: Vec<(u32, u32)>,
}

impl Topology {
    /// The number of a device in the instance.
    #[inline]
    pub(crate) fn name(&self, device: u32) -> u32 {
        match &self.beyond {
            None => device,
            Some(beyond) => beyond.names[device as usize],
        }
    }

    /// The numbers of all devices in the instance; none if they are the same.
    #[inline]
    pub(crate) fn names(&self) -> &[u32] {
        self.beyond.as_ref().map_or(&[], |beyond| &beyond.names)
    }

    /// The number of an edge in the instance.
    pub(crate) fn edge_name(&self, edge: u32) -> u32 {
        match &self.beyond {
            None => edge,
            Some(beyond) => beyond.edge_names[edge as usize],
        }
    }
}
