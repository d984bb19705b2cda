#!/usr/bin/env python3
"""Checks that no arrow points back: between the crates, and between the rooms inside of a crate.

`scripts/layers.toml` holds the order. A crate may depend only on crates before it in the list `crates`, in its manifest and in
its code. In a crate with a table `rooms`, each top-level module is a room of one layer; a room may use the rooms of its own
layer and of those below it. What points back today is in the list `back` of that crate: a new arrow fails, and so does one of
the list that is gone, so that the list only gets shorter. Tests and their dependencies, comments and text in quotes do not count.

    scripts/layers.py             check
    scripts/layers.py --prune     take the arrows that are gone out of the lists
"""

import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What tests depend on is no part of the crate.
TABLES = ("dependencies", "build-dependencies")
IDENTIFIER = r"(?:r#)?[A-Za-z_][A-Za-z0-9_]*"


def without_comments(text):
    """The code with comments and quoted text blanked out."""
    pattern = re.compile(
        r"""//[^\n]*|/\*.*?\*/|b?r(\#+)".*?"\1|b?r"[^"]*"|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""", re.DOTALL
    )
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def without_tests(code):
    """The code without what only tests compile."""
    at = 0
    while (at := code.find("#[cfg(test)]", at)) >= 0:
        end, depth = at + len("#[cfg(test)]"), 0
        while end < len(code):
            if code[end] in "{([":
                depth += 1
            elif code[end] in "})]":
                depth -= 1
                if depth == 0 and code[end] == "}":
                    break
            elif code[end] == ";" and depth == 0:
                break
            end += 1
        code = code[:at] + code[end + 1 :]
    return code


def names(code, at):
    """The first names of the path or of the group of paths that starts there."""
    rest = code[at:]
    if not rest.lstrip().startswith("{"):
        found = re.match(IDENTIFIER, rest)
        return [found.group(0)] if found else []
    depth, start, out = 0, None, []
    for i, char in enumerate(rest):
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
        if depth == 1 and char in "{,":
            start = i + 1
            found = re.match(r"\s*(" + IDENTIFIER + ")", rest[start:])
            if found:
                out.append(found.group(1))
        if depth == 0:
            break
    return out


