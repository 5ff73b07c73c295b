# SPDX-License-Identifier: Apache-2.0
"""Low-precision training in PyTorch: quantizers, lowered models, optimizers, simulated accumulators.

Stochastic rounding is a function of (seed, step, stream, element): neither the device nor a thread nor the
order of calls on other tensors matters. `seed=None` takes a seed from torch's generator for every call.
"""

from .accumulate import conv2d, linear, matmul
from .accumulate_layers import Conv2d, Linear
from .lower import lower, report, restore
from .optimizer import LowPrecisionOptimizer
from .quantizer import Quantizer, quantizer
from .rounder import Rounder

__all__ = [
    "Conv2d",
    "Linear",
    "LowPrecisionOptimizer",
    "Quantizer",
    "Rounder",
    "conv2d",
    "linear",
    "lower",
    "matmul",
    "quantizer",
    "report",
    "restore",
]
