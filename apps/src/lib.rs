//! Programs written with drawloom.
