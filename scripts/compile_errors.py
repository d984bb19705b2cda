#!/usr/bin/env python3
"""Compares what the compiler says about programs that must not compile with what it is known to say.

The programs are the `compile_fail` doc tests of drawloom-runtime. Beside each there is, in tests/ui, the text of the
compiler's message; its error code must be the one that the doc test names. The words differ from compiler to compiler, so
they are compared only with the version that tests/ui/VERSION names; the codes are always compared.

    python3 scripts/compile_errors.py            compare
    python3 scripts/compile_errors.py --update   write what the compiler says now
"""

import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CRATE = os.path.join(ROOT, "crates", "drawloom-runtime")
UI = os.path.join(CRATE, "tests", "ui")
SOURCES = os.path.join(CRATE, "src", "compile_fail")


def programs():
    """Name, error code and text of each program, in the order of the files."""
    for file in sorted(os.listdir(SOURCES)):
        lines, block, code = [], None, None
        for line in open(os.path.join(SOURCES, file), encoding="utf-8"):
            line = line.rstrip("\n")
            fence = re.match(r"/// ```(\S*)$", line)
            if fence and block is None and fence.group(1).startswith("compile_fail"):
                block, code = [], fence.group(1).partition(",")[2]
            elif fence and block is not None:
                lines, block = block, None
            elif block is not None:
                block.append(re.sub(r"^(# )", "", re.sub(r"^/// ?", "", line)))
            name = re.match(r"const (\w+): \(\) = \(\);", line)
            if name:
                yield name.group(1).lower(), code, lines


def library():
    """Where the compiled library and what it depends on are."""
    command = ["cargo", "build", "--locked", "-p", "drawloom-runtime", "--message-format=json"]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in output.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["target"]["name"] == "drawloom_runtime":
            return next(f for f in message["filenames"] if f.endswith(".rlib"))
    sys.exit("cargo did not say where the library is")


def compile_program(rlib, name, lines, folder):
    """What the compiler says, without what depends on the machine."""
    path = os.path.join(folder, name + ".rs")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#![allow(unused)]\nfn main() {\n" + "".join(f"    {line}\n" for line in lines) + "}\n")
    command = ["rustc", "--edition=2024", "--emit=metadata", "--color=never", "--out-dir", folder]
    command += ["--extern", f"drawloom_runtime={rlib}", "-L", f"dependency={os.path.join(os.path.dirname(rlib), 'deps')}"]
    command += ["-L", f"dependency={os.path.dirname(rlib)}", path]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    text = result.stderr.replace(folder + "/", "").replace(ROOT + "/", "")
    # Where something stands in the library changes with every edit, and is of no matter.
    text = re.sub(r"(crates/[\w/-]+\.rs):\d+:\d+", r"\1", text)
    text = re.sub(r"(/rustc/\w+|/[^ ]*/rustlib/src/rust)/", "", text)
    text = re.sub(r"(library/[\w/-]+\.rs):\d+:\d+", r"\1", text)
    kept, foreign = [], False
    for line in text.splitlines():
        where = re.match(r"\s*(-->|:::) (\S+)", line)
        if where:
            foreign = where.group(2).startswith(("crates/", "library/"))
        elif not re.match(r"\s*(\d+ )?\s*(\||\.\.\.)", line):
            foreign = False
        if foreign and not where:
            continue
        kept.append(line.rstrip())
    return result.returncode, "\n".join(kept) + "\n"


def main():
    update = "--update" in sys.argv[1:]
    version = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    known = os.path.join(UI, "VERSION")
    if update:
        os.makedirs(UI, exist_ok=True)
        with open(known, "w", encoding="utf-8") as file:
            file.write(version + "\n")
    same_words = open(known, encoding="utf-8").read().strip() == version
    if not same_words:
        print(f"the messages in tests/ui are of another compiler than {version}: only error codes are compared")
    rlib, wrong, names = library(), [], set()
    with tempfile.TemporaryDirectory() as folder:
        for name, code, lines in programs():
            names.add(name + ".stderr")
            status, text = compile_program(rlib, name, lines, os.path.realpath(folder))
            if status == 0:
                wrong.append(f"{name}: compiles")
                continue
            found = re.findall(r"^error\[(E\d+)\]", text, re.M)
            if (code and set(found) != {code}) or (not code and found):
                wrong.append(f"{name}: error codes {found} instead of {code or 'none'}\n{text}")
            expected = os.path.join(UI, name + ".stderr")
            if update:
                with open(expected, "w", encoding="utf-8") as file:
                    file.write(text)
            elif not os.path.exists(expected):
                wrong.append(f"{name}: tests/ui has no message of it")
            elif same_words and open(expected, encoding="utf-8").read() != text:
                wrong.append(f"{name}: the compiler says something else now\n{text}")
    for stale in sorted(set(f for f in os.listdir(UI) if f.endswith(".stderr")) - names):
        wrong.append(f"{stale}: there is no such program any more")
    for message in wrong:
        print(message)
    print(f"{len(names)} programs that must not compile, {len(wrong)} of them not as expected")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
