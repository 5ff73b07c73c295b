# SPDX-License-Identifier: Apache-2.0
"""The examples of the docstrings give what they say."""

import doctest
import importlib

import numpy as np
import pytest

MODULES = "data engine errors evaluation network options quantization sweeping training".split()


@pytest.mark.parametrize("name", MODULES)
def test_examples(nibble, name, float_run, quantized, tmp_path):
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
