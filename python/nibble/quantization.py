# SPDX-License-Identifier: Apache-2.0
"""Whole networks from floats to integers."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from contextlib import ExitStack
from html import escape
from importlib.util import find_spec
from pathlib import Path as FilePath
from typing import Any

from nibble import _networks
from nibble.data import known_data
from nibble.errors import UsageError
from nibble.gathering import arrays_of
from nibble.model import Model, Path, load
from nibble.options import as_options
from nibble.progress import Bar


class QuantizedModel(Model):
    """A model of integers, with what quantization lost on the way to it."""

    def __init__(self, core: _networks.Model, fake: Model, errors: list[dict[str, Any]], scan: list[dict[str, Any]]):
        super().__init__(core)
        self.fake = fake
        """Floats that round as the integers do."""
        self.errors = errors
        """Of every layer, float against quantized: name, op, sqnr_db, worst_channel, …"""
        self.scan = scan
        """What each layer's weight in 8 to 2 bits does, where ``scan=True`` asked for it."""

    def _repr_html_(self) -> str:
        keys = list(self.errors[0]) if self.errors else []
        head = "".join(f"<th>{escape(key)}</th>" for key in keys)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(_shown(row[key]))}</td>" for key in keys) + "</tr>" for row in self.errors
        )
        title = f"{self.name}: {self.nbytes:,} bytes of integers, weights {self.weights_hash}"
        return f"<p>{escape(title)}</p><table><tr>{head}</tr>{rows}</table>"


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _exported(module: Any, calibration: Any, example: Any) -> Model:
    """A torch.nn.Module or a torch.export.ExportedProgram as a model, by way of ONNX."""
    import torch

    is_program = not isinstance(module, torch.nn.Module)
    if example is None and not is_program:
        if isinstance(calibration, (str, os.PathLike)):
            raise UsageError("[quantize] example: got none beside a data set's name, expected one input of the module")
        example = torch.as_tensor(arrays_of(calibration)["images"][:1]).float()
    with tempfile.TemporaryDirectory() as folder:
        path = FilePath(folder) / f"{type(module).__name__}.onnx"
        if is_program:
            _write_program(module, path)
        else:
            was_training = module.training
            try:
                _write_module(module.eval(), example, path)
            finally:
                module.train(was_training)
        return load(path)


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


def float_model(model: Any, calibration: Any = None, example: Any = None) -> tuple[Model, str]:
    """The model of a path, of a torch.nn.Module or itself, and what to call its origin."""
    if isinstance(model, Model):
        return model, model.name
    if isinstance(model, (str, os.PathLike)):
        return load(model), os.fspath(model)
    return _exported(model, calibration, example), type(model).__name__


def quantize_network(
    model: Model | Path | Any,
    calibration: Any,
    *,
    data: Any = None,
    weights: str | None = None,
    activations: str | None = None,
    method: str | None = None,
    samples: int | None = None,
    edges: int | None = None,
    recipe: str | None = None,
    per_tensor: bool = False,
    learn_rounding: bool = False,
    equalize: bool = True,
    bias_correction: bool = True,
    per_layer: Path | None = None,
    target_size: int | None = None,
    target_file: int | None = None,
    max_loss: float | None = None,
    scan: bool = False,
    finetune: int | None = None,
    checkpoint: Path = "",
    example: Any = None,
    progress: bool = True,
    **options: Any,
) -> QuantizedModel:
    """Makes a float model one of integers: what ``nibble quantize`` makes, bit for bit.

    model: a ``.nib`` or ``.onnx`` file, a Model, a torch.export.ExportedProgram, or a torch.nn.Module, which is exported
    (``example`` is one input of it; the first of the calibration otherwise). calibration: a data set's name or path, an array of inputs, (x, y), or
    an iterable of batches, which show the ranges. Keywords are the command's options, with _ for -: weights="int4",
    activations="uint8", method="mse", recipe="int4-weights", finetune=3 with data=… and lr, crop, flip, seed, …

    >>> model = nibble.quantize_network(digits_float, "digits", weights="int4", samples=64, progress=False)
    >>> model.is_float, model.errors[0]["name"], model.evaluate("digits").images
    (False, 'conv1', 360)
    """
    source_model, source = float_model(model, calibration, example)
    shape = source_model.input_shape
    given = {
        "weights": weights,
        "activations": activations,
        "method": method,
        "samples": samples,
        "edges": edges,
        "recipe": recipe,
        "per_tensor": per_tensor,
        "learn_rounding": learn_rounding,
        "no_equalize": not equalize,
        "no_bias_correction": not bias_correction,
        "per_layer": per_layer,
        "target_size": target_size,
        "target_file": target_file,
        "max_loss": max_loss,
        "scan": scan,
        "finetune": finetune,
        **options,
    }
    with ExitStack() as stack:
        given["calib"] = stack.enter_context(known_data(calibration, "calibration", shape))
        if data is not None:
            given["data"] = stack.enter_context(known_data(data, "arrays", shape))
        bar = stack.enter_context(Bar("quantize", None, progress))
        integers, fake, errors, scanned, _, _ = _networks.quantize_network(
            source_model._core, source, as_options(given), os.fspath(checkpoint), lambda stage, _: bar.tell(stage)
        )
    return QuantizedModel(integers, Model(fake), json.loads(errors), json.loads(scanned))
