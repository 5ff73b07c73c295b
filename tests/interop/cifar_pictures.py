# SPDX-License-Identifier: Apache-2.0
"""The first test pictures of CIFAR-10, unpacked by the data's own script, as ResNet-20 takes them."""

import importlib.machinery
import importlib.util
import lzma
import os
import sys
import unittest
from pathlib import Path

import numpy as np

RESNET20 = Path(os.environ.get("NIBBLE_DATA", "/nowhere")) / "resnet20-cifar10"


def first_pictures(count):
    """(count, 3, 32, 32) of float32, normalized; skips the test where there is no data."""
    pack = RESNET20.parent / "cifar10" / "unpack"
    if not RESNET20.exists() or not pack.exists():
        raise unittest.SkipTest("no resnet20-cifar10 and cifar10 in NIBBLE_DATA")
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("unpack", str(pack))
    unpack = importlib.util.module_from_spec(importlib.util.spec_from_loader("unpack", loader))
    loader.exec_module(unpack)
    blob = lzma.open(pack.parent / "cifar10.medpack.xz").read()
    planes = np.frombuffer(blob, np.uint8, 3 * unpack.COUNT * 1024, 8 + unpack.COUNT)
    planes = planes.reshape(3, unpack.COUNT, 32, 32)[:, 50000:50000 + count]
    colours = {}
    for index, channel in ((0, 1), (1, 0), (2, 2)):
        residual = planes[index].transpose(1, 2, 0).astype(np.int16)
        plane = np.empty((32, 32, count), np.int16)
        green = colours.get(1)
        for y in range(32):
            for x in range(32):
                value = unpack.predict(plane, y, x) + residual[y, x]
                plane[y, x] = value & 255 if green is None else ((green[y, x] + value) & 255) - green[y, x]
        colours[channel] = plane if green is None else plane + green
    pictures = np.stack([colours[c].transpose(2, 0, 1) for c in range(3)], 1)
    mean = np.array([0.485, 0.456, 0.406])[:, None, None]
    deviation = np.array([0.229, 0.224, 0.225])[:, None, None]
    return ((pictures / 255 - mean) / deviation).astype(np.float32)
