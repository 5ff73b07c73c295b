# SPDX-License-Identifier: Apache-2.0
"""The bundled digits, and what a model's file holds."""

import gzip
import json
import math
import re
import struct
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))  # of train_case

TRAIN_IMAGES, ANSWERED = 1437, 64


def idx(name):
    """The bytes of an IDX file: zeros, a type, the number of extents, the extents, the bytes."""
    data = gzip.decompress((ROOT / "data" / "digits" / name).read_bytes())
    extents = struct.unpack_from(f">{data[3]}I", data, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(extents)


IMAGES, LABELS = idx("images.idx3.gz")[..., None], idx("labels.idx1.gz").astype(np.int64)


def model_of(path):
    """(network, tensors by name) of a .nib file."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    network = json.loads(header.pop("__metadata__")["network"])
    kinds = {"I8": np.int8, "I32": np.int32, "I64": np.int64, "U8": np.uint8, "F32": np.float32}
    tensors = {}
    for name, tensor in header.items():
        begin, end = (8 + size + offset for offset in tensor["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], kinds[tensor["dtype"]]).reshape(tensor["shape"])
    return network, tensors


def exponent_of(format_of):
    """Of {"format": "int8(scale=0.03125)", …}: -5. The scale is the decimal number nearest to an f32."""
    return int(math.log2(np.float32(re.fullmatch(r"int8\(scale=(.*)\)", format_of["format"])[1])))
