# SPDX-License-Identifier: Apache-2.0
"""Names from elsewhere: refused where they enter, harmless where they are shown; files that are no models."""

import json
import shutil
import struct
import subprocess
import unittest
from pathlib import Path

import numpy as np

from case import NIBBLE, Case, run

CORPUS = Path(__file__).parent.parent / "corpus"
INJECTION = 'x\n#include <stdlib.h>\n__attribute__((constructor)) static void p(void) { system("touch x"); }\n//'
ESCAPE = "\x1b]0;owned\x07\x1b[31mcat"


PLAIN = {"format": "fp32", "rounding": "nearest-even", "overflow": "native"}
BYTES = {**PLAIN, "format": "int8"}
WEIGHTS_HASH = "22d023df7a26411c"  # of l.weight below


def model_of(name="tiny", classes=("cat", "dog"), origin=None):
    """The bytes of a network of integers with one linear layer, as a file from before its content was hashed."""
    nodes = [{"name": "input", "op": "input", "inputs": [], "shape": [8, 8, 1], "mean": [], "deviation": [],
              "value": BYTES, "weight": PLAIN},
             {"name": "f", "op": "flatten", "inputs": [0], "value": PLAIN, "weight": PLAIN},
             {"name": "l", "op": "linear", "inputs": [1], "features": 2, "bias": False, "value": PLAIN, "weight": BYTES}]
    network = {"name": name, "class_names": classes, "nodes": nodes}
    metadata = {"nibble_format": "1", "network": json.dumps(network), "origin": json.dumps(origin or {}),
                "weights_hash": WEIGHTS_HASH}
    header = json.dumps({"__metadata__": metadata,
                         "l.weight": {"dtype": "I8", "shape": [2, 64], "data_offsets": [0, 128]}}).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + bytes(range(128))


class ModelCase(Case):
    def model(self, **changes):
        path = self.folder / "model.nib"
        path.write_bytes(model_of(**changes))
        return path


class Names(ModelCase):
    def test_a_model_with_such_a_name_is_refused_by_every_verb(self):
        model = self.model(name=INJECTION)
        for verb, *options in (("describe",), ("emit", "-o", self.folder / "c"), ("run", "--input", self.input), ("bench",),
                               ("convert", self.folder / "y.onnx")):
            self.fails(1, "model.nib: name: got 'x #include <stdlib.h>", verb, model, *options)
        self.fails(1, "name: got 241 bytes, expected at most 240", "describe", self.model(name="x" * 241))
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["in.npy", "model.nib"])

    def test_classes_and_origins_reach_no_terminal_with_escapes(self):
        for changes in ({"classes": [ESCAPE, "dog"]}, {"name": ESCAPE}, {"origin": {"data": ESCAPE}},
                        {"origin": {ESCAPE: "x"}}):
            process = run("describe", self.model(**changes))
            self.assertEqual((process.returncode, process.stdout), (1, b""))
            self.assertNotIn(b"\x1b", process.stderr)
            self.assertNotIn(b"\x07", process.stderr)
            self.assertIn("control characters", process.stderr.decode())

    def test_other_letters_and_signs_are_welcome(self):
        name = "größe 2 → \"x\" <b> */ \\"
        model = self.model(name=name, classes=["Käse", "犬"])
        about = json.loads(self.done("describe", model, "--json", warning="content_hash"))
        self.assertEqual((about["name"], about["classes"]), (name, ["Käse", "犬"]))
        self.done("emit", model, "-o", self.folder / "c", warning="content_hash")
        comment = (self.folder / "c" / "net.c").read_text().splitlines()[0]
        self.assertEqual(comment, "// The network größe 2 → _x_ _b_ _/ _ in integers.")
        if shutil.which("make") and shutil.which("gcc"):
            text = subprocess.run(["make", "-s", "-C", self.folder / "c", "check"], capture_output=True, check=True).stdout
            self.assertEqual(text, b"0 of 10 test vectors differ\n")

    def test_a_network_in_toml_is_held_to_the_same(self):
        network = self.folder / "net.toml"
        network.write_text(f'name = {json.dumps(INJECTION)}\ninput = [3]\nlayers = [{{ op = "relu" }}]\n')
        self.fails(1, "net.toml:1: name: got 'x #include", "describe", network)
        network.write_text('input = [3]\nclasses = ["a", "\\u001b[31m", "c"]\nlayers = [{ op = "relu" }]\n')
        self.fails(1, "net.toml:2: classes: got '\ufffd[31m', expected a string without control characters", "describe",
                   network)

    def test_errors_and_answers_quote_no_escapes(self):
        for argument in ("\x1b[31mx", "a\nb", "\x9b31m"):
            for code, arguments in ((1, ("describe", argument)), (2, (argument,))):
                process = run(*arguments)
                self.assertEqual(process.returncode, code)
                self.assertEqual(len(process.stderr.splitlines()), 1)
                self.assertNotIn(b"\x1b", process.stderr)
                self.assertNotIn("\x9b".encode(), process.stderr)
        path = self.save("\x1b[31m.npy", np.zeros((8, 8, 1), np.int8))
        text = self.done("run", self.model(), "--input", path, warning="content_hash")
        self.assertIn("\ufffd[31m.npy: ", text.decode())
        self.assertNotIn(b"\x1b", text)

    def test_a_run_named_by_a_recipe_stays_in_runs(self):
        recipe = self.folder / "r.toml"
        recipe.write_text('name = "../../out"\nnetwork = "mlp-64-32-10"\ndata = "digits"\nepochs = 0\n')
        process = subprocess.run([NIBBLE, "train", recipe, "--quiet"], cwd=self.folder, capture_output=True)
        if process.returncode == 2:
            self.skipTest("this build has no training")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual([path.name for path in (self.folder / "runs").iterdir()], ["_._.._out-1"])


