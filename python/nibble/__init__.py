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
    from nibble import integers, mlperf, plot, qtorch, torch
    from nibble.catalog import check_data, datasets, export_data, get_data, preprocess
    from nibble.conversion import convert
    from nibble.data import dataset
    from nibble.engine import Engine
    from nibble.evaluation import Evaluation, compare, emit, evaluate
    from nibble.inspection import (
        Tuning,
        describe,
        doctor,
        measure_formats,
        operations,
        report,
        rescale_tables,
        signature,
        signatures,
        tune,
    )
    from nibble.limits import set_limits
    from nibble.mlperf import LoadGenRun, loadgen
    from nibble.model import Model, load
    from nibble.network import Network, networks
    from nibble.placement import place
    from nibble.quantization import QuantizedModel, quantize_network
    from nibble.sweeping import sweep
    from nibble.training import Run, recipes, train

# Modules that are loaded when they are asked for.
_MODULES = ("integers", "mlperf", "plot", "qtorch", "torch")

# What stands on nibble._networks, whose libraries are loaded when the first of these is asked for.
_NETWORKS = {
    "Engine": "engine",
    "Evaluation": "evaluation",
    "LoadGenRun": "mlperf",
    "Model": "model",
    "Network": "network",
    "QuantizedModel": "quantization",
    "Run": "training",
    "Tuning": "inspection",
    "check_data": "catalog",
    "compare": "evaluation",
    "convert": "conversion",
    "dataset": "data",
    "datasets": "catalog",
    "describe": "inspection",
    "doctor": "inspection",
    "emit": "evaluation",
    "evaluate": "evaluation",
    "export_data": "catalog",
    "get_data": "catalog",
    "load": "model",
    "loadgen": "mlperf",
    "measure_formats": "inspection",
    "networks": "network",
    "operations": "inspection",
    "place": "placement",
    "preprocess": "catalog",
    "quantize_network": "quantization",
    "recipes": "training",
    "report": "inspection",
    "rescale_tables": "inspection",
    "set_limits": "limits",
    "signature": "inspection",
    "signatures": "inspection",
    "sweep": "sweeping",
    "train": "training",
    "tune": "inspection",
}

__all__ = [
    "Accumulator",
    "Encoded",
    "Engine",
    "Error",
    "Evaluation",
    "Format",
    "LoadGenRun",
    "Model",
    "NamedFormat",
    "Network",
    "QuantizedModel",
    "Run",
    "Statistics",
    "Tuning",
    "__version__",
    "check_data",
    "compare",
    "convert",
    "dataset",
    "datasets",
    "decode",
    "describe",
    "doctor",
    "emit",
    "encode",
    "evaluate",
    "export_data",
    "formats",
    "get_data",
    "has_cuda",
    "load",
    "loadgen",
    "matmul",
    "measure_formats",
    "mlperf",
    "networks",
    "operations",
    "place",
    "plot",
    "preprocess",
    "quantize",
    "quantize_network",
    "recipes",
    "report",
    "rescale_tables",
    "set_limits",
    "signature",
    "signatures",
    "stats",
    "sweep",
    "train",
    "tune",
]

Format.__module__ = "nibble"  # where pickles look for it


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"nibble.{name}")
    if name not in _NETWORKS:
        raise AttributeError(f"module 'nibble' has no attribute '{name}'")
    return getattr(import_module(f"nibble.{_NETWORKS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NETWORKS})
