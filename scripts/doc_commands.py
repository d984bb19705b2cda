#!/usr/bin/env python3
"""Runs the shell commands in README.md and the guide, and compares what they print with what the page says.

In a fenced block tagged `console`, a line `$ command` is run and the lines up to the next `$` are what it must print, on
standard output and standard error together. `console,exit:1` says that the commands of a block end with exit code 1. A
block tagged `loom` or `json` that has a `file:NAME` in its tag is written to that name first. The commands of a page share
one scratch folder, which holds a copy of `examples`; the release builds of `drawloom` and `drawloom-bench` are on the PATH. Commands that start
with `cargo` run in the repository instead, and only their standard output counts: cargo speaks on standard error.

    scripts/doc_commands.py             compare
    scripts/doc_commands.py --update    put what the commands print into the pages
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAIN_JOB = "cargo run --release -- "
TEST_COMMAND = "cargo test --workspace"
LONGEST = 600


def target_folder():
    """Where cargo puts what it builds."""
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()


def environment():
    """The environment of the commands: our program on the PATH, and no colour."""
    env = dict(os.environ)
    env["PATH"] = f"{target_folder() / 'release'}{os.pathsep}{env['PATH']}"
    env["NO_COLOR"] = "1"
    env["CARGO_TERM_COLOR"] = "never"
    env.pop("CLICOLOR_FORCE", None)
    return env


def run(command, folder):
    """Runs one command line and returns its exit code and everything it printed."""
    cargo = command.startswith("cargo ")
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=ROOT if cargo else folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if cargo else subprocess.STDOUT,
        timeout=LONGEST,
        check=False,
    )
    printed = done.stdout + (done.stderr if cargo and done.returncode != 0 else b"")
    return done.returncode, printed.decode("utf-8", "replace")


class Page:
    """One page with its commands."""

    def __init__(self, path):
        self.path = path
        self.lines = path.read_text(encoding="utf-8").split("\n")
        self.commands = 0
        self.problems = []

    def work(self, folder, update):
        """Runs every command of the page, in order, and returns the page with the outputs put in."""
        out = []
        at = 0
        while at < len(self.lines):
            opening = re.match(r"^(`{3,})(\S+)$", self.lines[at])
            if not opening:
                out.append(self.lines[at])
                at += 1
                continue
            fence, tags = opening.group(1), opening.group(2).split(",")
            end = next(i for i in range(at + 1, len(self.lines)) if self.lines[i] == fence)
            body = self.lines[at + 1 : end]
            names = [tag[5:] for tag in tags if tag.startswith("file:")]
            if names:
                (folder / names[0]).write_text("\n".join(body) + "\n", encoding="utf-8")
            if tags[0] == "console":
                exits = [int(tag[5:]) for tag in tags if tag.startswith("exit:")]
                body = self.console(at + 2, body, exits[0] if exits else 0, folder)
            out += [self.lines[at], *body, fence]
            at = end + 1
        if update:
            self.path.write_text("\n".join(out), encoding="utf-8")
        return out

    def console(self, number, body, wanted, folder):
        """Runs the commands of one block."""
        out = []
        at = 0
        while at < len(body):
            command = body[at]
            if not command.startswith("$ "):
                self.problems.append(f"line {number + at}: a console block starts with a command: {command!r}")
                return body
            end = next((i for i in range(at + 1, len(body)) if body[i].startswith("$ ")), len(body))
            code, printed = run(command[2:], folder)
            self.commands += 1
            got = printed.split("\n")[:-1] if printed.endswith("\n") else printed.split("\n") if printed else []
            out += [command, *got]
            if code != wanted:
                self.problems.append(f"line {number + at}: {command}\n  ended with {code}, not {wanted}:\n{printed}")
            elif got != body[at + 1 : end]:
                self.problems.append(f"line {number + at}: {command}\n  prints\n{printed}")
            at = end
        return out


def main_job():
    """The README's first `cargo run` line is a whole command, and it works."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").split("\n")
    first = next((line for line in lines if MAIN_JOB in line), None)
    if first is None:
        return [f"README.md has no line with `{MAIN_JOB.strip()}`"]
    problems = []
    if not first.startswith(MAIN_JOB) or re.search(r"[<>…#`]", first):
        problems.append(f"README.md: the main job is not alone on its line, or has a placeholder: {first!r}")
        return problems
    if TEST_COMMAND not in lines:
        problems.append(f"README.md: `{TEST_COMMAND}` is not alone on a line")
    code, printed = run(first, ROOT)
    if code != 0:
        problems.append(f"README.md: {first}\n  ended with {code}:\n{printed}")
    return problems


def main():
    """Works through every page."""
    update = sys.argv[1:] == ["--update"]
    if sys.argv[1:] and not update:
        sys.exit(__doc__)
    for name, package in (("drawloom", ""), ("drawloom-bench", " -p drawloom-bench")):
        program = target_folder() / "release" / name
        if not program.exists():
            sys.exit(f"{program} is missing: run `cargo build --release{package}` first")
    failed = 0
    commands = 1
    problems = main_job()
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "book" / "src").rglob("*.md"))]
    for path in pages:
        page = Page(path)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            shutil.copytree(ROOT / "examples", folder / "examples")
            page.work(folder, update)
        commands += page.commands
        name = path.relative_to(ROOT)
        problems += [f"{name}, {problem}" for problem in page.problems]
    for problem in problems:
        print(problem)
        failed += 1
    print(f"{commands} documented commands run, {failed} {'updated or failed' if update else 'failed'}")
    if failed and not update:
        sys.exit(1)


main()
