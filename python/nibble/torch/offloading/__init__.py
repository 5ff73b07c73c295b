# SPDX-License-Identifier: Apache-2.0
"""Layers of a model on the CPU whose passes run on an accelerator."""

from .backend import Backend, CudaBackend, register_backend
from .layers import OffloadConv2d, OffloadLinear
from .model import offload, onload, traffic
from .pool import PoolBackend
from .site import Traffic

__all__ = [
    "Backend",
    "CudaBackend",
    "OffloadConv2d",
    "OffloadLinear",
    "PoolBackend",
    "Traffic",
    "offload",
    "onload",
    "register_backend",
    "traffic",
]
