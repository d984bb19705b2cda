//! Spaces, partitions, fields and regions: what tasks touch, and which of those things may overlap.
//!
//! | file | concept |
//! |---|---|
//! | [`index_set`] | sets of indices as sorted runs |
//! | [`regions`] | the table of spaces, partitions, fields, regions and facts |
//! | [`partition`] | constructors of partitions, with computed disjointness and completeness |
//! | [`index_map`] | maps between spaces, for images, preimages and halos |
//! | [`alias`] | `may_alias` and `is_subregion`, and why |
//! | [`hierarchy`] | consistency of the facts (rule RG2) |
//! | [`run_index`] | which of many runs overlap a given one |
//! | [`cover`] | every region that may alias a given one, as a few subtrees |

pub mod alias;
pub mod cover;
pub mod error;
pub mod hierarchy;
pub mod index_map;
pub mod index_set;
pub mod partition;
pub mod regions;
pub mod run_index;

pub use alias::{Alias, Containment};
pub use error::{RegionError, RegionErrorKind};
pub use index_map::IndexMap;
pub use index_set::{IndexSet, Run};
pub use partition::{Coverage, Pieces};
pub use regions::{FieldId, PartitionId, RegionId, Regions, SpaceId};
pub use run_index::RunIndex;
