# SPDX-License-Identifier: Apache-2.0
"""Runs the cells of a notebook, one after the other, without Jupyter, and compares what they print with what the notebook has:
python run.py NOTEBOOK.ipynb

Cells that are marked as pictures are left out where there is no matplotlib; what is marked `varies` (times, what torch has
trained, what this machine lacks) may print something else.
"""

from __future__ import annotations

import ast
import io
import json
import sys
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def cells_of(notebook: Path) -> list[dict[str, Any]]:
    has_pictures = find_spec("matplotlib") is not None
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    return [cell for cell in code if has_pictures or "picture" not in tags_of(cell)]


def tags_of(cell: dict[str, Any]) -> list[str]:
    return cell["metadata"].get("tags", [])


def said_by(source: str, name: str, known: dict[str, Any]) -> str:
    """What a cell prints, and its last expression, which Jupyter shows."""
    body = ast.parse(source, name).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    with redirect_stdout(io.StringIO()) as said:
        exec(compile(ast.Module(body, []), name, "exec"), known)
        value = None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), known)
        if value is not None:
            print(repr(value))
    return said.getvalue()


def stored_in(cell: dict[str, Any]) -> str:
    """The same, as the notebook has it."""
    texts = [each.get("text", []) for each in cell["outputs"] if each.get("name") == "stdout"]
    results = [each["data"]["text/plain"] for each in cell["outputs"] if each["output_type"] == "execute_result"]
    return "".join(["".join(text) for text in texts] + ["".join(text) + "\n" for text in results])


def run(notebook: Path) -> int:
    """How many cells there were."""
    known = {"__name__": "__main__"}
    cells = cells_of(notebook)
    for i, cell in enumerate(cells):
        name = f"{notebook.name}, cell {i + 1}"
        said = said_by("".join(cell["source"]), name, known)
        print(said, end="")
        if "varies" not in tags_of(cell) and said != stored_in(cell):
            raise ValueError(f"{name}: got\n{said}expected, as the notebook has it,\n{stored_in(cell)}")
    return len(cells)


if __name__ == "__main__":
    print(run(Path(sys.argv[1])), "cells")
