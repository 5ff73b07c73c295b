# SPDX-License-Identifier: Apache-2.0
"""The examples of the docstrings give what they say, and whatever users call has one."""

import doctest
import importlib
import inspect
import re
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


@pytest.fixture
def known(nibble, float_run, quantized, pictures_folder, tmp_path):
    """What examples may use."""
    return {
        "nibble": nibble,
        "np": np,
        "digits_model": quantized,
        "digits_float": float_run.model,
        "digits_run": float_run,
        "pictures_folder": pictures_folder,
        "workspace": tmp_path,
    }


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, known, request):
    if name == "mlperf" and not request.getfixturevalue("has_loadgen"):
        pytest.skip("this build has no LoadGen")
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


def members(owner):
    """What a class offers, by name, what it has from other classes of the package, too."""
    for name in dir(owner):
        base = next((base for base in owner.__mro__ if name in vars(base)), owner)
        if name[0] != "_" and base.__module__.partition(".")[0] == "nibble":
            yield name, vars(base)[name].__func__ if isinstance(vars(base)[name], classmethod) else vars(base)[name]


def said_of(member):
    """What stands behind the signature that nanobind writes, too."""
    text = inspect.getdoc(member) or ""
    return re.sub(r"^\w*\(self[^\n]*\) -> .+\n*", "", text)


def is_of_extension(member):
    """Where doctest finds no examples."""
    return callable(member) and not inspect.isfunction(member) and not inspect.isclass(member)


def undocumented(module):
    """Classes and their public methods that say nothing; what a base class has said need not be said again."""
    for name, each in public(module).items():
        if not inspect.isclass(each):
            continue
        if not each.__doc__:
            yield name
        for member, own in members(each):
            said = (said_of(vars(base)[member]) for base in each.__mro__ if member in vars(base))
            if (callable(own) or isinstance(own, property)) and not any(said):
                yield f"{name}.{member}"


def test_every_function_has_an_example(nibble):
    check_examples(nibble, 24)
    check_examples(importlib.import_module("nibble.integers"), 4)
    check_examples(importlib.import_module("nibble.mlperf"), 6)
    check_examples(importlib.import_module("nibble.plot"), 4)


# What nibble.Engine uses of its base and shows otherwise.
HIDDEN = {"Engine.submit_into", "Engine.layer_values", "Engine.bench_json", "Engine.steps", "Engine.read_files"}


def test_every_method_has_an_example(nibble):
    classes = {name: each for name, each in public(nibble).items() if inspect.isclass(each)}
    methods = {f"{name}.{member}": own for name, each in classes.items() for member, own in members(each) if callable(own)}
    methods = {name: own for name, own in methods.items() if not inspect.isclass(own) and name not in HIDDEN}
    assert len(methods) >= 20
    assert [name for name, own in methods.items() if ">>> " not in (inspect.getdoc(own) or "")] == []


def test_examples_of_the_extensions(nibble, known):
    classes = {name: each for name, each in public(nibble).items() if inspect.isclass(each)}
    own = {f"{name}.{member}": each for name, owner in classes.items() for member, each in members(owner) if is_of_extension(each)}
    tried = set()
    for name, each in own.items():
        examples = doctest.DocTestParser().get_doctest(inspect.getdoc(each), known, name, None, None)
        runner = doctest.DocTestRunner()
        assert runner.run(examples).failed == 0, name
        tried |= {name} if examples.examples else set()
    assert tried >= {"Engine.run", "Engine.answers", "Format.values"}


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
