# SPDX-License-Identifier: Apache-2.0
"""Number formats in few bits for NumPy arrays and PyTorch tensors.

import nibble, numpy as np
nibble.quantize(np.float32([0.1, 3.14159]), "e4m3")
"""

from nibble._core import Format, has_cuda
from nibble._core import version as __version__
from nibble.codes import Encoded, decode, encode
from nibble.formats import NamedFormat, formats
from nibble.product import Accumulator, matmul
from nibble.rounding import quantize
from nibble.statistics import Statistics, stats

__all__ = [
    "Accumulator",
    "Encoded",
    "Format",
    "NamedFormat",
    "Statistics",
    "__version__",
    "decode",
    "encode",
    "formats",
    "has_cuda",
    "matmul",
    "quantize",
    "stats",
]

Format.__module__ = "nibble"  # where pickles look for it
