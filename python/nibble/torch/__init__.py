# SPDX-License-Identifier: Apache-2.0
"""Low-precision training in PyTorch: quantizers, lowered models, optimizers, simulated accumulators, offloaded layers.

Stochastic rounding is a function of (seed, step, stream, element): neither the device nor a thread nor the
order of calls on other tensors matters. `seed=None` takes a seed from torch's generator for every call.
"""

from . import integer_ops  # noqa: F401: registers operations
from .accumulate import conv2d, linear, matmul
from .accumulate_layers import Conv2d, Linear
from .engine_module import EngineModule
from .lower import lower, report, restore
from .offloading import Backend, OffloadConv2d, OffloadLinear, Traffic, offload, onload, register_backend, traffic
from .optimizer import LowPrecisionOptimizer
from .quantizer import Quantizer, quantizer
from .rounder import Rounder

__all__ = [
    "Backend",
    "Conv2d",
    "EngineModule",
    "Linear",
    "LowPrecisionOptimizer",
    "OffloadConv2d",
    "OffloadLinear",
    "Quantizer",
    "Rounder",
    "Traffic",
    "conv2d",
    "linear",
    "lower",
    "matmul",
    "offload",
    "onload",
    "quantizer",
    "register_backend",
    "report",
    "restore",
    "traffic",
]
