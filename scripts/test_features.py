"""Tests of the features of the crate `drawloom`: what a user of tasks alone compiles."""

import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST = 40
# Parsers, renderers, JSON, and crates that other front ends need.
FOREIGN = """annotate-snippets logos serde serde_core serde_derive serde_json quick-xml png rten-onnx prost clap
    drawloom-lang drawloom-mesh drawloom-messages drawloom-onnx drawloom-stream drawloom-tensor""".split()


def compiled(features):
    """The packages that a user of these features compiles."""
    command = ["cargo", "tree", "-p", "drawloom", "--no-default-features", "--features", features]
    options = ["-e", "normal", "--prefix", "none", "--no-dedupe", "--locked"]
    printed = subprocess.run([*command, *options], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(set(printed.splitlines()))


class Features(unittest.TestCase):
    def test_tasks_alone_are_few_crates_without_parsers_renderers_and_json(self):
        packages = compiled("tasks")
        self.assertLessEqual(len(packages), MOST, "\n".join(packages))
        names = {package.split()[0] for package in packages}
        self.assertIn("drawloom-runtime", names)
        self.assertEqual(sorted(names & set(FOREIGN)), [])

    def test_other_features_bring_what_tasks_do_without(self):
        for feature, crate in {"lang": "annotate-snippets", "meshes": "drawloom-mesh", "streams": "drawloom-stream"}.items():
            self.assertIn(crate, {package.split()[0] for package in compiled(feature)}, feature)


if __name__ == "__main__":
    unittest.main()
