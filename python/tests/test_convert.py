# SPDX-License-Identifier: Apache-2.0
"""Models of other forms: what nibble convert makes of them, and its words where it makes nothing."""

import logging

import numpy as np
import pytest


def test_onnx_and_back_are_the_commands(nibble, quantized, quantized_path, command, tmp_path):
    command("convert", quantized_path, tmp_path / "a.onnx")
    assert nibble.convert(quantized_path, tmp_path / "b.onnx") == tmp_path / "b.onnx"
    nibble.convert(quantized, tmp_path / "c.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes() == (tmp_path / "c.onnx").read_bytes()
    command("convert", tmp_path / "a.onnx", tmp_path / "a.nib")
    model = nibble.convert(tmp_path / "b.onnx", tmp_path / "b.nib")
    assert model.weights_hash == nibble.load(tmp_path / "a.nib").weights_hash == nibble.load(tmp_path / "b.nib").weights_hash
    assert model.origin["converted_from"] == str(tmp_path / "b.onnx")
    assert nibble.convert(tmp_path / "b.onnx").weights_hash == model.weights_hash


def test_weights_of_a_network(nibble, command, tmp_path):
    network = nibble.Network("mine", input=(6,)).add("linear", name="fc", features=2, bias=True)
    network.add("softmax_cross_entropy")
    weight = np.arange(12, dtype=np.float32).reshape(2, 6)
    np.savez(tmp_path / "w.npz", **{"fc.weight": weight, "fc.bias": np.float32([1, 2])})
    model = nibble.convert(tmp_path / "w.npz", network=network)
    assert np.array_equal(model.parameters["fc.weight"], weight) and model.name == "mine"
    (tmp_path / "mine.toml").write_text(network.toml)
    again = nibble.convert(tmp_path / "w.npz", tmp_path / "w.nib", network=tmp_path / "mine.toml")
    assert again.weights_hash == nibble.load(tmp_path / "w.nib").weights_hash == model.weights_hash


def test_how_bytes_enter(nibble, quantized, tmp_path):
    quantized.to_onnx(tmp_path / "q.onnx")
    assert "mean" in nibble.convert(tmp_path / "q.onnx", mean=(0.25,), deviation=[0.5]).toml


def test_notes_go_to_the_logger(nibble, tmp_path, caplog):
    onnx = pytest.importorskip("onnx")
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    weight = onnx.numpy_helper.from_array(np.ones((4, 3), np.float32), "w")
    nodes = [make.make_node("MatMul", ["x", "w"], ["y"]), make.make_node("Softmax", ["y"], ["z"], axis=-1)]
    ends = [make.make_tensor_value_info(name, kind, shape) for name, shape in (("x", [1, 4]), ("z", [1, 3]))]
    graph = make.make_graph(nodes, "classes", ends[:1], ends[1:], [weight])
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 13)], ir_version=8), tmp_path / "m.onnx")
    with caplog.at_level(logging.INFO, "nibble"):
        assert nibble.convert(tmp_path / "m.onnx").is_float
    assert "left out: it changes no class" in caplog.text


def test_mistakes_are_the_commands(nibble, quantized, quantized_path, tmp_path):
    np.savez(tmp_path / "w.npz", w=np.zeros(3, np.float32))
    for call, kind, text in [
        (lambda: nibble.convert(quantized_path, tmp_path / "x.nib"), "UsageError", r"\[convert\] TO: got .*x.nib, expected an .onnx"),
        (lambda: nibble.convert(tmp_path / "w.npz", tmp_path / "x.onnx"), "UsageError", r"\[convert\] TO: .*expected a .nib"),
        (lambda: nibble.convert(tmp_path / "w.npz"), "UsageError", r"\[convert\] --network: belongs to weights"),
        (lambda: nibble.convert(quantized, tmp_path / "x.onnx", input_size=8), "UsageError", r"--input-size: only a layer"),
        (lambda: nibble.convert(tmp_path / "no.onnx"), "Error", r"no\.onnx"),
        (lambda: nibble.convert(tmp_path, tmp_path / "x.nib"), "InputError", r"\["),
        (lambda: nibble.convert(quantized, tmp_path / "layers"), "Error", r"\["),
    ]:
        with pytest.raises(getattr(nibble.errors, kind), match=text) as caught:
            call()
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "x.nib").exists()
