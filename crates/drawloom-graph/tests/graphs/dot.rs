//! The writer of the DOT language.

use drawloom_graph::dot::{Attributes, Dot, escaped, quoted};

#[test]
fn clusters_nest_and_end_with_the_graph() {
    let mut dot = Dot::new("a \"b\"");
    dot.open(0, &Attributes::new().text("label", "outer"));
    dot.open("0_1", &Attributes::new());
    dot.node("n", &Attributes::new().word("penwidth", 2.5).html("<b>x</b>"));
    dot.close();
    dot.edge("n", "m", &Attributes::new().word("style", "dashed"));
    let expected = r#"digraph "a \"b\"" {
  subgraph cluster_0 {
    graph [label="outer"];
    subgraph cluster_0_1 {
      n [penwidth=2.5, label=<<b>x</b>>];
    }
    n -> m [style=dashed];
  }
}
"#;
    assert_eq!(dot.finish(), expected);
}

#[test]
fn no_text_of_a_user_ends_a_label() {
    assert_eq!(quoted("a\"\\\n\u{7}& &lt;"), "\"a\\\"\\\\\\n\u{fffd}& &amp;lt;\"");
    assert_eq!(escaped("<a> & \"b\"\n\t"), "&lt;a&gt; &amp; &quot;b&quot;<br/>\u{fffd}");
}
