//! The pages of the guide, as text.
//!
//! The pages lie in `book/src`, where mdBook finds them. This crate includes them for two reasons: the Rust examples in them,
//! and in the README, are compiled and run as doc tests, and the program `drawloom` prints the page of a rule.
//!
//! ```
//! let page = drawloom_guide::code_page("rf2").expect("every rule has a page");
//! assert!(page.starts_with("# RF2: "));
//! ```
#![forbid(unsafe_code)]

/// One page of the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where the page lies in `book/src`.
    pub path: &'static str,
    /// Its text, in Markdown.
    pub text: &'static str,
}

macro_rules! chapters {
    ($($name:ident $path:literal,)*) => {
        /// Every chapter, in reading order.
        pub const CHAPTERS: &[Page] = &[$(
            Page { path: $path, text: include_str!(concat!("../../../book/src/", $path)) },
        )*];

        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../../book/src/", $path))]
            mod $name {}
        )*
    };
}

macro_rules! codes {
    ($($name:ident $code:literal,)*) => {
        /// The page of every code that a check or the language can report, in the order of the documentation.
        pub const CODES: &[(&str, Page)] = &[$(
            ($code, Page {
                path: concat!("rules/", $code, ".md"),
                text: include_str!(concat!("../../../book/src/rules/", $code, ".md")),
            }),
        )*];

        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../../book/src/rules/", $code, ".md"))]
            mod $name {}
        )*
    };
}

chapters! {
    introduction "introduction.md",
    tasks "tasks.md",
    data "data.md",
    plans "plans.md",
    failing "failing.md",
    workers "workers.md",
    meshes "meshes.md",
    mesh_files "mesh-files.md",
    applications "applications.md",
    streams "streams.md",
    tensors "tensors.md",
    events "events.md",
    seeing "seeing.md",
    measuring "measuring.md",
    first_graph "first-graph.md",
    regions "regions.md",
    graph_model "graph-model.md",
    checks "checks.md",
    ordering "ordering.md",
    building "building.md",
    passes "passes.md",
    language "language.md",
    json "json.md",
    command_line "command-line.md",
    cost "cost.md",
    glossary "glossary.md",
    rules_readme "rules/README.md",
}

codes! {
    p1 "P1",
    p2 "P2",
    wf0 "WF0",
    wf1 "WF1",
    wf2 "WF2",
    wf3 "WF3",
    wf4 "WF4",
    wf5 "WF5",
    rg1 "RG1",
    rg2 "RG2",
    rf1a "RF1a",
    rf1b "RF1b",
    rf1c "RF1c",
    rf2 "RF2",
    t1 "T1",
    t2 "T2",
    o1 "O1",
    o2 "O2",
    o3 "O3",
    c1 "C1",
    c2 "C2",
    c3 "C3",
    c4 "C4",
    b1 "B1",
    s1 "S1",
    w1 "W1",
    w2 "W2",
    w3 "W3",
    w4 "W4",
    w5 "W5",
    l1 "L1",
    l2 "L2",
    l3 "L3",
    l4 "L4",
    l5 "L5",
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

/// The table of contents.
pub const SUMMARY: &str = include_str!("../../../book/src/SUMMARY.md");

/// The page of a code such as `RF2`, in upper or lower case.
pub fn code_page(code: &str) -> Option<&'static str> {
    CODES.iter().find(|(name, _)| name.eq_ignore_ascii_case(code)).map(|(_, page)| page.text)
}
