//! `drawloom run cholesky`.

use serde_json::Value;

use crate::support::drawloom;

const SMALL: [&str; 8] = ["run", "cholesky", "--n", "90", "--tile", "16", "--workers", "2"];

fn small(more: &[&str]) -> Vec<&'static str> {
    SMALL.iter().copied().chain(more.iter().map(|word| -> &'static str { word.to_string().leak() })).collect()
}

pub(crate) fn keys(line: &Value) -> Vec<&str> {
    line.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn every_backend_and_order_factors_the_matrix_and_prints_every_key_last() {
    for backend in ["serial", "dynamic", "replay"] {
        for order in ["left", "right"] {
            let ran = drawloom(&small(&["--backend", backend, "--order", order, "--json"])).exits(0);
            let line = ran.json();
            for key in ["n", "tile", "workers", "tasks", "seconds", "gflops", "max_error"] {
                assert!(keys(&line).contains(&key), "{key} is not in {line}");
            }
            assert_eq!((&line["n"], &line["tile"], &line["tasks"]), (&90.into(), &16.into(), &56.into()));
            assert_eq!(line["workers"], if backend == "serial" { 1 } else { 2 });
            assert!(line["max_error"].as_f64().unwrap() < 1e-14, "{line}");
            assert!(line["seconds"].as_f64().unwrap() > 0.0, "{line}");
        }
    }
}

#[test]
fn the_default_backend_is_dynamic_and_every_policy_gives_the_same_error() {
    let errors = ["lws", "ws", "eager", "prio"].map(|policy| {
        let line = drawloom(&small(&["--policy", policy, "--json"])).exits(0).json();
        assert_eq!((&line["backend"], &line["policy"]), (&"dynamic".into(), &policy.into()));
        line["max_error"].clone()
    });
    assert!(errors.windows(2).all(|pair| pair[0] == pair[1]), "the bits of the factor do not depend on it: {errors:?}");
}

#[test]
fn the_seed_changes_the_matrix() {
    let error = |seed| drawloom(&small(&["--seed", seed, "--json"])).exits(0).json()["max_error"].clone();
    assert_eq!(error("1"), error("1"));
    assert_ne!(error("1"), error("2"));
}

#[test]
fn without_json_the_result_is_for_people() {
    let ran = drawloom(&small(&[])).exits(0);
    assert!(
        ran.out.starts_with("cholesky of 90 rows in tiles of 16: 56 tasks, dynamic, lws, 2 workers\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains(" GFlop/s\n") && ran.out.contains("largest error"), "{}", ran.out);
}

#[test]
fn settings_that_cannot_be_used_are_named_and_exit_with_2() {
    for (arguments, expected) in [
        (&["--tile", "0"][..], "both must be at least 1"),
        (&["--n", "0"], "both must be at least 1"),
        (&["--n", "10", "--tile", "11"], "tiles of 11 rows are larger than the matrix, which has 10"),
        (&["--workers", "0"], "there can be 1 to 1024 workers, not 0"),
        (&["--workers", "1e6"], "there can be 1 to 1024 workers, not 1000000"),
        (&["--policy", "fastest"], "`fastest`"),
        (&["--backend", "gpu"], "possible values: serial, dynamic, replay"),
        (&["--n", "1e7"], "GiB of memory"),
        (&["--n", "1e6", "--tile", "1e5", "--backend", "replay"], "GiB of memory"),
        (&["--n", "18446744073709551615"], "does not fit into memory"),
        (&["--n", "-4"], "-4"),
    ] {
        let ran = drawloom(&[&["run", "cholesky"], arguments].concat()).exits(2);
        assert!(ran.err.contains(expected), "{arguments:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{arguments:?}");
    }
}
