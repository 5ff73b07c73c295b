# SPDX-License-Identifier: Apache-2.0
"""The reference says of the extensions what they say of themselves, and leaves nothing out that users call."""

import ast
import importlib
import inspect
import sys
from pathlib import Path

import pytest

import nibble as package

TOOLS = Path(__file__).resolve().parents[2] / "tools"
STUBS = TOOLS / "docs_stubs" / "nibble-stubs"
pytestmark = pytest.mark.skipif(not STUBS.exists(), reason="the tests stand outside of the tree")

# What nibble.Engine uses of its base and shows otherwise.
HIDDEN = {"submit_into", "layer_values", "bench_json", "steps", "read_files", "input", "output"}


def members(path, name):
    """Of a class in a stub: signature and docstring by name, underscores left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == name)
    functions = [each for each in found.body if isinstance(each, ast.FunctionDef) and each.name[0] != "_"]
    signature = lambda each: ast.unparse(each.args) + " -> " + ast.unparse(each.returns).strip("'")
    return {each.name: (signature(each), (ast.get_docstring(each) or "").strip()) for each in functions}


def generated(module):
    path = Path(package.__file__).with_name(f"{module}.pyi")
    if not path.exists():
        pytest.skip("the package is not that of a wheel")
    return path


def test_formats_are_described_as_they_are():
    assert members(STUBS / "_core.pyi", "Format") == members(generated("_core"), "Format")
    assert all(text for _, text in members(STUBS / "_core.pyi", "Format").values())


def test_engines_are_described_as_they_are():
    own = members(generated("_networks"), "Engine")
    assert members(STUBS / "_networks.pyi", "Engine") == {name: own[name] for name in own.keys() - HIDDEN}
    assert all(text for _, text in members(STUBS / "_networks.pyi", "Engine").values())


def test_nothing_that_is_offered_comes_from_an_extension_unseen(nibble):
    """Functions and classes of the extensions that the package offers as its own are those with a stub."""
    sys.path.insert(0, str(TOOLS))
    try:
        reference = importlib.import_module("docs_reference")
    finally:
        sys.path.remove(str(TOOLS))
    modules = [nibble, *(importlib.import_module(f"nibble.{name}") for name in ("integers", "mlperf"))]
    classes = {each for module in modules for each in vars(module).values() if inspect.isclass(each)}
    classes |= {getattr(nibble, name) for name in nibble.__all__ if inspect.isclass(getattr(nibble, name))}
    lent = {}
    for each in classes:
        bases = [base for base in each.__mro__ if base.__module__ in ("nibble._core", "nibble._networks")]
        names = {name for base in bases for name in vars(base) if name[0] != "_" and name not in vars(each)}
        if names:
            lent[f"{each.__module__}.{each.__name__}"] = names - HIDDEN
    assert lent == {place: set(names) for place, names in reference.INHERITED.items()}
