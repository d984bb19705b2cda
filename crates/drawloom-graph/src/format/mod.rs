//! Formats: the text language, JSON, Graphviz and SVG drawings, and reports.
