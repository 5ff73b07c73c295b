# SPDX-License-Identifier: Apache-2.0
"""Pictures by matplotlib, which the extra ``plot`` brings along: ``pip install '.[plot]'``, or a wheel's file in place of the dot."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nibble import _core

if TYPE_CHECKING:
    from nibble.quantization import QuantizedModel
    from nibble.training import Run


def _new_figure() -> Any:
    """A figure that notebooks show, whether or not pyplot is loaded."""
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(8, 4), layout="constrained")

    def as_png() -> bytes:
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=72)
        return png.getvalue()

    figure._repr_png_ = as_png
    return figure


def _axes(axes: Any, title: str) -> Any:
    if axes is None:
        axes = _new_figure().add_subplot()
    axes.set_title(title)
    return axes


def formats(names: Iterable[str], axes: Any = None) -> Any:
    """The positive values of formats on a line each, by their size. Gives the figure.

    >>> [label.get_text() for label in nibble.plot.formats(["e2m1", "posit(6,1)"]).axes[0].get_yticklabels()]
    ['e2m1', 'posit(6,1)']
    """
    axes = _axes(axes, "positive values")
    listed = list(names)
    for row, name in enumerate(listed):
        values = _core.Format(name).values()
        positive = values[values > 0]
        axes.plot(positive, [row] * len(positive), "|", markersize=14)
    axes.set_xscale("log", base=2)
    axes.set_yticks(range(len(listed)), listed)
    axes.invert_yaxis()
    return axes.figure


def curves(*runs: Run, metric: str = "top1", axes: Any = None) -> Any:
    """A metric of runs by epoch, top1 or loss: a colour for each run, dashed for the train split. Gives the figure.

    >>> nibble.plot.curves(digits_run, metric="loss").savefig(workspace / "loss.svg")
    """
    axes = _axes(axes, metric)
    for colour, run in enumerate(runs):
        history = run.history
        for split, style in (("train", "--"), ("val", "-."), ("test", "-")):
            column = history.get(f"{split}_{metric}", [])
            if any(value is not None for value in column):
                axes.plot(history["epoch"], column, style, color=f"C{colour}", label=f"{run.folder.name} {split}")
    axes.set_xlabel("epoch")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend()
    return axes.figure


def placement(plan: dict[str, Any], axes: Any = None) -> Any:
    """Microseconds of every pass of ``nibble.place``, coloured by the device that computes it. Gives the figure.

    >>> plan = nibble.place("mlp-64-32-10", data="digits", threads=1)
    >>> nibble.plot.placement(plan).savefig(workspace / "plan.svg")
    """
    axes = _axes(axes, f"a step, placed: {plan['chosen']}")
    units = plan["units"]
    for device in dict.fromkeys(unit["device"] for unit in units):
        own = [i for i, unit in enumerate(units) if unit["device"] == device]
        axes.barh(own, [units[i]["us"][device] for i in own], label=device)
    axes.set_yticks(range(len(units)), [f"{unit['node']} {unit['pass']}" for unit in units], fontsize="x-small")
    axes.set_xlabel("µs")
    axes.invert_yaxis()
    axes.legend()
    return axes.figure


def errors(model: QuantizedModel, axes: Any = None) -> Any:
    """What quantization lost of each layer's values: SQNR in dB, more is better. Gives the figure.

    >>> nibble.plot.errors(digits_model).savefig(workspace / "errors.svg")
    """
    axes = _axes(axes, f"{model.name}: SQNR in dB")
    names = [row["name"] for row in model.errors]
    sqnrs = [row["sqnr_db"] for row in model.errors]
    axes.barh(range(len(names)), [sqnr if math.isfinite(sqnr) else 0 for sqnr in sqnrs])
    for place, sqnr in enumerate(sqnrs):
        if sqnr == math.inf:
            axes.text(0, place, " exact", va="center")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    return axes.figure
