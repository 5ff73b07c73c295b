# SPDX-License-Identifier: Apache-2.0
"""The PyPI safetensors package reads what Nibble writes, and the other way round.

Runs in .venv (tools/setup makes it); SAFETENSORS_WRITER names safetensors_writer.cpp's program.
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np

try:
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file
except ImportError as error:
    raise SystemExit(print(f"safetensors is not in .venv ({error}): run tools/setup") or 77)

WRITER = os.environ["SAFETENSORS_WRITER"]

# convnet-8x8, in the order of its file
SHAPES = {
    "conv1.weight": (16, 3, 3, 1),
    "conv1.bias": (16,),
    "conv2.weight": (32, 3, 3, 16),
    "conv2.bias": (32,),
    "fc.weight": (10, 128),
    "fc.bias": (10,),
}
TYPES = [np.float64, np.float32, np.float16, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


class Safetensors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, *arguments):
        done = subprocess.run([WRITER, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_model_has_its_names_shapes_and_values(self):
        path = self.folder / "x.nib"
        self.write("model", path)
        tensors = load_file(path)
        self.assertEqual({name: tensor.shape for name, tensor in tensors.items()}, SHAPES)
        first = -0.75
        for name, shape in SHAPES.items():
            count = int(np.prod(shape))
            expected = (first + 0.25 * np.arange(count)).astype(np.float32).reshape(shape)
            np.testing.assert_array_equal(tensors[name], expected)
            self.assertEqual(tensors[name].dtype, np.float32)
            first += 0.25 * count

    def test_metadata_holds_the_network(self):
        path = self.folder / "x.nib"
        self.write("model", path)
        with safe_open(path, "numpy") as file:
            metadata = file.metadata()
        self.assertEqual(set(metadata), {"nibble_format", "network", "weights_hash", "content_hash", "origin"})
        self.assertEqual(metadata["nibble_format"], "1")
        self.assertRegex(metadata["weights_hash"], "^[0-9a-f]{16}$")
        self.assertEqual(json.loads(metadata["origin"]), {"recipe": 'by "hand"'})
        network = json.loads(metadata["network"])
        self.assertEqual(network["name"], "convnet-8x8")
        self.assertEqual(network["class_names"], ["ö"] * 10)
        nodes = {node["name"]: node for node in network["nodes"]}
        self.assertEqual((nodes["conv2"]["channels"], nodes["conv2"]["padding"]), (32, [1, 1]))
        self.assertEqual(nodes["fc"]["value"]["format"], "fp32")

    def test_files_of_the_package_are_read_and_written_alike(self):
        rng = np.random.default_rng(1)
        tensors = {f"t{i}": rng.integers(0, 100, (i, 3)).astype(dtype) for i, dtype in enumerate(TYPES)}
        tensors["scalar"] = np.array(2.5, np.float64)
        tensors["brain"] = np.array([1, -2.5], ml_dtypes.bfloat16)
        theirs, ours = self.folder / "theirs.safetensors", self.folder / "ours.safetensors"
        save_file(tensors, theirs, metadata={"a": "1", "ö": "\n\""})
        self.write("copy", theirs, ours)
        back = load_file(ours)
        self.assertEqual(set(back), set(tensors))
        for name, tensor in tensors.items():
            self.assertEqual(back[name].dtype, tensor.dtype, name)
            np.testing.assert_array_equal(back[name], tensor)
        with safe_open(ours, "numpy") as file:
            self.assertEqual(file.metadata(), {"a": "1", "ö": "\n\""})


if __name__ == "__main__":
    unittest.main()
