# SPDX-License-Identifier: Apache-2.0
"""Whatever is thrown at a function, it answers with an exception of the fitting class in one line."""

import inspect
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from junk import arrays, junk, objects, words

import nibble

EXPECTED = (TypeError, ValueError, RuntimeError, OverflowError)

FUNCTIONS = {
    nibble.quantize: (2, "rounding overflow seed step stream compat scales zeros out".split()),
    nibble.encode: (2, "packed rounding overflow seed step stream scales zeros".split()),
    nibble.decode: (2, "scales zeros tensor_scale packed shape".split()),
    nibble.stats: (2, "quantized rounding overflow seed step stream compat scales zeros".split()),
    nibble.matmul: (2, "accumulator seed step stream out".split()),
    nibble.Format: (1, []),
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_junk_never_crashes(function, data):
    count, names = FUNCTIONS[function]
    first = data.draw(st.one_of(arrays, arrays, junk))
    second = data.draw(st.one_of(words, words, arrays, junk))
    options = data.draw(st.dictionaries(st.sampled_from(names), junk, max_size=3)) if names else {}
    try:
        function(*(first, second)[:count], **options)
    except EXPECTED as error:
        assert "\n" not in str(error) or "x\ny" in str(error), error


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_wrong_calls(function):
    for arguments, options in [((), {}), ((1,) * 9, {}), ((), {"unknown": 1})]:
        with pytest.raises(TypeError) as caught:
            function(*arguments, **options)
        assert "\n" not in str(caught.value)


@settings(max_examples=300, deadline=None)
@given(junk)
def test_formats_compare_with_anything(other):
    assert isinstance(nibble.Format("e4m3") == other, bool)


# What no argument is, wherever it stands; numbers and names that could be right are not among it, for work would begin.
wrong = st.one_of(
    objects,
    arrays,
    st.lists(junk, max_size=2),
    st.dictionaries(st.integers(), junk, min_size=1, max_size=2),
    st.sampled_from([2**70, -(2**70), 1j, math.nan, b"bytes", "a\0b", "\ud800"]),
)

MODEL = object()  # stands for a model of integers

# Arguments that are right of the functions of networks, none of which may come to its end with a wrong one in their place.
CALLS = {
    "Engine": {"model": MODEL, "device": "cpu", "threads": 1, "max_batch": 1, "lanes": 1, "unpacked": False},
    "Model": {"core": MODEL},
    "Network": {"name": "n", "input": (3,), "classes": ["a"], "mean": [1], "deviation": [1]},
    "Network.from_toml": {"text": "", "source": "n"},
    "Run": {"folder": "run"},
    "compare": {"models_or_runs": MODEL, "device": "cpu", "image_size": 8, "pictures": "p.svg"},
    "convert": {"source": "m.onnx", "to": "m.nib", "network": "lenet", "mean": [1], "deviation": [1], "input_size": 8},
    "dataset": {"name": "digits"},
    "emit": {"model": MODEL, "folder": "c", "prefix": "p", "target": "c99", "batch": 1, "vectors": 1, "ram": 1, "flash": 1, "force": True},
    "evaluate": {"model": MODEL, "data": "digits", "split": "test", "policy": {}, "shifts": "frozen", "oracle": "log", "device": "cpu"},
    "export_data": {"data": "nowhere", "out": "pictures"},
    "load": {"path": "m.nib"},
    "loadgen": {"model": MODEL, "data": "digits", "out": "folder", "scenario": "Offline"},
    "measure_formats": {"formats": ["e4m3"], "rounding": "nearest-even"},
    "mlperf.read_run": {"folder": "run"},
    "mlperf.score": {"log": "log", "data": "digits", "split": "test", "oracle": "log"},
    "mlperf.test01": {"accuracy": "a", "performance": "b", "audit": "c"},
    "mlperf.test04": {"performance": "a", "same": "b"},
    "place": {"what": "lenet"},
    "quantize_network": {"model": MODEL, "calibration": "nowhere", "data": "nowhere", "checkpoint": "c", "report": "r", "weights": "int4"},
    "report": {"out": "page.html"},
    "rescale_tables": {"model": MODEL},
    "set_limits": {"text": ""},
    "sweep": {
        "what": "lenet",
        "formats": ["e4m3"],
        "out": "sweep",
        "vary": {"lr": [1]},
        "roundings": ["up"],
        "roles": ["weight"],
        "map": map,
        "layer_statistics": True,
        "data_name": "d",
        "data": "nowhere",
    },
    "train": {
        "what": "lenet",
        "data": "nowhere",
        "policy": {},
        "out": "run",
        "mode": "fresh",
        "from_": "m.nib",
        "ranks": 1,
        "callbacks": [],
        "checkpoint_every": 1,
        "stop_after": 1,
        "layer_statistics": True,
        "profile": "step.json",
        "lr": 1,
    },
    "tune": {"model": MODEL, "device": "cpu"},
}
ENGINE = ["run", "answers", "submit", "values"]


def function_of(package, name):
    for part in name.split("."):
        package = getattr(package, part)
    return package


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_networks_refuse_junk(name, data, nibble, quantized, tmp_path_factory):
    function, known = function_of(nibble, name), CALLS[name]
    parameters = inspect.signature(function).parameters.values()
    needed = {each.name for each in parameters if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)}
    wrong_one = data.draw(st.sampled_from(sorted(known)))
    arguments = {each: known.get(each, "nowhere") for each in {*needed, wrong_one}} | {wrong_one: data.draw(wrong)}
    arguments = {each: quantized if value is MODEL else value for each, value in arguments.items()}
    both = [arguments.pop("models_or_runs", quantized)] * 2 if name == "compare" else []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("junk"))
        try:
            function(*both, **arguments)
        except nibble.Error as error:
            assert "\n" not in str(error), error


