# SPDX-License-Identifier: Apache-2.0
"""Whole networks from floats to integers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from html import escape
from typing import TYPE_CHECKING, Any

from nibble import _networks
from nibble.arguments import as_list, as_name
from nibble.data import known_data
from nibble.exporting import float_model
from nibble.gathering import gathered
from nibble.model import Model, Path
from nibble.options import as_options
from nibble.progress import Bar
from nibble.tables import Columns, numbers_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nibble.keywords import QuantizeOptions


class QuantizedModel(Model):
    """A model of integers, with what quantization lost on the way to it."""

    def __init__(
        self,
        core: _networks.Model,
        fake: Model,
        errors: list[dict[str, Any]],
        scan: list[dict[str, Any]],
        history: Columns,
        calibrated: int,
        seconds: float,
    ) -> None:
        super().__init__(core)
        self.fake = fake
        """Floats that round as the integers do."""
        self.errors = errors
        """Of every layer, float against quantized: name, op, sqnr_db (infinite where nothing was lost), worst_channel, …"""
        self.scan = scan
        """What each layer's weight in 8 to 2 bits does, where ``scan=True`` or ``report=`` asked for it."""
        self.history = history
        """Columns of fine-tuning: epoch, train_loss, train_top1, seconds; a row for each epoch of this call."""
        self.calibrated = calibrated
        """How many images have shown the ranges."""
        self.seconds = seconds
        """What quantization took, without the scan and fine-tuning."""

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


class _Course:
    """How far quantization is, each stage and each epoch of fine-tuning a step, and what the epochs have said."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._rows: list[dict[str, Any]] = []

    def tell(self, stage: str, epochs: int, row: dict[str, Any] | None, is_over: bool) -> None:
        """A stage that begins; or the row of an epoch of fine-tuning as far as it is, and whether it is over."""
        done = {"calibration": 0, "rounding": 1, "fine-tuning": 2, "integers": epochs + 2}[stage]
        if row is None:
            self._bar.tell(stage, done, epochs + 3)
            return
        done_of_it = row["epoch"] - 1 + row.pop("share")
        show = self._bar.tell if is_over else self._bar.move
        show(f"{stage}, loss {row['train_loss']:.4f}", done + done_of_it, epochs + 3)
        if is_over:
            self._rows.append(row)

    def history(self) -> Columns:
        """A column for each number of an epoch."""
        return {name: [row[name] for row in self._rows] for name in self._rows[0]} if self._rows else {}


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
    report: Path = "",
    example: Any = None,
    mean: Sequence[float] | None = None,
    deviation: Sequence[float] | None = None,
    progress: bool = True,
    **options: Unpack[QuantizeOptions],
) -> QuantizedModel:
    """Makes a float model one of integers: what ``nibble quantize`` makes, bit for bit.

    model: a ``.nib`` or ``.onnx`` file, a Model, a torch.export.ExportedProgram, or a torch.nn.Module, which is exported
    (``example`` is one input of it; the first of the calibration otherwise). mean, deviation: of each channel, of modules and
    of ``.onnx`` files, which do not say them: bytes enter as (byte/255 - mean)/deviation. calibration: a data set's name or
    path, an array of inputs, (x, y), or an iterable of batches, which show the ranges; loaders and generators are read until
    there are ``samples`` (1024), and to their end where finetune without data= or max_loss takes all. report: a page to
    write, with what each layer lost. Keywords are the command's options, with _ for -: weights="int4", activations="uint8", method="mse",
    recipe="int4-weights", finetune=3 with data=… and lr, crop, flip, seed, …

    Ctrl-C ends fine-tuning within a batch, as nibble.errors.Interrupted, a KeyboardInterrupt: with checkpoint=FILE, which is
    yours to remove, the same call goes on from there to the same weights. Other stages come to their end first.

    >>> model = nibble.quantize_network(digits_float, "digits", weights="int4", samples=64, progress=False)
    >>> model.is_float, model.errors[0]["name"], model.evaluate("digits").images
    (False, 'conv1', 360)
    >>> tuned = {"finetune": 1, "samples": 64, "report": workspace / "lost.html", "progress": False}
    >>> model = nibble.quantize_network(digits_float, "digits", **tuned)
    >>> model.history["epoch"], model.calibrated, (workspace / "lost.html").exists()
    ([1], 64, True)
    """
    files = as_name("quantize", "checkpoint", checkpoint, "a path"), as_name("quantize", "report", report, "a path")
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
        "calib": "calibration",
        "data": None if data is None else "arrays",
    }
    calibration = gathered(calibration, most=_networks.calibration_samples(as_options(given)))
    lists = {"mean": mean, "deviation": deviation}
    entry = {name: each if each is None else as_list("quantize", name, each, "numbers") for name, each in lists.items()}
    source_model, source = float_model(model, calibration, example, as_options(entry))
    shape = source_model.input_shape
    with ExitStack() as stack:
        given["calib"] = stack.enter_context(known_data(calibration, "calibration", shape))
        if data is not None:
            given["data"] = stack.enter_context(known_data(data, "arrays", shape))
        course = _Course(stack.enter_context(Bar("quantize", progress)))
        integers, fake, errors, scanned, calibrated, seconds = _networks.quantize_network(
            source_model._core, source, as_options(given), *files, course.tell
        )
    found = numbers_of(json.loads(errors)), numbers_of(json.loads(scanned))
    return QuantizedModel(integers, Model(fake), *found, course.history(), calibrated, seconds)