def leaves(tree):
    """The names that a `use` of this tree brings into scope, each with the first name of its path."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        parts = re.split(r"\s+as\s+|::", tree)
        return [(parts[-1].strip(), parts[0].strip())]
    head = tree[:brace].split("::")[0].strip()
    inner, depth, start, out = tree[brace + 1 : tree.rindex("}")], 0, 0, []
    for i, char in enumerate(inner + ","):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            if inner[start:i].strip():
                out += [(name, head or first) for name, first in leaves(inner[start:i])]
            start = i + 1
    return out


def is_test_file(path):
    """Whether only tests compile the file."""
    return path.name == "tests.rs" or "tests" in path.parts[:-1]


def used_rooms(source, rooms):
    """Which room uses which: pairs, with one place for each."""
    lib = source / "lib.rs"
    root = {}
    if lib.exists():
        for found in re.finditer(r"\buse\s+([^;]*);", without_comments(lib.read_text(encoding="utf-8"))):
            root.update((name, first) for name, first in leaves(found.group(1)) if first in rooms)
    arrows = {}
    for path in sorted(source.rglob("*.rs")):
        place = path.relative_to(source)
        module = list(place.with_suffix("").parts)
        if module[-1] == "mod":
            module.pop()
        if place.name == "lib.rs" or place.name == "main.rs" or is_test_file(place):
            continue
        room = module[0]
        code = without_tests(without_comments(path.read_text(encoding="utf-8")))
        for found in re.finditer(r"\bcrate::|\b(?:super::)+", code):
            climbs = found.group(0).count("super::")
            if climbs and (climbs != len(module) or code[: found.start()].endswith("::")):
                continue
            for name in names(code, found.end()):
                target = name if name in rooms else root.get(name)
                if target and target != room:
                    line = code.count("\n", 0, found.start()) + 1
                    arrows.setdefault((room, target), f"{path}:{line}")
    return arrows


def crate_problems(folder, order):
    """What is wrong with the arrows between crates."""
    problems = []
    manifests = {}
    for path in sorted([*folder.glob("crates/*/Cargo.toml"), *folder.glob("apps/Cargo.toml")]):
        manifest = tomllib.loads(path.read_text(encoding="utf-8"))
        manifests[manifest["package"]["name"]] = (path, manifest)
    for name in order:
        if name not in manifests:
            problems.append(f"scripts/layers.toml: there is no crate {name}")
    for name, (path, manifest) in manifests.items():
        if name not in order:
            problems.append(f"scripts/layers.toml: the crate {name} is not in the list")
            continue
        before = set(order[: order.index(name)])
        tables = [manifest, *manifest.get("target", {}).values()]
        for other in {other for table in tables for kind in TABLES for other in table.get(kind, {})}:
            if other in order and other != name and other not in before:
                problems.append(f"{path}: {name} depends on {other}, which comes after it")
        library = {crate.replace("-", "_") for crate in order} - {name.replace("-", "_")}
        allowed = {crate.replace("-", "_") for crate in before}
        for source in sorted((path.parent / "src").rglob("*.rs")):
            code = without_comments(source.read_text(encoding="utf-8"))
            for found in re.finditer(r"(?<!::)\b(drawloom(?:_[a-z]+)?)::", code):
                if found.group(1) in library - allowed:
                    line = code.count("\n", 0, found.start()) + 1
                    problems.append(f"{source}:{line}: {name} uses {found.group(1)}, which comes after it")
    return problems


def room_problems(folder, crate, table):
    """What is wrong with the arrows between the rooms of a crate, and which arrows of its list are gone."""
    problems = []
    level = {room: i for i, layer in enumerate(reversed(table["layers"])) for room in layer["rooms"]}
    source = folder / "crates" / crate / "src"
    there = {path.stem if path.is_file() else path.name for path in source.iterdir()} - {"lib", "main"}
    problems += [f"scripts/layers.toml: the room {room} of {crate} is in no layer" for room in sorted(there - set(level))]
    problems += [f"scripts/layers.toml: {crate} has no room {room}" for room in sorted(set(level) - there)]
    allowed = set(table.get("back", []))
    back = {}
    for (room, target), place in used_rooms(source, set(level) & there).items():
        if room in level and level[target] > level[room]:
            back[f"{room} -> {target}"] = place
    for arrow in sorted(set(back) - allowed):
        problems.append(f"{back[arrow]}: {crate}: {arrow} points back: a room uses its own layer and those below it")
    return problems, sorted(allowed - set(back))


def problems_of(folder, layers):
    """Everything that is wrong, and the arrows of each crate's list that are gone."""
    problems, gone = crate_problems(folder, layers["crates"]), {}
    for crate, table in layers.get("rooms", {}).items():
        more, gone[crate] = room_problems(folder, crate, table)
        problems += more
    return problems, gone


def main():
    """Checks, and says what is wrong."""
    prune = sys.argv[1:] == ["--prune"]
    if sys.argv[1:] and not prune:
        sys.exit(__doc__)
    path = ROOT / "scripts" / "layers.toml"
    text = path.read_text(encoding="utf-8")
    layers = tomllib.loads(text)
    problems, gone = problems_of(ROOT, layers)
    for crate, arrows in gone.items():
        for arrow in arrows:
            if prune:
                text = text.replace(f'    "{arrow}",\n', "", 1)
            else:
                problems.append(f"scripts/layers.toml: {crate}: {arrow} is gone: take it out with scripts/layers.py --prune")
    path.write_text(text, encoding="utf-8")
    for problem in problems:
        print(problem.replace(f"{ROOT}/", ""))
    if problems:
        sys.exit(1)
    backs = sum(len(table.get("back", [])) for table in layers.get("rooms", {}).values())
    print(f"{len(layers['crates'])} crates in order; {backs} arrows between rooms still point back")


if __name__ == "__main__":
    main()
