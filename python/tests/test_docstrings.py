# SPDX-License-Identifier: Apache-2.0
"""The examples of the docstrings give what they say, and whatever users call has one."""

import doctest
import importlib
import inspect
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import nibble as package

FOLDER = Path(package.__file__).parent


def name_of(path):
    return ".".join(path.relative_to(FOLDER).with_suffix("").parts)


MODULES = sorted(name_of(path) for path in FOLDER.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))


def png(rows):
    """Bytes of a grey picture."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", rows.shape[1], rows.shape[0], 8, 0, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def pictures_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    for number in range(2):
        (folder / f"{number}.png").write_bytes(png(np.full((16, 16), 100 * number, np.uint8)))
    return folder


@pytest.mark.parametrize("name", MODULES)
def test_examples(nibble, name, float_run, quantized, pictures_folder, tmp_path, request):
    if name == "mlperf" and not request.getfixturevalue("has_loadgen"):
        pytest.skip("this build has no LoadGen")
    known = {
        "nibble": nibble,
        "np": np,
        "digits_model": quantized,
        "digits_float": float_run.model,
        "digits_run": float_run,
        "pictures_folder": pictures_folder,
        "workspace": tmp_path,
    }
    if name == "plot":
        pytest.importorskip("matplotlib")
    if name.startswith(("torch", "qtorch")):
        known["torch"] = pytest.importorskip("torch")
        known["nt"] = importlib.import_module("nibble.torch")
    module = importlib.import_module(f"nibble.{name}")
    failed, tried = doctest.testmod(module, extraglobs=known)
    assert tried > 0 and failed == 0


def public(module):
    """What a module offers, by name: what it lists, or all that is its own."""
    own = [name for name, each in vars(module).items() if getattr(each, "__module__", "") == module.__name__ and name[0] != "_"]
    return {name: getattr(module, name) for name in getattr(module, "__all__", own)}


def check_examples(module, least):
    functions = {name: each for name, each in public(module).items() if inspect.isfunction(each)}
    assert len(functions) >= least
    assert [name for name, each in functions.items() if ">>> " not in (each.__doc__ or "")] == []


def undocumented(module):
    """Classes and their public methods that say nothing; what a base class has said need not be said again."""
    for name, each in public(module).items():
        if not inspect.isclass(each):
            continue
        if not each.__doc__:
            yield name
        for member in vars(each):
            if not member.startswith("_") and callable(getattr(each, member)) and not inspect.getdoc(getattr(each, member)):
                yield f"{name}.{member}"


def test_every_function_has_an_example(nibble):
    check_examples(nibble, 24)
    check_examples(importlib.import_module("nibble.integers"), 4)
    check_examples(importlib.import_module("nibble.mlperf"), 6)
    check_examples(importlib.import_module("nibble.plot"), 4)


def test_every_function_beside_torch_has_an_example(nibble):
    pytest.importorskip("torch")
    check_examples(importlib.import_module("nibble.torch"), 11)
    check_examples(importlib.import_module("nibble.qtorch.quant"), 15)


def test_every_class_says_what_it_is(nibble):
    assert list(undocumented(nibble)) == []


def test_every_class_beside_torch_says_what_it_is(nibble):
    pytest.importorskip("torch")
    modules = [importlib.import_module(f"nibble.{name}") for name in ("torch", "qtorch")]
    assert [each for module in modules for each in undocumented(module)] == []