class ForeignFiles(ModelCase):
    def test_a_file_that_is_no_model_is_named(self):
        onnx = self.folder / "net.onnx"
        onnx.write_bytes((CORPUS / "onnx" / "valid_lenet").read_bytes())
        advice = "net.onnx: got an ONNX file, expected a .nib model: 'nibble convert FILE MODEL.nib' makes one"
        for verb, *options in (("describe",), ("bench",), ("run", "--input", self.input), ("emit", "-o", self.folder / "c"),
                               ("eval", "--data", "digits")):
            process = run(verb, onnx, *options)
            if process.returncode == 2 and verb == "eval":  # a build without training
                continue
            self.assertEqual(process.returncode, 1)
            self.assertIn(advice, process.stderr.decode())
        self.fails(1, "in.npy: got an array (.npy), expected a .nib model", "bench", self.input)
        self.fails(1, "got a folder, expected a .nib model", "bench", self.folder)

    def test_floats_are_sent_to_quantize(self):
        model = self.folder / "x.nib"
        model.write_bytes((CORPUS / "model" / "valid_linear").read_bytes())
        for verb, *options in (("bench",), ("run", "--input", self.input), ("emit", "-o", self.folder / "c")):
            self.fails(1, "layers in floats: got ", verb, model, *options)
            self.fails(1, "'nibble quantize'", verb, model, *options)


class Paths(ModelCase):
    def test_what_cannot_be_written_is_named(self):
        (self.folder / "file").write_text("a file")
        blocked, long = self.folder / "file" / "below", self.folder / ("x" * 300)
        model = self.model()
        for path, cause in ((blocked, blocked.parent), (long, long)):
            self.assertNotIn("filesystem error", self.fails(1, f" {cause}: ", "emit", model, "-o", path))
            self.fails(1, "cannot ", "emit", model, "-o", path)
            self.assertNotIn("filesystem error", self.fails(1, str(path), "encode", "--to", "e4m3", self.input, path))
        self.fails(1, "cannot write /dev/full: No space", "encode", "--to", "e4m3", self.input, "/dev/full")


if __name__ == "__main__":
    unittest.main()
