# SPDX-License-Identifier: Apache-2.0
"""nibble describe."""

import json
import os
import unittest
from pathlib import Path

import numpy as np

from case import Case, run

CORPUS = Path(__file__).resolve().parent.parent / "corpus"
OPERATIONS = Path(__file__).resolve().parent.parent.parent / "docs" / "operations.md"


class Describe(Case):
    def json(self, *arguments, **more):
        return json.loads(self.done("describe", *arguments, "--json", **more))

    def write(self, text):
        path = self.folder / "mine.toml"
        path.write_text(text)
        return path

    def test_the_networks_are_listed_with_their_sizes(self):
        networks = {entry["name"]: entry for entry in self.json()}
        self.assertEqual(len(networks), 20)
        self.assertEqual(networks["vgg-small-7"]["parameters"], 4656512)
        self.assertEqual(networks["resnet50"]["input"], [224, 224, 3])
        text = self.done("describe").decode()
        self.assertRegex(text, r"\nlenet +28x28x1 +11 +430,500 +2,293,000\n")

    def test_a_network_is_a_table_of_layers(self):
        text = self.done("describe", "convnet-16-16").decode()
        self.assertTrue(text.startswith("convnet-16-16\n\nname "), text)
        self.assertRegex(text, r"\nconv1 +conv2d +26x26x16 +144 +97,344 +fp32\n")
        self.assertRegex(text, r"\npool1 +max_pool +13x13x16 +- +- +fp32\n")
        self.assertRegex(text, r"\ntotal +6,448 +380,128")

    def test_json_has_what_a_program_asks_for(self):
        about = self.json("resnet20")
        self.assertIsNone(about["weights_hash"])
        self.assertEqual((about["parameters"], about["running_moments"]), (269722, 1376))
        self.assertEqual(about["multiply_accumulates"], 40551040)
        layers = {layer["name"]: layer for layer in about["layers"]}
        self.assertEqual(layers["layer2.0.shortcut"]["output"], [16, 16, 32])
        self.assertEqual(layers["layer1.0"]["inputs"], ["add1"])
        self.assertEqual(layers["bn1"]["tensors"][2], {"name": "bn1.mean", "shape": [16], "is_trained": False})
        self.assertEqual(layers["conv1"]["weight"]["format"], "fp32")

    def test_formats_are_shown(self):
        path = self.write(
            'input = [4]\nlayers = [{ op = "linear", features = 2, format = "e5m2", weight_format = "mxfp4",'
            ' weight_rounding = "stochastic" }]\n'
        )
        text = self.done("describe", path).decode()
        self.assertTrue(text.startswith("mine\n"))
        self.assertIn("e5m2, weight mxfp4 stochastic\n", text)

    def test_a_model_has_a_hash(self):
        (self.folder / "x.nib").write_bytes((CORPUS / "model" / "valid_linear").read_bytes())
        about = self.json(self.folder / "x.nib", warning="content_hash")
        self.assertRegex(about["weights_hash"], r"^[0-9a-f]{16}$")
        self.assertEqual((about["origin"], about["classes"]), ({"seed": "1"}, ["yes", "no"]))
        text = self.done("describe", self.folder / "x.nib", warning="content_hash").decode()
        self.assertIn(f"\nweights {about['weights_hash']}\nseed: 1\n", text)

    def test_the_trained_resnet20_fits(self):
        path = Path(os.environ.get("NIBBLE_DATA", "")) / "resnet20-cifar10" / "resnet20.npz"
        if not path.exists():
            self.skipTest("no resnet20.npz in NIBBLE_DATA")
        names = {"scale": "weight", "shift": "bias", "mean": "running_mean", "variance": "running_var"}
        ours = {}
        for layer in self.json("resnet20")["layers"]:
            for tensor in layer["tensors"]:
                node, kind = tensor["name"].rsplit(".", 1)
                ours[f"{node}.{names.get(kind, kind)}"] = tensor["shape"]
        with np.load(path) as file:
            theirs = {name: list(file[name].shape) for name in file.files}
        for name, shape in theirs.items():  # PyTorch: out, in, rows, columns
            theirs[name] = [shape[0], shape[2], shape[3], shape[1]] if len(shape) == 4 else shape
        self.assertEqual(ours, theirs)

    def test_operations_say_what_can_be_done_with_them(self):
        rows = {row["operation"]: row for row in self.json("--operations")}
        self.assertEqual(rows["conv2d"]["emit_train"], {"is_there": True, "words": ""})
        self.assertFalse(rows["batch_norm"]["emit_train"]["is_there"])
        self.assertIn("nibble quantize", rows["batch_norm"]["engine"]["words"])
        text = self.done("describe", "--operations").decode()
        self.assertEqual(len(rows), text.split("\n\n")[0].count("\n") - 1)
        self.assertRegex(text, r"\nrelu6 +yes +yes +yes\* +yes\* +yes +yes +yes\* +yes\*\n")
        self.assertRegex(text, r"\nconcat +no +emit --train: ")

    def test_the_page_of_operations_is_this_table(self):
        page = self.done("describe", "--operations", "--markdown").decode()
        self.assertEqual(page, OPERATIONS.read_text(),
                         "stale: nibble describe --operations --markdown > docs/operations.md")

    def test_failures_are_one_line(self):
        self.fails(1, "'alexnet', expected mlp-64-32-10", "describe", "alexnet")
        self.fails(1, "No such file", "describe", self.folder / "none.toml")
        self.fails(1, "No such file", "describe", self.folder / "none.nib")
        self.fails(1, "mine.toml:3: layers[0].'kernels': got an unknown key", "describe",
                   self.write('input = [8, 8, 1]\nlayers = [\n{ op = "conv2d", channels = 3, kernels = 3 }\n]\n'))
        (self.folder / "x.nib").write_bytes((CORPUS / "model" / "bad_hash").read_bytes())
        self.fails(1, "hash of the weights", "describe", self.folder / "x.nib")
        self.fails(2, "", "describe", "lenet", "resnet8")
        self.fails(2, "MODEL", "describe", "lenet", "--operations")
        self.fails(2, "--operations", "describe", "--markdown")

    def test_help_teaches(self):
        text = run("describe", "--help").stdout.decode()
        for words in ("softmax_cross_entropy", "nibble describe resnet20", "docs/networks.md"):
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()
