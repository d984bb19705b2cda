//! Passes: graph to graph, with the meaning preserved.
