//! Measurements: `drawloom bench`.
