# SPDX-License-Identifier: Apache-2.0
"""nibble convert."""

import json
import os
import re
import struct
import subprocess
import unittest
from pathlib import Path

from case import NIBBLE, Case, run


class Convert(Case):
    """A network of four blocks, 8 by 8 pixels, one channel count throughout."""

    def setUp(self):
        super().setUp()
        self.model = self.folder / "toy" / "model"
        (self.model / "npdata").mkdir(parents=True)
        self.write("model", "ResNetQuantized", "compute_mode=s8f32")
        self.conv("conv1", "s8s8s32", 3)
        self.relu("relu")
        self.quantize("quantize1", "u31u16u4", 4)
        self.write("maxpool", "MaxPool2d", "compute_mode=u4u4", "kernel_size=3", "stride=2", "padding=1", "dilation=1",
                   "return_indices=False", "ceil_mode=False")
        for stage in (1, 2, 3, 4):
            self.write(f"layer{stage}", "Sequential", "children_count=1")
            block = f"layer{stage}_0"
            self.write(block, "BottleneckQuantized", "stride=1", "downsample_layer=True")
            for i in (1, 2, 3):
                self.conv(f"{block}_conv{i}", "u4s4s32", 2)
                self.quantize(f"{block}_quantize{i}", "u31u16u4", 4)
            self.relu(f"{block}_relu")
            self.quantize(f"{block}_downsample", "u4u16u31", 31)
        self.write("avgpool", "AvgPool2d", "compute_mode=u4u4", "kernel_size=4", "stride=1", "padding=0",
                   "ceil_mode=False", "count_include_pad=True")
        self.write("fc", "Linear", "compute_mode=u4s8s32", "in_features=2", "out_features=3", "bias=s32,1:3",
                   "!model/npdata/fc.bias", "weight=s8,2:3 2", "!model/npdata/fc.weight")
        self.data("fc.bias", bytes(12))
        self.data("fc.weight", bytes(range(6)))
        self.write("scale", "Scale", "compute_mode=s32f32f32", "out_scale=f32,1:3", "!model/npdata/scale.out_scale")
        self.data("scale.out_scale", struct.pack("<3f", 3000, 4000, 5000))

    def write(self, name, *lines):
        (self.model / name).write_bytes("".join(line + "\r\n" for line in lines).encode())

    def data(self, name, content):
        (self.model / "npdata" / name).write_bytes(content)

    def conv(self, name, mode, channels):
        kind = mode[2:4]
        self.write(name, "Conv2d", f"compute_mode={mode}", f"in_channels={channels}", "out_channels=2",
                   "kernel_size=2:1 1", "stride=2:1 1", "padding=2:0 0", "dilation=2:1 1", "groups=1", "bias=s16,1:2",
                   f"!model/npdata/{name}.bias", f"weight={kind},4:2 {channels} 1 1", f"!model/npdata/{name}.weight")
        self.data(f"{name}.bias", struct.pack("<2h", -5, 7))
        self.data(f"{name}.weight", bytes(range(1, 2 * channels // (2 if kind == "s4" else 1) + 1)))

    def relu(self, name):
        self.write(name, "ReLU", "compute_mode=s32u31", "inplace=True")

    def quantize(self, name, mode, bits):
        self.write(name, "Quantize", f"compute_mode={mode}", f"output_bits={bits}", "shift_bits=3", "max_requant=9",
                   "requant_factor=u16,4:1 2 1 1", f"!model/npdata/{name}.requant_factor")
        self.data(f"{name}.requant_factor", struct.pack("<2H", 9, 1))

    def files(self, folder):
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def there_and_back(self, model, *options):
        """The line and the hash of each way; the files must be the same."""
        nib, copy = self.folder / "x.nib", self.folder / "copy"
        there = self.done("convert", model, nib, *options).decode()
        back = self.done("convert", nib, copy).decode()
        self.assertEqual(self.files(copy), self.files(model))
        form = r"wrote (\S+): (\S+), (\d+) layers, (\d+) bytes, weights ([0-9a-f]{16})\n"
        first, second = re.fullmatch(form, there), re.fullmatch(form, back)
        self.assertEqual((first[1], second[1]), (str(nib), str(copy)))
        self.assertEqual(int(first[4]), nib.stat().st_size)
        self.assertEqual(int(second[4]), sum(map(len, self.files(copy).values())))
        self.assertEqual(first.groups()[1:3] + first.groups()[4:], second.groups()[1:3] + second.groups()[4:])
        return first

    def test_a_layer_directory_comes_back_byte_for_byte(self):
        line = self.there_and_back(self.model, "--input-size", "8")
        self.assertEqual(line.group(2, 3), ("resnet14-int4", "53"))
        about = json.loads(self.done("describe", self.folder / "x.nib", "--json"))
        self.assertEqual(about["weights_hash"], line[5])
        self.assertEqual(about["origin"]["converted_from"], str(self.model))
        self.assertEqual(about["input"], [8, 8, 3])

    def test_the_real_model_comes_back_byte_for_byte(self):
        model = Path(os.environ.get("NIBBLE_DATA", "/nowhere")) / "resnet50-int4" / "model"
        if not model.exists():
            self.skipTest("no resnet50-int4 in NIBBLE_DATA")
        self.assertEqual(self.there_and_back(model).group(2, 3), ("resnet50-int4", "193"))

    def test_an_onnx_file_becomes_a_float_network(self):
        nib = self.folder / "lenet.nib"
        source = Path(__file__).parent.parent / "corpus" / "onnx" / "valid_lenet"
        onnx = self.folder / "lenet.onnx"
        onnx.write_bytes(source.read_bytes())
        done = run("convert", onnx, nib, "--mean", "0.5", "--deviation", "0.25")
        if b"no libonnx" in done.stderr:
            self.skipTest("this build has no libonnx")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("note: LogSoftmax", done.stdout.decode())
        about = json.loads(self.done("describe", nib, "--json"))
        self.assertEqual(about["input"], [6, 6, 1])
        self.fails(1, "mean: got 2 numbers", "convert", onnx, self.folder / "y.nib", "--mean", "0.5,0.5")
        onnx.write_bytes(source.read_bytes()[:-40])
        self.fails(1, "lenet.onnx: ", "convert", onnx, self.folder / "y.nib")
        self.fails(1, "'nibble quantize'", "convert", nib, self.folder / "y.onnx")
        self.assertFalse((self.folder / "y.onnx").exists())
        self.fails(2, "--input-size", "convert", onnx, self.folder / "y.nib", "--input-size", "8")
        self.assertFalse((self.folder / "y.nib").exists())

    def test_weights_need_a_network(self):
        self.fails(2, "--network", "convert", "weights.npz", self.folder / "y.nib")
        self.fails(2, "--network", "convert", "a.onnx", self.folder / "y.nib", "--network", "lenet")
        weights = Path(os.environ.get("NIBBLE_DATA", "/nowhere")) / "resnet20-cifar10" / "resnet20.npz"
        if not weights.exists():
            self.skipTest("no resnet20-cifar10 in NIBBLE_DATA")
        line = self.done("convert", weights, self.folder / "r.nib", "--network", "resnet20").decode()
        self.assertRegex(line, r"resnet20, \d+ layers")
        self.fails(1, "linear.weight (10, 64) is left over", "convert", weights, self.folder / "y.nib", "--network", "lenet")

    def test_failures_are_one_line(self):
        nib = self.folder / "x.nib"
        self.fails(1, "model/avgpool:3: kernel_size: got 4, expected all of the 112 by 112", "convert", self.model, nib)
        self.assertFalse(nib.exists())
        (self.model / "relu").write_text("ReLU\ninplace=True\n")
        self.fails(1, "model/relu:1: compute_mode: got nothing", "convert", self.model, nib)
        self.fails(1, f"expected {self.model}", "convert", self.model.parent, nib)
        self.fails(1, "No such file", "convert", self.folder / "none", nib)
        words = self.folder / "words.txt"
        words.write_text("no model")
        self.fails(1, "got a file of another kind, expected an .onnx file", "convert", words, nib)
        self.fails(1, "No such file", "convert", nib, self.folder / "out")
        self.fails(2, "TO: got", "convert", nib, self.folder / "y.nib")
        self.fails(2, "TO: got", "convert", self.model, self.folder / "y")
        self.fails(2, "--input-size", "convert", nib, self.folder / "y", "--input-size", "8")
        self.fails(2, "", "convert", self.model)

    def test_what_is_there_is_not_overwritten(self):
        nib = self.folder / "x.nib"
        self.done("convert", self.model, nib, "--input-size", "8")
        before = self.files(self.model)
        self.fails(1, "expected a new or an empty folder", "convert", nib, self.model)
        self.assertEqual(self.files(self.model), before)

    def test_folders_above_are_made(self):
        nib = self.folder / "x.nib"
        self.done("convert", self.model, nib, "--input-size", "8")
        copy = self.folder / "new" / "copy" / "model"
        self.done("convert", nib, copy)
        self.assertEqual(self.files(copy), self.files(self.model))
        process = subprocess.run([NIBBLE, "convert", nib, "model-beside"], cwd=self.folder, capture_output=True)
        self.assertEqual(process.returncode, 0, process.stderr)

    def test_help_teaches(self):
        text = run("convert", "--help").stdout.decode()
        for words in ("nibble convert resnet50-int4/model resnet50.nib", "byte for byte", "--input-size"):
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()
