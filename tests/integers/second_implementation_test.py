# SPDX-License-Identifier: Apache-2.0
"""`nibble train --arith int8` beside the second implementation: every number of the model and its frozen answers."""

import gzip
import json
import struct
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

from second_implementation import Settings, trained  # noqa: E402
from train_case import TrainCase, main  # noqa: E402

DIGITS = ROOT / "data" / "digits"
TRAIN_IMAGES = 1437


def idx(name):
    """The bytes of an IDX file: a magic number with the count of extents, the extents, the bytes."""
    data = gzip.decompress((DIGITS / name).read_bytes())
    extents = struct.unpack_from(f">{data[3]}I", data, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(extents)


IMAGES, LABELS = idx("images.idx3.gz")[..., None], idx("labels.idx1.gz").astype(np.int64)


def model_of(path):
    """(network, tensors by name) of a .nib file."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    network = json.loads(header.pop("__metadata__")["network"])
    kinds = {"I8": np.int8, "I32": np.int32, "I64": np.int64}
    tensors = {}
    for name, tensor in header.items():
        begin, end = (8 + size + offset for offset in tensor["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], kinds[tensor["dtype"]]).reshape(tensor["shape"])
    return network, tensors
