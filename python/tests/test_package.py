# SPDX-License-Identifier: Apache-2.0
"""What a wheel has beside Python files."""

import subprocess
import sys
from pathlib import Path

import pytest

import nibble

FOLDER = Path(nibble.__file__).parent


@pytest.fixture(autouse=True)
def wheel():
    if not (FOLDER / "bin").exists():
        pytest.skip("the package is not that of a wheel with networks")


def test_the_digits_come_along():
    assert sorted(path.name for path in (FOLDER / "share" / "nibble" / "digits").glob("*.gz")) == [
        "images.idx3.gz",
        "labels.idx1.gz",
    ]


def test_the_command_comes_along():
    told = subprocess.run([sys.executable, "-m", "nibble", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"nibble {nibble.__version__}\n"
