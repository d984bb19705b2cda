//! What holds for the program as a whole, and the small commands.

use std::io::Read;
use std::process::Stdio;

use crate::support::{Folder, RACE, SWAP_JSON, VALID, command, drawloom, drawloom_with, example, finish};
use drawloom_graph::Rule;
use serde_json::json;

#[test]
fn every_command_has_help_with_examples() {
    let all = drawloom(&["--help"]).exits(0).out;
    let names = [
        "check",
        "order",
        "explain",
        "show",
        "fmt",
        "stats",
        "convert",
        "rules",
        "run",
        "mesh",
        "model",
        "plot",
        "completions",
    ];
    for name in names {
        assert!(all.contains(&format!("\n  {name} ")), "{name} is not listed: {all}");
        let help = drawloom(&[name, "--help"]).exits(0).out;
        assert!(help.contains(&format!("drawloom {name}")), "{name}: {help}");
        assert!(help.contains("Examples:"), "{name}: {help}");
    }
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    drawloom(&[]).exits(2);
    drawloom(&["chek"]).exits(2);
    drawloom(&["check"]).exits(2);
    drawloom(&["check", "--format", "xml", "a.loom"]).exits(2);
    drawloom(&["completions", "cmd"]).exits(2);
}

#[test]
fn every_shell_gets_completions_for_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = drawloom(&["completions", shell]).exits(0).out;
        for name in ["check", "explain", "completions", "augment"] {
            assert!(script.contains(name), "{shell} does not know {name}");
        }
    }
}

#[test]
fn rules_are_listed_and_each_has_a_page() {
    let list = drawloom(&["rules"]).exits(0).out;
    let lines = drawloom(&["rules", "--format", "json"]).exits(0).json_lines();
    assert_eq!(lines.len(), Rule::ALL.len());
    for (rule, line) in Rule::ALL.iter().zip(lines) {
        assert!(list.contains(&format!("  {:<5} {}\n", rule.code(), rule.meaning())), "{rule}");
        assert_eq!((&line["rule"], &line["meaning"]), (&json!(rule.code()), &json!(rule.meaning())));
        let page = drawloom(&["rules", rule.code()]).exits(0).out;
        assert!(page.starts_with(&format!("# {rule}: ")), "{rule}");
    }
    assert_eq!(drawloom(&["rules", "rf2"]).out, drawloom(&["rules", "RF2"]).out);
    assert!(drawloom(&["rules", "L2"]).exits(0).out.starts_with("# L2: "));
    let ran = drawloom(&["rules", "XY9"]).exits(2);
    assert_eq!(ran.err, "drawloom: there is no rule `XY9`; `drawloom rules` lists them all\n");
}

#[test]
fn converting_there_and_back_keeps_the_graph() {
    let folder = Folder::new();
    let loom = folder.file("swap.loom", drawloom_with(&["convert", "--to", "loom", "-"], SWAP_JSON).exits(0).out);
    let there = drawloom(&["convert", "--to", "json", &loom]).exits(0).json();
    let here = drawloom_with(&["convert", "--to", "json", "-"], SWAP_JSON).exits(0).json();
    assert_eq!(there, here);
    for name in ["stencil.loom", "circuit.loom", "loop.loom"] {
        let json = drawloom(&["convert", "--to", "json", &example(name)]).exits(0).out;
        let direct = drawloom(&["order", "--format", "json", &example(name)]).exits(0).json();
        let through = drawloom_with(&["order", "--format", "json", "-"], &json).exits(0).json();
        assert_eq!(direct["tasks"], through["tasks"], "{name}");
        assert_eq!(direct["happens_before"], through["happens_before"], "{name}");
    }
    drawloom(&["convert", "--to", "json", "missing.loom"]).exits(2);
}

#[test]
fn a_pipe_has_no_colour_unless_it_is_forced() {
    let run = |arguments: &[&str], environment: &[(&str, &str)]| {
        finish(command(arguments).envs(environment.iter().copied()), RACE).exits(1).out.contains('\x1b')
    };
    assert!(!run(&["check", "-"], &[]));
    assert!(run(&["check", "-"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!run(&["check", "-"], &[("CLICOLOR_FORCE", "0")]));
    assert!(!run(&["check", "-"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(run(&["check", "--color", "always", "-"], &[("NO_COLOR", "1")]));
    assert!(!run(&["check", "--color", "never", "-"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!run(&["check", "--format", "json", "-"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn a_reader_that_goes_away_is_not_a_failure() {
    // Far more output than a pipe holds, of which one byte is read.
    let mut program = String::from("region A\n");
    for i in 0..20_000 {
        program.push_str(&format!("task t{i}(update A)\n"));
    }
    let folder = Folder::new();
    let file = folder.file("long.loom", program);
    let mut child = command(&["order", &file]).stdin(Stdio::null()).spawn().expect("the program starts");
    let mut byte = [0];
    child.stdout.take().expect("standard output is piped").read_exact(&mut byte).expect("there is output");
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has /dev/full");
    let ran = finish(command(&["check", "-"]).stdout(full), VALID).exits(2);
    assert!(ran.err.contains("cannot write to standard output"), "{}", ran.err);
}
