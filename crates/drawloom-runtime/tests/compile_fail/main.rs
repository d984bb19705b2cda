//! Programs that must not compile: what the types of this crate refuse.
//!
//! Each program stands for a race, a dangling reference or a plain mistake, with the compiler's message beside it. The
//! function of the same name in `corrected` does the same thing right and must run, so that a program is refused for the
//! mistake that its name states and for nothing else.
//!
//! | folder | mistakes with |
//! |---|---|
//! | `views` | what a body receives |
//! | `bodies` | what a body takes, captures and returns |
//! | `data` | what is stored |
//! | `guards` | access from outside of tasks |

#![allow(unused, clippy::ptr_arg)]

mod corrected {
    mod bodies;
    mod data;
    mod guards;
    mod views;
}

use std::process::Command;

/// The compiler whose messages the `.stderr` files hold. Its words differ from version to version.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn the_compiler_refuses_each_mistake_with_the_known_message() {
    let version = Command::new("rustc").arg("--version").output().expect("rustc runs").stdout;
    let version = String::from_utf8_lossy(&version);
    if !version.starts_with(COMPILER) && std::env::var_os("TRYBUILD").is_none() {
        eprintln!("left out: the messages are those of {COMPILER}x, and this is {version}");
        return;
    }
    let programs = trybuild::TestCases::new();
    for folder in ["views", "bodies", "data", "guards"] {
        programs.compile_fail(format!("tests/compile_fail/{folder}/*.rs"));
    }
}
