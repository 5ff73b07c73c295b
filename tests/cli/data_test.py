# SPDX-License-Identifier: Apache-2.0
"""nibble data."""

import gzip
import json
import os
import unittest
from pathlib import Path

from case import Case, run


def idx(*extents, data):
    return bytes([0, 0, 8, len(extents)]) + b"".join(n.to_bytes(4, "big") for n in extents) + data


class Data(Case):
    def data(self, *arguments, code=0):
        """Standard output of a data verb that sees the temporary folder alone, and its error line."""
        process = run("data", *arguments, NIBBLE_DATA=str(self.folder), HOME=str(self.folder))
        self.assertEqual(process.returncode, code, process.stderr.decode())
        self.assertEqual(len(process.stderr.splitlines()), code)
        return process.stdout.decode(), process.stderr.decode()

    def put_mnist(self, labels):
        folder = self.folder / "mnist"
        folder.mkdir(exist_ok=True)
        for part in ("train", "t10k"):
            (folder / f"{part}-images-idx3-ubyte").write_bytes(idx(2, 28, 28, data=bytes(2 * 28 * 28)))
            (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(2, data=bytes(labels))))

    def test_the_list_says_what_is_where(self):
        sets = {entry["name"]: entry for entry in json.loads(self.data("list", "--json")[0])}
        self.assertEqual(list(sets), ["digits", "mnist", "fashion-mnist", "cifar10"])
        self.assertEqual((sets["digits"]["train"], sets["digits"]["test"], sets["digits"]["image"]), (1437, 360, [8, 8, 1]))
        self.assertTrue((Path(sets["digits"]["path"]) / "images.idx3.gz").exists())
        self.assertEqual((sets["cifar10"]["path"], sets["cifar10"]["classes"][3]), (None, "cat"))
        self.put_mnist([1, 2])
        text = self.data("list")[0]
        self.assertRegex(text, rf"\nmnist +60000 +10000 +28x28x1 +10  {self.folder}/mnist\n")
        self.assertRegex(text, r"\ncifar10 .* absent: looked in ")

    def test_packed_pictures_are_explained(self):
        (self.folder / "cifar10").mkdir()
        (self.folder / "cifar10" / "cifar10.medpack.xz").write_bytes(b"")
        command = f"{self.folder}/cifar10/unpack {self.folder}/.cache/nibble/cifar10"
        self.assertIn(f"run '{command}'", self.data("list")[0])
        text, error = self.data("get", "cifar10", code=1)
        self.assertIn(f"or run  {command}\n", text)
        self.assertIn("unpacked", error)

    def test_check_knows_the_digits(self):
        text = self.data("check")[0]
        self.assertRegex(text, r"digits +train +ok +[0-9a-f]{16}\ndigits +test +ok ")
        self.assertRegex(text, r"cifar10 +test +absent")
        states = {(e["name"], e["split"]): e["state"] for e in json.loads(self.data("check", "--json")[0])}
        self.assertEqual((states["digits", "train"], states["mnist", "test"]), ("ok", "absent"))

    def test_check_fails_on_other_bytes(self):
        self.put_mnist([1, 2])
        text, error = self.data("check", code=1)
        self.assertRegex(text, r"mnist +train +mismatch +got [0-9a-f]{16}, expected ec7ac742f8ee5ad2\n")
        self.assertIn("mnist train: mismatch, mnist test: mismatch", error)
        self.put_mnist([1, 10])
        text, error = self.data("check", "mnist", code=1)
        self.assertRegex(text, r"mnist +train +broken .*train-labels-idx1-ubyte.gz: label 1: got 10, expected 0 to 9\n")
        self.assertIn("absent", self.data("check", "cifar10", code=1)[1])

    def test_get_says_what_to_put_where(self):
        self.assertIn("digits is in ", self.data("get", "digits")[0])
        text, error = self.data("get", "mnist", code=1)
        for words in ("train-images-idx3-ubyte.gz", f"put in  {self.folder}/mnist\n", "ec7ac742f8ee5ad2", "https://"):
            self.assertIn(words, text)
        self.assertIn("does not download", error)

    def test_wrong_requests_are_refused(self):
        self.fails(1, "'imagenet'", "data", "check", "imagenet")
        self.fails(1, "'imagenet'", "data", "get", "imagenet")
        self.fails(2, "subcommand", "data")
        self.fails(2, "NAME", "data", "get")

    def test_real_data_is_right_where_it_is(self):
        process = run("data", "check", **{k: v for k, v in os.environ.items() if k == "NIBBLE_DATA"})
        self.assertEqual(process.returncode, 0, process.stdout.decode())


if __name__ == "__main__":
    unittest.main()
