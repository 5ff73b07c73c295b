# SPDX-License-Identifier: Apache-2.0
"""Models of torch, by way of ONNX."""

from __future__ import annotations

import copy
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import chain
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from nibble.arguments import mistaken
from nibble.errors import UsageError
from nibble.gathering import NAMES
from nibble.model import Model, load, load_to_run
from nibble.options import Options

FORMS = "a path, a nibble.Model, a torch.nn.Module or a torch.export.ExportedProgram"
EXAMPLES = ("images", "train_images", "x_train")  # where calibration finds pictures


def example_of(module: Any, calibration: Any) -> Any:
    """The first of the calibration, as floats where the module is."""
    import torch

    if isinstance(calibration, NAMES):
        raise UsageError("[quantize] example: got none beside a data set's name, expected one input of the module")
    name = next((name for name in EXAMPLES if name in calibration), None)
    if name is None:
        raise UsageError(f"[quantize] calibration: got arrays {', '.join(calibration)}, expected one of {', '.join(EXAMPLES)}")
    device = next((each.device for each in chain(module.parameters(), module.buffers())), "cpu")
    return torch.from_numpy(np.array(calibration[name][:1], np.float32)).to(device)


def _read(path: str | os.PathLike[str], entry: Options) -> Model:
    return load_to_run(path, entry) if entry else load(path)


def _exported(module: Any, calibration: Any, example: Any, entry: Options) -> Model:
    """A torch.nn.Module or a torch.export.ExportedProgram as a model, by way of ONNX."""
    import torch

    is_program = not isinstance(module, torch.nn.Module)
    if example is None and not is_program:
        example = example_of(module, calibration)
    with tempfile.TemporaryDirectory() as folder:
        path = FilePath(folder) / f"{type(module).__name__}.onnx"
        if is_program:
            _write_program(module, path)
        else:
            with _evaluating(module):
                _write_module(*_in_fp32(module, example), path)
        return _read(path, entry)


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """The module and all in it evaluate; then each is in the mode in which it was, as a frozen layer of one that trains."""
    modes = [(each, each.training) for each in module.modules()]
    try:
        module.eval()
        yield
    finally:
        for each, was_training in modes:
            each.training = was_training


def _in_fp32(module: Any, example: Any) -> tuple[Any, Any]:
    """A module of other floats as a copy in fp32, with its example: its numbers are then the same, and every processor
    computes it."""
    import torch

    if all(each.dtype == torch.float32 for each in chain(module.parameters(), module.buffers()) if each.is_floating_point()):
        return module, example
    is_real = isinstance(example, torch.Tensor) and example.is_floating_point()
    return copy.deepcopy(module).float(), example.float() if is_real else example


def _write_module(module: Any, example: Any, path: FilePath) -> None:
    """Through torch.export where torch has it and onnxscript is installed; older versions trace."""
    import torch

    if hasattr(torch, "export") and find_spec("onnxscript") is not None:
        _write_program(torch.export.export(module, (example,)), path)
        return
    options: dict[str, Any] = {"dynamo": False} if hasattr(torch, "export") else {}
    torch.onnx.export(module, (example,), str(path), input_names=["input"], opset_version=13, **options)


def _write_program(program: Any, path: FilePath) -> None:
    import torch

    told = logging.getLogger("torch.onnx")
    level = told.level
    told.setLevel(logging.ERROR)  # it warns of packages that nobody has asked for
    try:
        torch.onnx.export(
            program, (), str(path), input_names=["input"], dynamo=True, external_data=False, verbose=False
        )
    finally:
        told.setLevel(level)


def float_model(model: Any, calibration: Any, example: Any, entry: Options) -> tuple[Model, str]:
    """The model of a path, of a torch.nn.Module or itself, and what to call its origin. entry: how bytes enter, where the
    model does not say it."""
    is_path = isinstance(model, NAMES)
    if entry and (isinstance(model, Model) or (is_path and not os.fspath(model).endswith(".onnx"))):
        raise UsageError("[quantize] mean, deviation: got a model that has its own, expected a module or an .onnx file")
    if isinstance(model, Model):
        return model, model.name
    if is_path:
        return _read(model, entry), os.fspath(model)
    if not _is_torchs(model):
        raise mistaken("quantize", "model", model, FORMS)
    return _exported(model, calibration, example, entry), type(model).__name__


def _is_torchs(model: Any) -> bool:
    """Whether it is a module or an exported program; there is none before somebody has imported torch."""
    torch = sys.modules.get("torch")
    kinds = (getattr(torch, "nn", None), "Module"), (getattr(torch, "export", None), "ExportedProgram")
    return any(isinstance(model, getattr(owner, name)) for owner, name in kinds if hasattr(owner, name))
