#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a tool such as Nsight Systems is told of the host, by a library that NVTX loads in its place; no GPU is needed.

usage: ranges_test.py LIBRARY    of record_ranges.cpp

Needs python3 with numpy; NIBBLE_BIN names the command.
"""

import sys
import unittest
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from case import has_floats, run  # noqa: E402
from train_case import SMALL, TrainCase, main, quick  # noqa: E402

LIBRARY = sys.argv.pop(1)


def outer(ranges):
    return {each[0] for each in ranges if len(each) == 1}


def inner(ranges):
    """Those within an outer one; copies are never within each other."""
    return {each[1] for each in ranges if len(each) == 2}


class Ranges(TrainCase):
    def ranges_of(self, *options):
        """The ranges of a run by thread, each as the names it lies in, outermost first, and its own."""
        path = self.folder / "ranges.txt"
        process = run("train", SMALL, *quick("--out", self.folder / "run", "--overwrite", *options),
                           NVTX_INJECTION64_PATH=LIBRARY, NIBBLE_RANGES=str(path), NIBBLE_PRETEND="copy_us=1")
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        ranges = defaultdict(list)
        open_ones = defaultdict(list)
        for line in path.read_text().splitlines():
            mark, thread, *name = line.split(" ", 2)
            if mark == ">":
                open_ones[thread].append(name[0])
                ranges[thread].append(tuple(open_ones[thread]))
            else:
                self.assertTrue(open_ones[thread], f"thread {thread} ends what it has not begun")
                open_ones[thread].pop()
        self.assertEqual([each for each in open_ones.values() if each], [], "still open at the end")
        return list(ranges.values())

    def test_every_unit_and_every_copy_of_integers(self):
        (host,) = self.ranges_of("--arith", "int8", "--epochs", "1", "--place", "conv*=pretend, conv2.update=cpu")
        self.assertLessEqual({"input forward", "conv1 forward", "pool1 forward", "fc forward", "loss input error",
                              "fc input error", "fc weight gradient", "fc.weight update", "conv2 weight gradient",
                              "conv1.weight update", "conv2.bias update"}, outer(host))
        self.assertLessEqual({f"{what} {tensor}" for what in ("send", "wait for", "bring in")
                              for tensor in ("input.value", "conv1.value", "conv2.error", "conv2.weight.gradient",
                                             "conv2.weight")}, inner(host))
        self.assertLessEqual({len(each) for each in host}, {1, 2})

    @unittest.skipUnless(has_floats(), "this build has no oneDNN, and so no floats")
    def test_every_layer_and_every_copy_of_floats(self):
        (host,) = self.ranges_of("--epochs", "1", "--place", "conv*=pretend", "--wire", "int8")
        self.assertLessEqual({f"{layer} {way}" for layer in ("conv1", "relu1", "pool2", "conv2", "fc")
                              for way in ("forward", "backward")} | {"loss", "update"}, outer(host))
        self.assertLessEqual({"send conv1.weight", "send conv2.input", "send conv2.error", "wait for conv2.gradients",
                              "bring in conv2.gradients", "wait for conv1.value", "bring in conv2.input_error"},
                             inner(host))


if __name__ == "__main__":
    main(needs_floats=False)
