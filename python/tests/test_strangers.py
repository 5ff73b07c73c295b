# SPDX-License-Identifier: Apache-2.0
"""Files from strangers and calls that cannot be: one printable line each, as an error of the package."""

import json
import struct

import numpy as np
import pytest

PLAIN = {"format": "fp32", "rounding": "nearest-even", "overflow": "native"}
BYTES = {**PLAIN, "format": "int8"}
ESCAPE = "\x1b]0;owned\x07"


def model_bytes(*nodes, name="x"):
    """A .nib without weights."""
    network = {"name": name, "class_names": [], "nodes": [
        {"name": "input", "op": "input", "inputs": [], "shape": [8], "mean": [], "deviation": [], "value": BYTES, "weight": PLAIN},
        *({"value": PLAIN, "weight": PLAIN, "inputs": [i], **node} for i, node in enumerate(nodes))]}
    metadata = {"nibble_format": "1", "network": json.dumps(network), "origin": "{}", "weights_hash": "2d06800538d394c2"}
    header = json.dumps({"__metadata__": metadata}).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header


def one_line(caught):
    text = str(caught.value)
    assert text.startswith("[") and text.isprintable() and len(text) < 1000, repr(text)
    return text


@pytest.fixture
def limits(nibble):
    """The defaults, whatever a test sets."""
    yield nibble.set_limits
    nibble.set_limits()


def test_limits_hold_for_every_door(nibble, quantized, quantized_path, float_run, limits, tmp_path):
    limits("nodes=1")
    for call in (lambda: nibble.load(quantized_path), lambda: nibble.Engine(quantized_path),
                 lambda: nibble.quantize_network(float_run.folder / "model.nib", "digits", progress=False),
                 lambda: nibble.evaluate(quantized_path, "digits"),
                 lambda: nibble.emit(quantized_path, tmp_path / "c"),
                 lambda: nibble.Network.from_toml("input = [3]\nlayers = [{ op = 'relu' }, { op = 'relu' }]"),
                 lambda: nibble.train("mlp-64-32-10", data="digits", out=tmp_path / "run", progress=False)):
        with pytest.raises(nibble.errors.LimitError, match="limit 'nodes'") as caught:
            call()
        one_line(caught)
    limits("nodes=1000")
    assert nibble.load(quantized_path).weights_hash == quantized.weights_hash
    limits("memory=100")
    with pytest.raises(nibble.errors.LimitError, match="limit 'memory'"):
        nibble.Engine(quantized)
    for wrong in ("nodes", "nodes=0", "speed=3", "nodes=1,nodes=x"):
        with pytest.raises(nibble.Error, match=r"^\[limits\]"):
            limits(wrong)
    assert limits() == limits()


def test_names_are_printable_in_errors(nibble, tmp_path):
    path = tmp_path / "model.nib"
    path.write_bytes(model_bytes({"name": "r", "op": "relu"}, name=ESCAPE))
    with pytest.raises(nibble.errors.InputError, match="control characters") as caught:
        nibble.load(path)
    one_line(caught)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(f'network = "mlp-64-32-10"\n"{json.dumps(ESCAPE)[1:-1]}" = 1\n')
    for call in (lambda: nibble.train(recipe, data="digits", out=tmp_path / "run", progress=False),
                 lambda: nibble.load(tmp_path / ESCAPE),
                 lambda: nibble.Network("x", input=(3,)).add(ESCAPE).toml,
                 lambda: nibble.train(f"x{ESCAPE}\u202e", data="digits", out=tmp_path / "run", progress=False),
                 lambda: nibble.train("mlp-64-32-10", data="digits", schedule=ESCAPE, out=tmp_path / "run", progress=False)):
        with pytest.raises(nibble.Error) as caught:
            call()
        one_line(caught)


def test_a_recipe_names_no_output(nibble, tmp_path):
    recipe = tmp_path / "recipe.toml"
    for key in ("out", "report", "folder", "resume"):
        recipe.write_text(f'network = "mlp-64-32-10"\ndata = "digits"\n{key} = "{tmp_path}/harm"\n')
        with pytest.raises(nibble.errors.InputError, match=f"'{key}': got an unknown key"):
            nibble.train(recipe, out=tmp_path / "run", progress=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recipe.toml"]


def test_calls_that_cannot_be(nibble, quantized, float_run, tmp_path):
    shape = (8, 8, 1)
    for call in (lambda: nibble.Engine(quantized, threads=-1),
                 lambda: nibble.Engine(quantized, threads=100_000),
                 lambda: nibble.Engine(quantized, max_batch=0),
                 lambda: nibble.Engine(quantized, max_batch=2**62),
                 lambda: nibble.Engine(quantized).run(np.zeros((0, *shape), np.int8)),
                 lambda: nibble.Engine(quantized).run(np.zeros((), np.int8)),
                 lambda: nibble.Engine(quantized).values(np.zeros((), np.int8)),
                 lambda: nibble.Engine(quantized).values([1, 2]),
                 lambda: nibble.Engine(quantized).submit(np.zeros((3, 3), np.int8)),
                 lambda: nibble.Engine(quantized).bench(batch=2**62),
                 lambda: nibble.Engine(quantized).bench(seconds=float("nan")),
                 lambda: nibble.emit(quantized, tmp_path / "c", target="avr"),
                 lambda: nibble.emit(quantized, tmp_path / "c", prefix="int main(){}//"),
                 lambda: nibble.emit(quantized, tmp_path / "c", batch=2**62),
                 lambda: nibble.emit(quantized, tmp_path / "c", vectors=-1),
                 lambda: nibble.emit(quantized, tmp_path / "c", ram=-1),
                 lambda: nibble.compare(float_run, quantized),
                 lambda: nibble.compare(quantized, data="digits"),
                 lambda: nibble.compare(float_run),
                 lambda: nibble.train("mlp-64-32-10", data="digits", threads=100_000, out=tmp_path / "run", progress=False),
                 lambda: nibble.train("mlp-64-32-10", data="digits", stop_after=-1, out=tmp_path / "run", progress=False),
                 lambda: nibble.train("mlp-64-32-10", data="digits", checkpoint_every=-1, out=tmp_path / "run", progress=False),
                 lambda: nibble.quantize_network(float_run, "digits", samples=-1, progress=False),
                 lambda: nibble.quantize_network(float_run, "digits", samples=2**70, progress=False),
                 lambda: nibble.quantize_network(float_run, "digits", max_loss=float("nan"), progress=False),
                 lambda: nibble.quantize_network(float_run, "digits", finetune=2**40, progress=False),
                 lambda: nibble.quantize_network(float_run, "digits", threads=100_000, progress=False)):
        with pytest.raises((nibble.Error, TypeError)) as caught:
            call()
        assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_damaged_runs(nibble, tmp_path):
    run = nibble.Run(tmp_path)
    for text in ("epoch,loss\n1\n", "epoch,loss\n1,2,3\n", "epoch\n" + "9" * 200_000 + "\n", "epoch\n\0\udcff\n"):
        (tmp_path / "epochs.csv").write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(nibble.errors.InputError) as caught:
            _ = run.history
        one_line(caught)
    (tmp_path / "epochs.csv").write_text("")
    assert run.history == {}
    for text in ("[]", "{", "[" * 100_000, ""):
        (tmp_path / "settings.json").write_text(text)
        with pytest.raises(nibble.errors.InputError) as caught:
            _ = run.settings
        one_line(caught)