@pytest.mark.parametrize("name", ENGINE)
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(x=wrong)
def test_engines_refuse_junk(name, x, nibble, quantized):
    try:
        getattr(nibble.Engine(quantized, threads=1), name)(x)
    except (nibble.Error, TypeError, ValueError) as error:  # those of an object's own __dlpack__ are its own
        assert "\n" not in str(error) or "x\ny" in str(error), error


def test_mistakes_of_types_are_named(nibble, quantized, tmp_path):
    """One line each, which says whose argument it is."""
    engine = nibble.Engine(quantized)
    calls = {
        r"\[engine\] threads: got an object of type str, expected an integer": lambda: nibble.Engine(quantized, threads="all"),
        r"\[engine\] threads: got an object of type float": lambda: nibble.Engine(quantized, threads=1.5),
        r"\[engine\] device: got an object of type int, expected a text": lambda: nibble.Engine(quantized, device=3),
        r"\[bench\] batch: got an object of type str": lambda: engine.bench("x"),
        r"\[bench\] seconds: got an object of type str": lambda: engine.bench(1, "x"),
        r"\[run\] x: got an object of type NoneType, expected a NumPy array": lambda: engine.run(),
        r"\[answers\] x: got an object of type NoneType": lambda: engine.answers(),
        r"\[emit\] prefix: got an object of type int": lambda: quantized.emit(tmp_path, prefix=3),
        r"\[emit\] ram: got an object of type str": lambda: quantized.emit(tmp_path, ram="10"),
        r"\[emit\] batch: got an object of type str": lambda: quantized.emit(tmp_path, batch="8"),
        r"\[train\] mode: got an object of type int": lambda: nibble.train("lenet", mode=3),
        r"\[train\] checkpoint_every: got an object": lambda: nibble.train("lenet", checkpoint_every="a"),
        r"\[train\] what: got an object of type int, expected a name": lambda: nibble.train(3),
        r"\[train\] out: got an object of type int, expected a path": lambda: nibble.train("lenet", out=3),
        r"\[train\] callbacks: got an object of type int, expected a list": lambda: nibble.train("lenet", callbacks=3),
        r"\[train\] callbacks: got an object of type int, expected func": lambda: nibble.train("lenet", callbacks=[3]),
        r"\[load\] model: got an object of type int, expected a nibble.Model or a path": lambda: nibble.load(3),
        r"\[load\] model: got an object of type ndarray": lambda: nibble.Engine(np.ones(3)),
        r"\[model\] core: got an object of type str, expected what nibble.load": lambda: nibble.Model("m.nib"),
        r"\[save\] path: got an object of type int": lambda: quantized.save(3),
        r"\[compare\] run: got an object of type int": lambda: nibble.compare(3, 4),
        r"\[sweep\] formats: got an object of type int": lambda: nibble.sweep("lenet", 3, out=tmp_path),
        r"\[quantize\] model: got an object of type int, expected a path": lambda: nibble.quantize_network(3, "digits"),
        r"\[network\] input: got an object of type int": lambda: nibble.Network("n", input=3),
        r"\[network\] text: got an object of type int": lambda: nibble.Network.from_toml(3),
        r"\[limits\] text: got an object of type int": lambda: nibble.set_limits(3),
        r"\[run\] .*settings.json: got no file": lambda: nibble.Run(tmp_path / "nowhere").settings,
    }
    for text, call in calls.items():
        with pytest.raises(nibble.Error, match=text) as caught:
            call()
        assert "\n" not in str(caught.value)
