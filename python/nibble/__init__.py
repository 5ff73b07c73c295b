# SPDX-License-Identifier: Apache-2.0
"""Neural networks in few bits: formats for arrays, the integer engine, quantization, training, export.

import nibble, numpy as np
nibble.quantize(np.float32([0.1, 3.14159]), "e4m3")
nibble.Engine("model.nib").run(pictures)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nibble._core import Format, has_cuda
from nibble._core import version as __version__
from nibble.codes import Encoded, decode, encode
from nibble.errors import Error
from nibble.formats import NamedFormat, formats
from nibble.product import Accumulator, matmul
from nibble.rounding import quantize
from nibble.statistics import Statistics, stats

if TYPE_CHECKING:
    from nibble.engine import Engine
    from nibble.model import Model, load

# What stands on nibble._networks, whose libraries are loaded when the first of these is asked for.
_NETWORKS = {
    "Engine": "engine",
    "Model": "model",
    "load": "model",
}

__all__ = [
    "Accumulator",
    "Encoded",
    "Engine",
    "Error",
    "Format",
    "Model",
    "NamedFormat",
    "Statistics",
    "__version__",
    "decode",
    "encode",
    "formats",
    "has_cuda",
    "load",
    "matmul",
    "quantize",
    "stats",
]

Format.__module__ = "nibble"  # where pickles look for it


def __getattr__(name: str) -> Any:
    if name not in _NETWORKS:
        raise AttributeError(f"module 'nibble' has no attribute '{name}'")
    return getattr(import_module(f"nibble.{_NETWORKS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NETWORKS})
