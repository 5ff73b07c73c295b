# SPDX-License-Identifier: Apache-2.0
"""The notebooks run from their first cell to their last."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
sys.path.insert(0, str(FOLDER))


@pytest.mark.parametrize("name", ["formats", "low_precision_training", "posit_transformer", "whole_way"])
def test_notebook(name, nibble, capsys, monkeypatch):
    monkeypatch.delenv("NIBBLE_DATA", raising=False)  # the small data that come along; make docs-test takes what is there
    if name != "formats":
        pytest.importorskip("torch")
    from run import run

    assert run(FOLDER / f"{name}.ipynb") >= 4
