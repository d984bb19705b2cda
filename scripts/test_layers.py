"""Tests of layers.py: what it sees, and that it fails."""

import pathlib
import tempfile
import textwrap
import unittest

import layers

ORDER = {"crates": ["base", "engine", "front"]}
ROOMS = {
    "layers": [{"name": "upper", "rooms": ["top"]}, {"name": "lower", "rooms": ["ground", "beside"]}],
    "back": [],
}


class Arrows(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.crate("base", "")
        self.crate("engine", "base.workspace = true")
        self.crate("front", "engine.workspace = true")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")

    def crate(self, name, dependencies):
        self.write(f"crates/{name}/Cargo.toml", f'[package]\nname = "{name}"\n[dependencies]\n{dependencies}\n')
        self.write(f"crates/{name}/src/lib.rs", "")

    def rooms(self, **files):
        self.write("crates/engine/src/lib.rs", "mod top;\nmod ground;\nmod beside;\npub use top::{Tower, roof::Tile as Slate};\n")
        for room in ("top", "ground", "beside"):
            self.write(f"crates/engine/src/{room}/mod.rs", "")
        for name, text in files.items():
            self.write(f"crates/engine/src/{name.replace('__', '/')}.rs", text)
        return layers.room_problems(self.root, "engine", ROOMS)

    def test_crates_that_use_what_is_before_them_are_in_order(self):
        self.assertEqual(layers.crate_problems(self.root, ORDER["crates"]), [])

    def test_a_dependency_that_points_back_fails(self):
        for table in ("dependencies", "build-dependencies", 'target."cfg(unix)".dependencies'):
            self.write("crates/base/Cargo.toml", f'[package]\nname = "base"\n[{table}]\nfront.workspace = true\n')
            (problem,) = layers.crate_problems(self.root, ORDER["crates"])
            self.assertIn("base depends on front, which comes after it", problem)

    def test_what_tests_depend_on_does_not_count(self):
        self.write("crates/base/Cargo.toml", '[package]\nname = "base"\n[dev-dependencies]\nfront.workspace = true\n')
        self.assertEqual(layers.crate_problems(self.root, ORDER["crates"]), [])

    def test_a_crate_that_is_not_listed_or_not_there_fails(self):
        problems = layers.crate_problems(self.root, ["base", "engine", "gone"])
        self.assertEqual(len(problems), 2)
        self.assertIn("there is no crate gone", problems[0])
        self.assertIn("front is not in the list", problems[1])

    def test_code_that_names_a_later_crate_fails_and_a_comment_does_not(self):
        order = ["drawloom-graph", "drawloom-mesh"]
        for name in ("base", "engine", "front"):
            (self.root / f"crates/{name}/Cargo.toml").unlink()
        for name in order:
            self.crate(name, "")
        self.write("crates/drawloom-graph/src/lib.rs", '// drawloom_mesh::Mesh\nconst TEXT: &str = "drawloom_mesh::Mesh";\n')
        self.assertEqual(layers.crate_problems(self.root, order), [])
        self.write("crates/drawloom-graph/src/lib.rs", "\nuse drawloom_mesh::Mesh;\n")
        (problem,) = layers.crate_problems(self.root, order)
        self.assertIn("lib.rs:2: drawloom-graph uses drawloom_mesh", problem)

    def test_rooms_may_use_their_own_layer_and_those_below(self):
        problems, gone = self.rooms(
            top__mod="use crate::ground::Floor;\nuse crate::beside::{Left, Right};",
            ground__mod="use crate::beside::Left;\nuse super::beside::Right;",
        )
        self.assertEqual((problems, gone), ([], []))

    def test_every_way_to_name_a_room_above_is_seen(self):
        for text in (
            "use crate::top::Tower;",
            "use crate::{beside::Left, top::{Tower, roof}};",
            "fn f() -> crate::top::Tower { todo!() }",
            "use super::super::top::Tower;",
            "use crate::Tower;",
            "use crate::{\n    Slate,\n    beside::Left,\n};",
            "fn f<'a>(x: &'a u8) -> char { let _ = crate::top::new(); 'a' }",
        ):
            problems, _ = self.rooms(ground__floor=text)
            self.assertEqual(len(problems), 1, text)
            self.assertIn("engine: ground -> top points back", problems[0])

    def test_comments_texts_and_tests_do_not_count(self):
        problems, _ = self.rooms(
            ground__floor="""
                //! [`crate::top::Tower`]
                /* crate::top::Tower */
                const TEXT: &str = "crate::top::Tower";
                const RAW: &str = r#"crate::top::"Tower""#;
                #[cfg(test)]
                use crate::top::Tower;
                #[cfg(test)]
                mod tests {
                    use crate::top::{Tower};
                }
            """,
            ground__tests="use crate::top::Tower;",
        )
        self.assertEqual(problems, [])

    def test_an_arrow_of_the_list_is_allowed_until_it_is_gone(self):
        self.rooms(ground__floor="use crate::top::Tower;")
        table = {**ROOMS, "back": ["ground -> top"]}
        self.assertEqual(layers.room_problems(self.root, "engine", table), ([], []))
        self.write("crates/engine/src/ground/floor.rs", "")
        self.assertEqual(layers.room_problems(self.root, "engine", table), ([], ["ground -> top"]))

    def test_a_room_without_a_layer_fails(self):
        problems, _ = self.rooms(attic="")
        self.assertEqual(len(problems), 1)
        self.assertIn("the room attic of engine is in no layer", problems[0])


if __name__ == "__main__":
    unittest.main()
