//! `drawloom run filters`.

use crate::cholesky::keys;
use crate::support::drawloom;

#[test]
fn filters_give_their_known_numbers_and_print_every_key_last() {
    let filters = |more: &[&str]| {
        let arguments = ["run", "filters", "--workers", "1", "--json"].into_iter().chain(more.iter().copied());
        drawloom(&arguments.collect::<Vec<_>>()).exits(0).json()
    };
    let line = filters(&["--app", "modfilter", "--n", "1e6", "--fuse", "off"]);
    let expected = ["app", "n", "width", "workers", "outputs", "sum", "seconds", "nodes"];
    assert!(expected.iter().all(|key| keys(&line).contains(key)), "{line}");
    assert_eq!((&line["outputs"], &line["sum"]), (&33_184.into(), &71_313_248_635_145_u64.into()));
    let runs: Vec<_> = line["nodes"].as_array().unwrap().iter().map(|node| node["runs"].as_u64().unwrap()).collect();
    assert_eq!(runs, [7813, 3909, 1300, 260]);
    let line = filters(&["--app", "splitfilter", "--n", "1e5", "--ordered"]);
    let outputs = &line["outputs"];
    assert_eq!(outputs["accept"].as_u64().unwrap() + outputs["reject"].as_u64().unwrap(), 100_000, "{line}");
    let line = filters(&["--app", "regionsum", "--n", "1e5", "--mean-length", "16"]);
    assert_eq!(line["sum"], 107_471_978_673_294_u64);
}

#[test]
fn filters_that_cannot_run_are_unusable() {
    let ran = drawloom(&["run", "filters", "--width", "0"]).exits(2);
    assert!(ran.err.contains("has a width of zero"), "{}", ran.err);
}
