//! The region graph: names and facts.

use std::fmt;

use rustc_hash::FxHashSet;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::graph::Reader;
use crate::json::error::JsonErrorKind;
use crate::json::ids::Id;
use drawloom_graph::region::{RegionId, Regions};

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum RegionGraphKey {
    Regions,
    Subregion,
    Disjoint,
    #[serde(other)]
    Other,
}

pub(super) struct RegionGraphSeed<'r, 'de>(pub(super) &'r mut Reader<'de>);

impl<'de> DeserializeSeed<'de> for RegionGraphSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RegionGraphSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a region graph: an object with regions, subregion and disjoint")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key()? {
            match key {
                RegionGraphKey::Regions => map.next_value_seed(NamesSeed(&mut *self.0))?,
                RegionGraphKey::Subregion => {
                    map.next_value_seed(FactsSeed(&mut *self.0, Regions::add_subregion))?;
                }
                RegionGraphKey::Disjoint => map.next_value_seed(FactsSeed(&mut *self.0, Regions::add_disjoint))?,
                RegionGraphKey::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The list of region names. In a body, a name that the outer graph has declared is the outer graph's region.
struct NamesSeed<'r, 'de>(&'r mut Reader<'de>);

impl<'de> DeserializeSeed<'de> for NamesSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for NamesSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of region names")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut listed: FxHashSet<RegionId> = FxHashSet::default();
        while let Some(name) = seq.next_element::<Id<'de>>()? {
            let regions = &mut self.0.regions;
            let declared = name.with_text(|name| match regions.find(name).filter(|r| regions.is_declared(*r)) {
                Some(region) => Ok(region),
                None => regions.abstract_region(name),
            });
            let region = declared.map_err(|error| self.0.fail(JsonErrorKind::TooLarge, error))?;
            if !listed.insert(region) {
                return Err(self.0.fail(JsonErrorKind::Duplicate, format_args!("region {name} is listed twice")));
            }
        }
        Ok(())
    }
}

/// The pairs of one kind of fact.
struct FactsSeed<'r, 'de>(&'r mut Reader<'de>, fn(&mut Regions, RegionId, RegionId));

impl<'de> DeserializeSeed<'de> for FactsSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for FactsSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of pairs of region names")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(Pair(a, b)) = seq.next_element()? {
            let (a, b) = (self.0.region(&a), self.0.region(&b));
            (self.1)(&mut self.0.regions, a, b);
        }
        Ok(())
    }
}

struct Pair<'a>(Id<'a>, Id<'a>);

impl<'de> Deserialize<'de> for Pair<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairVisitor;
        impl<'de> Visitor<'de> for PairVisitor {
            type Value = Pair<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a pair of region names")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Pair<'de>, A::Error> {
                let wrong =
                    |count: &str| A::Error::custom(format_args!("a fact is a pair of region names, not {count}"));
                let a = seq.next_element()?.ok_or_else(|| wrong("none"))?;
                let b = seq.next_element()?.ok_or_else(|| wrong("one"))?;
                match seq.next_element::<IgnoredAny>()? {
                    None => Ok(Pair(a, b)),
                    Some(_) => Err(wrong("three or more")),
                }
            }
        }
        deserializer.deserialize_seq(PairVisitor)
    }
}
