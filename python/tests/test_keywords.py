# SPDX-License-Identifier: Apache-2.0
"""The typed keywords of nibble.keywords are the command's options: all of them, no others, and functions take each."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

from nibble import keywords

TOOLS = Path(__file__).resolve().parents[2] / "tools"
pytestmark = pytest.mark.skipif(not (TOOLS / "make_keywords.py").exists(), reason="the tests stand outside of the tree")

CLASSES = {
    "train": keywords.TrainOptions,
    "sweep": keywords.SweepOptions,
    "place": keywords.PlaceOptions,
    "quantize": keywords.QuantizeOptions,
    "loadgen": keywords.LoadGenOptions,
    "tune": keywords.TuneOptions,
    "emit": keywords.EmitTrainingOptions,
    "data preprocess": keywords.PreprocessOptions,
}
METHODS = {"eval": keywords.EvaluateOptions, "emit": keywords.EmitOptions}
OF_METHODS = {"model", "data", "folder"}  # what they have of their own


@pytest.fixture(scope="module")
def tool():
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module("make_keywords")
    finally:
        sys.path.remove(str(TOOLS))


@pytest.mark.parametrize("verb", CLASSES)
def test_every_option_is_a_keyword_and_the_reverse(verb, nibble, tool, command):
    options = set(re.findall(r"^  (?:-\w,)?--([\w-]+)", command(*verb.split(), "--help"), re.M)) - {"help"}
    otherwise = set(tool.FUNCTIONS[verb][1].split())
    assert otherwise <= options and len(options) > 4
    own = set(inspect.signature(getattr(nibble, tool.NAMES.get(verb, verb))).parameters)
    expected = {tool.keyword(name) for name in options - otherwise} - own
    assert set(CLASSES[verb].__annotations__) == expected


@pytest.mark.parametrize("verb", METHODS)
def test_methods_take_all_that_their_function_takes(verb, nibble, tool):
    function = inspect.signature(getattr(nibble, tool.NAMES.get(verb, verb))).parameters
    own = {name for name, each in function.items() if each.kind is not inspect.Parameter.VAR_KEYWORD}
    beside = set(CLASSES[verb].__annotations__) if verb in CLASSES else set()
    assert set(METHODS[verb].__annotations__) - beside == own - OF_METHODS


def test_the_module_is_what_the_help_tells(nibble, tool, command):
    expected = tool.written({verb: command(*verb.split(), "--help") for verb in tool.FUNCTIONS})
    assert Path(keywords.__file__).read_text(encoding="utf-8") == expected, "tools/make_keywords.py writes it anew"


@pytest.mark.parametrize("verb", ["train", "sweep", "quantize"])
def test_functions_know_all_of_them(verb, nibble, float_run, tmp_path):
    """An option that a function does not know is refused by name, the first one that it meets."""
    calls = {
        "train": lambda **options: nibble.train("lenet", data="digits", out=tmp_path / "run", **options),
        "sweep": lambda **options: nibble.sweep("lenet", ["e4m3"], out=tmp_path / "sweep", **options),
        "quantize": lambda **options: nibble.quantize_network(float_run.model, "digits", progress=False, **options),
    }
    fields = [name for name in CLASSES[verb].__annotations__ if name not in ("data", "from_")]
    with pytest.raises(nibble.errors.UsageError, match=r"option: got 'no-such-option'"):
        calls[verb](**dict.fromkeys(fields, True), no_such_option=True)


def test_kinds_of_values(tool):
    kinds = {
        "": "bool",
        "Excludes: --finetune": "bool",
        "FLOAT:FLOAT in [0 - 1]": "float | None",
        "TEXT:{float,int8}": 'Literal["float", "int8"] | None',
        "TEXT:{a,b}=a": 'Literal["a", "b"] | None',
        "FILE REQUIRED": "str | PathLike[str] | None",
        "RULE ...": "str | list[str] | None",
        "TEXT ... Excludes: --vary": "str | list[str] | None",
    }
    assert {kind: tool.type_of("name", kind) for kind in kinds} == kinds
    assert tool.meaning_of("as --weight-decay, 'conv*=cuda', of the batch's or layer's") == (
        "as `weight_decay`, `conv*=cuda`, of the batch's or layer's"
    )
