# SPDX-License-Identifier: Apache-2.0
"""What is done with models and runs that are there: evaluate, compare, emit."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any

from nibble import _networks
from nibble.data import known_data
from nibble.errors import UsageError
from nibble.model import Model, Path, opened


@dataclass(frozen=True)
class Evaluation:
    """How a model did; shares are from 0 to 1, and None where there are no classes."""

    images: int
    loss: float
    correct: int | None = None
    top1: float | None = None
    top5: float | None = None
    confusion: list[list[int]] | None = None  # of label (down) and answer (across)
    class_names: list[str] | None = None


def evaluate(
    model: Model | Path,
    data: Any,
    *,
    split: str = "test",
    shifts: str = "frozen",
    device: str = "cpu",
    engine: bool = False,
) -> Evaluation:
    """How a model of floats or of integers does on data: what ``nibble eval --json`` prints.

    Arrays without a name are taken as the train split: with (x, y) it is that one which is counted.

    >>> nibble.evaluate(digits_model, "digits").images
    360
    """
    from nibble.data import arrays_of

    if not isinstance(data, (str, os.PathLike)):
        data = arrays_of(data, opened(model).input_shape)
        if not any(name.startswith(("test", "x_test")) for name in data):
            split = "train"
    with known_data(data, "arrays") as name:
        found = json.loads(_networks.evaluate(opened(model)._core, name, split, shifts, device, engine))
    return Evaluation(**{key: found[key] for key in Evaluation.__dataclass_fields__ if key in found})


@dataclass(frozen=True)
class Emitted:
    """What emitted C needs, in bytes and products of one example."""

    folder: str
    files: int
    ram: int
    flash: int
    macs: int
    plan: str  # table of the arena's pieces
    training_ram: int | None = None  # of the training step, where there is one


def emit(
    model: Model | Path,
    folder: Path,
    *,
    prefix: str = "net",
    target: str = "c99",
    batch: int = 1,
    vectors: int = 10,
    ram: int | None = None,
    flash: int | None = None,
    force: bool = False,
    train: bool = False,
    **training: Any,
) -> Emitted:
    """Writes a model of integers as a folder of plain C, as ``nibble emit`` does; ``make check`` there runs it.

    With train=True also the training step: data="digits", seed, train_batch, train_steps, train_images are the command's
    options; the model may then be the name of a network, whose first weights it gets.

    >>> emitted = nibble.emit(digits_model, workspace / "c", prefix="digits")
    >>> (workspace / "c" / "digits.c").exists(), emitted.flash > 0
    (True, True)
    >>> learns = nibble.emit("mlp-64-32-10", workspace / "t", train=True, data="digits", train_steps=2)
    >>> learns.training_ram > 0, (workspace / "t" / "net_train.c").exists()
    (True, True)
    """
    if training and not train:
        raise UsageError(f"[emit] {next(iter(training))}: got it without train=True, expected both")
    if target not in ("c99", "dsp"):
        raise UsageError(f"[emit] target: got {target!r}, expected 'c99' or 'dsp'")
    for name, value in (("batch", batch), ("vectors", vectors)):
        if not 1 <= value <= 65536:
            raise UsageError(f"[emit] {name}: got {value}, expected 1 to 65536")
    if train:
        shared = {"prefix": prefix, "target": target, "batch": batch, "vectors": vectors, "ram": ram, "flash": flash}
        return _emitted_with_training(model, folder, {**shared, "force": force, "train": True, **training})
    figures = _networks.emit(
        opened(model)._core, os.fspath(folder), prefix, target == "dsp", batch, vectors, ram, flash, force
    )
    return Emitted(os.fspath(folder), *figures)


def _emitted_with_training(model: Model | Path, folder: Path, options: dict[str, Any]) -> Emitted:
    from nibble.command import check_end, run_command
    from nibble.paths import as_path

    with as_path(model) as path:
        text = check_end(run_command("emit", path, options={"output": folder, **options}))
    figures = {name: int(value) for name, value in re.findall(r"^(RAM|parameters|products|training) +(\d+)", text, re.M)}
    return Emitted(
        folder=os.fspath(folder),
        files=int(text.rpartition("wrote ")[2].split()[0]),
        ram=figures["RAM"],
        flash=figures["parameters"],
        macs=figures["products"],
        plan=text.partition("\nRAM ")[0],
        training_ram=figures["training"],
    )


def compare(*models_or_runs: Model | Path, data: Any = None, device: str = "cpu") -> dict[str, Any]:
    """Runs or their folders: settings that differ, results, whether the weights are equal. With data, the answers of two models.

    What ``nibble compare --json`` prints.

    >>> nibble.compare(digits_model, digits_model, data="digits")["agreement"]
    1.0
    """
    if data is None:
        if any(isinstance(each, Model) for each in models_or_runs):
            raise UsageError("[compare] got a model without data, expected data=…, or runs alone")
        if len(models_or_runs) < 2:
            raise UsageError(f"[compare] runs: got {len(models_or_runs)}, expected two or more")
        runs = [os.fspath(each) for each in models_or_runs if not isinstance(each, Model)]
        found: dict[str, Any] = json.loads(_networks.compare_runs(runs))
        return found
    if len(models_or_runs) != 2:
        raise UsageError(f"[compare] models: got {len(models_or_runs)}, expected two beside data")
    first, second = models_or_runs
    with known_data(data, "arrays") as name:
        found = json.loads(_networks.compare_models(opened(first)._core, opened(second)._core, name, device))
    return found
