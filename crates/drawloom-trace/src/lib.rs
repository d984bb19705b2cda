//! What happened in a run: event records, exports, summaries, and a verifier of executed orders.
#![forbid(unsafe_code)]
