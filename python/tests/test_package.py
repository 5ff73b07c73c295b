# SPDX-License-Identifier: Apache-2.0
"""What a wheel has beside Python files."""

import base64
import hashlib
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, files
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


# As an editable install: Python files lie apart from what was compiled.
APART = """
import sys
from importlib.util import module_from_spec, spec_from_file_location

edited, compiled = sys.argv[1:]
spec = spec_from_file_location("nibble", f"{edited}/__init__.py", submodule_search_locations=[edited, compiled])
sys.modules["nibble"] = nibble = module_from_spec(spec)
spec.loader.exec_module(nibble)
sys.argv[1:] = ["--version"]
from nibble.__main__ import main

assert main.__code__.co_filename.startswith(edited)
main()
"""


def test_the_command_is_found_beside_edited_python_files(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "nibble", ignore=shutil.ignore_patterns("*.so", "bin", "libraries", "share"))
    line = [sys.executable, "-c", APART, tmp_path / "nibble", FOLDER]
    told = subprocess.run(line, capture_output=True, text=True)
    assert (told.stdout, told.stderr) == (f"nibble {nibble.__version__}\n", "")


def test_licences_come_along():
    """Each library of others, and what is compiled in, has its text."""
    try:
        files("nibble-nn")
    except PackageNotFoundError:
        pytest.skip("the package was laid beside the tests, not installed")
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


TOOL = Path(__file__).resolve().parents[2] / "tools" / "wheel_name.py"


@pytest.mark.skipif(not TOOL.exists(), reason="the tests stand outside of the tree")
def test_a_wheel_can_have_another_name(tmp_path):
    """pip takes what the tool wrote, with all files in their places and every hash right."""
    own = "nibble_nn-0.1.0"
    members = {"inside/__init__.py": "number = 3\n", f"{own}.data/scripts/says": "#!python\nprint(3)\n"}
    members[f"{own}.dist-info/METADATA"] = "Metadata-Version: 2.1\nName: nibble-nn\nVersion: 0.1.0\n\nName: of the text\n"
    members[f"{own}.dist-info/WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    members[f"{own}.dist-info/RECORD"] = ""
    path = tmp_path / f"{own}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in members.items():
            wheel.writestr(name, text)
    said = subprocess.run([sys.executable, TOOL, path, "nibble-nn-cuda"], capture_output=True, text=True, check=True).stdout
    made = tmp_path / "nibble_nn_cuda-0.1.0-py3-none-any.whl"
    assert Path(said.strip()) == made and made.exists() and not path.exists()
    with zipfile.ZipFile(made) as wheel:
        rows = [row.split(",") for row in wheel.read("nibble_nn_cuda-0.1.0.dist-info/RECORD").decode().split()]
        assert sorted(row[0] for row in rows) == sorted(wheel.namelist())
        for name, code, size in rows:
            digest = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
            assert name.endswith("RECORD") or (code == f"sha256={digest}" and int(size) == len(wheel.read(name)))
        text = wheel.read("nibble_nn_cuda-0.1.0.dist-info/METADATA").decode()
    assert "\nName: nibble-nn-cuda\n" in text and "\nName: of the text\n" in text
    if importlib.util.find_spec("pip"):
        target = ["--target", str(tmp_path / "there"), "--no-index", "--no-deps", "--quiet"]
        subprocess.run([sys.executable, "-m", "pip", "install", *target, made], check=True)
        assert (tmp_path / "there" / "inside" / "__init__.py").read_text() == "number = 3\n"
