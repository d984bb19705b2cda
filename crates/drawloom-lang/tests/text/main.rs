//! Graphs as text and as drawings: JSON and the language `.loom`, both ways, what is wrong with them, SVG and DOT.

mod drawing;
mod fuzz_json;
mod fuzz_loom;
mod json_errors;
mod json_report;
mod json_round_trip;
mod loom_cases;
mod loom_declarations;
mod loom_guide;
mod loom_load;
mod loom_round_trip;
mod support;
