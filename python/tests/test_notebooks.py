# SPDX-License-Identifier: Apache-2.0
"""The short notebooks run from their first cell to their last; `make docs-test` runs all."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
sys.path.insert(0, str(FOLDER))


@pytest.mark.parametrize("name", ["formats", "whole_way"])
def test_notebook(name, nibble, capsys, monkeypatch, tmp_path):
    # The small data that come along, whatever ~/.cache/nibble has; make docs-test takes what is there.
    monkeypatch.delenv("NIBBLE_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    if name != "formats":
        pytest.importorskip("torch")
    from run import run

    assert run(FOLDER / f"{name}.ipynb") >= 4
