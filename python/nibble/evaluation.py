# SPDX-License-Identifier: Apache-2.0
"""What is done with models and runs that are there: evaluate, compare, emit."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nibble import _networks
from nibble.arguments import as_count, as_flag, as_name, as_text
from nibble.data import known_data
from nibble.errors import UsageError
from nibble.gathering import NAMES, gathered
from nibble.model import Model, Path, opened, opened_to_run
from nibble.options import as_options
from nibble.paths import as_policy_file

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nibble.keywords import EmitTrainingOptions

MOST_EXAMPLES = 65536  # of emitted C


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
    oracle: dict[str, Any] | None = None  # log, compared, agreed: the answers that another log shares


def evaluate(
    model: Model | Path,
    data: Any,
    *,
    split: str = "test",
    policy: Mapping[str, str] | Path | None = None,
    shifts: str = "frozen",
    oracle: Path | None = None,
    image_size: int | None = None,
    skip_broken: bool = False,
    threads: int | None = None,
    device: str = "cpu",
    engine: bool = False,
) -> Evaluation:
    """How a model of floats or of integers does on data: what ``nibble eval --json`` prints.

    Arrays without a name are taken as the train split: with (x, y) it is that one which is counted. policy: formats of
    activations and sums in place of the model's own, by role or as a file. oracle: an accuracy log of MLPerf. image_size,
    skip_broken: of folders of pictures, their side and whether those that cannot be read are left out.

    >>> nibble.evaluate(digits_model, "digits").images
    360
    >>> found = nibble.evaluate(digits_float, "digits", policy={"activation": "e2m1"}, threads=1)
    >>> found.loss > nibble.evaluate(digits_float, "digits").loss
    True
    """
    model = opened(model)
    data = gathered(data, model.input_shape)
    if not isinstance(data, NAMES) and not any(name.startswith(("test", "x_test")) for name in data):
        split = "train"
    with ExitStack() as stack:
        options = {
            "data": stack.enter_context(known_data(data)),
            "split": split,
            "policy": stack.enter_context(as_policy_file(policy)),
            "shifts": shifts,
            "oracle": oracle,
            "image_size": image_size,
            "skip_broken": skip_broken,
            "threads": threads,
            "device": device,
            "engine": engine,
        }
        found = json.loads(_networks.evaluate(model._core, as_options(options)))
    return Evaluation(**{key: found[key] for key in Evaluation.__dataclass_fields__ if key in found})


class ArenaPlan(list[dict[str, Any]]):
    """A row for each value in the arena of emitted C: value, offset, bytes, first and last (the layers between which it is
    used); ``str`` gives the table that the command prints."""

    def __str__(self) -> str:
        width = min(max([5, *(len(row["value"]) for row in self)]), 80)
        lines = [f"{'value':<{width}}  {'offset':>8}  {'bytes':>8}  steps"]
        for row in self:
            place = f"{row['value']:<{width}}  {row['offset']:>8}  {row['bytes']:>8}"
            lines.append(f"{place}  {row['first']} to {row['last']}")
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Emitted:
    """What emitted C needs, in bytes and products of one example."""

    folder: str
    files: int
    ram: int
    flash: int
    macs: int
    plan: ArenaPlan  # what lies where in it
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
    **training: Unpack[EmitTrainingOptions],
) -> Emitted:
    """Writes a model of integers as a folder of plain C, as ``nibble emit`` does; ``make check`` there runs it.

    With train=True also the training step: data="digits", seed, train_batch, train_steps, train_images are the command's
    options; the model may then be the name of a network, whose first weights it gets.

    >>> emitted = nibble.emit(digits_model, workspace / "c", prefix="digits")
    >>> (workspace / "c" / "digits.c").exists(), emitted.flash > 0
    (True, True)
    >>> [(row["value"], row["offset"]) for row in emitted.plan if row["last"] == "fc"]
    [('pool2', 400), ('fc', 0)]
    >>> learns = nibble.emit("mlp-64-32-10", workspace / "t", train=True, data="digits", train_steps=2)
    >>> learns.training_ram > 0, (workspace / "t" / "net_train.c").exists()
    (True, True)
    """
    if training and not train:
        raise UsageError(f"[emit] {next(iter(training))}: got it without train=True, expected both")
    if as_text("emit", "target", target) not in ("c99", "dsp"):
        raise UsageError(f"[emit] target: got {target!r}, expected 'c99' or 'dsp'")
    batch = as_count("emit", "batch", batch, MOST_EXAMPLES, 1)
    vectors = as_count("emit", "vectors", vectors, MOST_EXAMPLES, 1)
    if train:
        shared = {"prefix": prefix, "target": target, "batch": batch, "vectors": vectors, "ram": ram, "flash": flash}
        return _emitted_with_training(model, folder, {**shared, "force": force, "train": True, **training})
    words = as_name("emit", "folder", folder, "a path"), as_text("emit", "prefix", prefix), target == "dsp"
    most_ram = None if ram is None else as_count("emit", "ram", ram)
    most_flash = None if flash is None else as_count("emit", "flash", flash)
    replaces = as_flag("emit", "force", force)
    core = opened_to_run(model)._core
    return _emitted(folder, _networks.emit(core, *words, batch, vectors, most_ram, most_flash, replaces))


def _emitted(folder: Path, text: str) -> Emitted:
    found = json.loads(text)
    return Emitted(os.fspath(folder), **{**found, "plan": ArenaPlan(found["plan"])})


def _emitted_with_training(model: Model | Path, folder: Path, options: dict[str, Any]) -> Emitted:
    from nibble.command import check_end, run_command
    from nibble.paths import as_model_path

    with as_model_path(model) as path:
        return _emitted(folder, check_end(run_command("emit", path, options={"output": folder, "json": True, **options})))


def compare(
    *models_or_runs: Model | Path,
    data: Any = None,
    device: str = "cpu",
    image_size: int | None = None,
    pictures: Path | None = None,
) -> dict[str, Any]:
    """Runs or their folders: settings that differ, results, whether the weights are equal. With data, the answers of two models.

    What ``nibble compare --json`` prints. image_size: the side of the pictures of a folder. pictures: an ``.html`` or
    ``.svg`` to write, with those on which two models differ.

    >>> nibble.compare(digits_model, digits_model, data="digits")["agreement"]
    1.0
    >>> found = nibble.compare(digits_model, digits_float, data="digits", pictures=workspace / "differ.svg")
    >>> found["agreed"] + len(found["different"]), (workspace / "differ.svg").exists()
    (360, True)
    """
    if data is None:
        for name, value in (("pictures", pictures), ("image_size", image_size)):
            if value is not None:
                raise UsageError(f"[compare] {name}: got it with runs, expected two models and data=…")
        if any(isinstance(each, Model) for each in models_or_runs):
            raise UsageError("[compare] got a model without data, expected data=…, or runs alone")
        if len(models_or_runs) < 2:
            raise UsageError(f"[compare] runs: got {len(models_or_runs)}, expected two or more")
        runs = [as_name("compare", "run", each, "a Run or its folder") for each in models_or_runs]
        found: dict[str, Any] = json.loads(_networks.compare_runs(runs))
        return found
    if len(models_or_runs) != 2:
        raise UsageError(f"[compare] models: got {len(models_or_runs)}, expected two beside data")
    page = "" if pictures is None else as_name("compare", "pictures", pictures, "a path")
    how = as_text("compare", "device", device), as_count("compare", "image_size", 0 if image_size is None else image_size), page
    first, second = map(opened, models_or_runs)
    with known_data(data, shape=first.input_shape) as name:
        found = json.loads(_networks.compare_models(first._core, second._core, name, *how))
    return found
