//! Graphs as text: JSON and the language `.loom`, both ways, and what is wrong with them.

mod fuzz_json;
mod fuzz_loom;
mod json_errors;
mod json_report;
mod json_round_trip;
mod json_sentence;
mod loom_cases;
mod loom_declarations;
mod loom_guide;
mod loom_load;
mod loom_round_trip;
mod support;
