# SPDX-License-Identifier: Apache-2.0
"""What a wheel has beside Python files."""

import subprocess
import sys
from importlib.metadata import files
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


def test_licences_come_along():
    """Each library of others, and what is compiled in, has its text."""
    texts = {path.name: path for path in files("nibble-nn") if "third-party" in path.parts}
    lines = texts["CONTENTS.txt"].read_text().splitlines()
    owners = dict(line.split(": ") for line in lines)
    assert {"fmt", "nanobind", "nlohmann-json", "onnx", "toml++", "xxhash"} <= owners.keys()
    own = ("_core", "_networks", "libnibble")
    libraries = [path for path in files("nibble-nn") if ".so" in path.name and not path.name.startswith(own)]
    assert libraries and {str(path) for path in libraries} <= owners.keys()
    words = "Permission is hereby granted", "Redistribution and use", "Apache License", "General Public", "License Agreement"
    for name in owners.values():
        assert any(each in " ".join(texts[name].read_text().split()) for each in words), name
