//! The stable names of everything a check can find.

use std::fmt;

/// When a rule is checked: a stage runs only when the ones before it found no violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Turning a program into a graph.
    Build,
    /// Is it a graph at all?
    WellFormed,
    /// Regions, races, and what each kind of node may do.
    Races,
    /// Can it run one task after another?
    Serial,
    /// Legal, and probably not meant.
    Warning,
}

macro_rules! rules {
    ($($name:ident $stage:ident $meaning:literal,)*) => {
        /// A rule. Its name is stable: scripts depend on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $meaning] $name,)*
        }

        impl Rule {
            /// Every rule, in the order of the documentation.
            pub const ALL: &'static [Rule] = &[$(Rule::$name),*];

            /// The stable name: `RF2`.
            pub fn code(self) -> &'static str {
                match self { $(Rule::$name => stringify!($name),)* }
            }

            /// What the rule asks for, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Rule::$name => $meaning),* }
            }

            /// The stage in which the rule is checked.
            pub fn stage(self) -> Stage {
                match self { $(Rule::$name => Stage::$stage),* }
            }
        }
    };
}

rules! {
    P1 Build "Arguments of one call overlap only when all of them are read.",
    P2 Build "Regions that may alias have a common container, so that versions can pass from one to the other.",
    WF0 WellFormed "Every endpoint of an edge is a declared node.",
    WF1 WellFormed "The graph is acyclic.",
    WF2 WellFormed "Read and Discard edges go from data to compute nodes.",
    WF3 WellFormed "Write and Reduce edges go from compute to data nodes.",
    WF4 WellFormed "A Reduce edge carries an operator that is not known to be non-commutative.",
    WF5 WellFormed "HappensBefore joins two compute nodes, and Use goes from data to a Task that reduces.",
    RG1 Races "A data node names a known region.",
    RG2 Races "The facts about regions are consistent.",
    RF1a Races "A version has at most one Write.",
    RF1b Races "A version is not both written and reduced.",
    RF1c Races "All Reduces into one version share one operator.",
    RF2 Races "Any two versions that have edges and may alias are ordered by the dataflow.",
    T1 Races "A Task that writes a region also Reads or Discards it.",
    T2 Races "The versions a Task Reads do not alias each other.",
    O1 Races "An Open reads exactly one version.",
    O2 Races "An Open writes subregions of the region it reads.",
    O3 Races "An Open has no Discard and no Reduce.",
    C1 Races "A Close writes exactly one version.",
    C2 Races "A Close reads subregions of the region it writes.",
    C3 Races "A Close has no Discard and no Reduce.",
    C4 Races "A Close does not read two versions of one region.",
    B1 Races "A control node declares every access that its body makes.",
    S1 Serial "Some serial order of the tasks reproduces the dataflow.",
    W1 Warning "An Open writes nothing.",
    W2 Warning "An Open or Close only renames a version of one region.",
    W3 Warning "A Close leaves part of its region undefined.",
    W4 Warning "A Task discards a version that aliases one it reads.",
    W5 Warning "Reducers into one version start from different versions, or do not say where they start.",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
