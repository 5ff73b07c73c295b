# SPDX-License-Identifier: Apache-2.0
"""The examples of the docstrings give what they say, and whatever can be called has one."""

import doctest
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

import nibble as package

FOLDER = Path(package.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if ">>> " in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", MODULES)
def test_examples(nibble, name, float_run, quantized, tmp_path, request):
    if name == "mlperf" and not request.getfixturevalue("has_loadgen"):
        pytest.skip("this build has no LoadGen")
    module = importlib.import_module(f"nibble.{name}")
    known = {
        "nibble": nibble,
        "np": np,
        "digits_model": quantized,
        "digits_float": float_run.model,
        "workspace": tmp_path,
    }
    failed, tried = doctest.testmod(module, extraglobs=known)
    assert tried > 0 and failed == 0


def test_every_function_has_an_example(nibble):
    named = {name: getattr(nibble, name) for name in nibble.__all__}
    functions = {name: each for name, each in named.items() if inspect.isfunction(each)}
    assert len(functions) > 12
    assert [name for name, each in functions.items() if ">>> " not in (each.__doc__ or "")] == []
