# SPDX-License-Identifier: Apache-2.0
"""Runs the cells of a notebook, one after the other, without Jupyter: python run.py NOTEBOOK.ipynb

Cells that are marked as pictures are left out where there is no matplotlib.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path


def cells_of(notebook: Path) -> list[str]:
    has_pictures = find_spec("matplotlib") is not None
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    return ["".join(c["source"]) for c in code if has_pictures or "picture" not in c["metadata"].get("tags", [])]


def run(notebook: Path) -> int:
    """How many cells there were."""
    known = {"__name__": "__main__"}
    cells = cells_of(notebook)
    for i, cell in enumerate(cells):
        exec(compile(cell, f"{notebook.name}, cell {i + 1}", "exec"), known)
    return len(cells)


if __name__ == "__main__":
    print(run(Path(sys.argv[1])), "cells")
