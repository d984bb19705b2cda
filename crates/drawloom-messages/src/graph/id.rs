//! Numbers of things. Each kind of thing has its own type, so that none is taken for another.

use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    )* };
}

ids! {
    /// A message type of a graph type, in the order of declaration.
    MessageId;
    /// A device type of a graph type, in the order of declaration.
    DeviceTypeId;
    /// An input pin of a device type, in the order of declaration.
    InputId;
    /// An output pin of a device type, in the order of declaration.
    OutputId;
    /// A device of an instance, in the order of creation.
    DeviceId;
    /// An edge of an instance. Edges are numbered by source device, then output pin, then index at that pin.
    EdgeId;
}
