# SPDX-License-Identifier: Apache-2.0
"""Quantized ONNX models in and out, beside ONNX Runtime.

Given ONNX Runtime's integers as its input, each layer is within one step of it, and the classes agree.
Runs in .venv; NIBBLE_BIN names the command, ONNX_INTEGERS a program that runs a quantized model by the
definitions of the integer operations.
"""

import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from safetensors.numpy import save_file

    from cifar_pictures import RESNET20, first_pictures
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

NIBBLE = os.environ["NIBBLE_BIN"]
INTEGERS = os.environ["ONNX_INTEGERS"]

# Where nodes that give codes have their scale and zero point.
SCALE_AT = {"QuantizeLinear": 1, "QLinearConv": 6, "QLinearMatMul": 6, "QLinearAdd": 6, "QLinearAveragePool": 3,
            "QLinearGlobalAveragePool": 3, "QGemm": 7}


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    content = model if isinstance(model, bytes) else Path(model).read_bytes()
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def answers(model, batch):
    run = session(model)
    return run.run(None, {run.get_inputs()[0].name: batch})[0]


def codes(path, batch):
    """ONNX Runtime's integers, zero points taken off, under the bits of their scales and their number."""
    model = onnx.load(path)
    stored = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    wanted = {}
    for node in model.graph.node:
        at = SCALE_AT.get(node.op_type)
        if at is None or node.input[0] in stored:
            continue
        wanted[node.output[0]] = stored[node.input[at]].item(), stored[node.input[at + 1]]
    outputs = {each.name for each in model.graph.output}
    for name, (_, zero) in wanted.items():
        if name not in outputs:
            kind = helper.np_dtype_to_tensor_dtype(zero.dtype)
            model.graph.output.append(helper.make_tensor_value_info(name, kind, None))
    run = session(model.SerializeToString())
    values = run.run(list(wanted), {run.get_inputs()[0].name: batch})
    result = {}
    for value, (scale, zero) in zip(values, wanted.values()):
        key = f"{struct.pack('>f', scale).hex()}-{value[0].size}"
        result.setdefault(key, np.ascontiguousarray(value.astype(np.int32) - int(zero)))
    return result


def small_network(path):
    """Convolutions, a residual sum, a depthwise layer, pools, a product; random weights."""
    rng = np.random.default_rng(20261115)
    stored, nodes = [], []

    def weight(name, *shape):
        fan = np.prod(shape[1:]) if len(shape) > 1 else 1
        stored.append(numpy_helper.from_array(rng.normal(0, (2 / fan) ** 0.5, shape).astype(np.float32), name))
        return name

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    x = node("Conv", ["x", weight("w1", 8, 3, 3, 3), weight("b1", 8)], "c1", pads=[1, 1, 1, 1])
    skip = node("Relu", [x], "r1")
    x = node("Conv", [skip, weight("w2", 8, 1, 3, 3), weight("b2", 8)], "c2", pads=[1, 1, 1, 1], group=8)
    x = node("Clip", [x, "zero", "six"], "r2")
    x = node("Conv", [x, weight("w3", 8, 8, 1, 1), weight("b3", 8)], "c3")
    x = node("Add", [x, skip], "a1")
    x = node("Relu", [x], "r3")
    x = node("MaxPool", [x], "p1", kernel_shape=[2, 2], strides=[2, 2])
    x = node("Conv", [x, weight("w4", 12, 8, 3, 3), weight("b4", 12)], "c4", strides=[2, 2], pads=[1, 1, 1, 1])
    x = node("Relu", [x], "r4")
    # Means of 1, 3 and 9 numbers: of 2 or 4, many would be ties.
    x = node("AveragePool", [x], "p2", kernel_shape=[3, 3], strides=[2, 2], pads=[2, 2, 0, 0])
    x = node("GlobalAveragePool", [x], "m1")
    x = node("Flatten", [x], "f1")
    node("Gemm", [x, weight("w5", 10, 12), weight("b5", 10)], "y", transB=1)
    stored += [numpy_helper.from_array(np.float32(0), "zero"), numpy_helper.from_array(np.float32(6), "six")]
    graph = helper.make_graph(
        nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


class Reader(CalibrationDataReader):
    def __init__(self, name, batch):
        self.examples = iter([{name: batch[i:i + 1]} for i in range(len(batch))])

    def get_next(self):
        return next(self.examples, None)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def integers(self, model, batch, *values):
        """Answers, and the lines of the values that were compared."""
        np.save(self.folder / "x.npy", batch)
        command = [INTEGERS, model, self.folder / "x.npy", self.folder / "y.npy", *values]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "y.npy"), [line.split() for line in done.stdout.splitlines()]

    def check_layers(self, model, nib, batch, least):
        """Every layer of `nib`, given the integers that ONNX Runtime makes of `model`."""
        save_file(codes(model, batch), self.folder / "values.safetensors")
        _, rows = self.integers(nib, batch, self.folder / "values.safetensors")
        self.assertGreaterEqual(len(rows), least)
        for name, gap, differing, compared in rows:
            self.assertLessEqual(int(gap), 1, name)
            self.assertLess(int(differing), 0.01 * int(compared) + 2, name)

    def convert(self, source, target):
        done = subprocess.run([NIBBLE, "convert", source, target], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def check_model(self, source, batch, least, share):
        ways = [(QuantFormat.QDQ, QuantType.QUInt8, True), (QuantFormat.QDQ, QuantType.QInt8, False),
                (QuantFormat.QOperator, QuantType.QUInt8, True)]
        for form, activations, per_channel in ways:
            with self.subTest(form=form.name, activations=activations.name):
                quantized, nib, back = (self.folder / name for name in ("q.onnx", "q.nib", "back.onnx"))
                reader = Reader(session(source).get_inputs()[0].name, batch[:32])
                quantize_static(source, quantized, reader, quant_format=form, activation_type=activations,
                                weight_type=QuantType.QInt8, per_channel=per_channel)
                self.convert(quantized, nib)
                self.check_layers(quantized, nib, batch[:8], least)
                ours, _ = self.integers(nib, batch)
                self.assertGreaterEqual(np.mean(ours.argmax(1) == answers(quantized, batch).argmax(1)), share)
                self.convert(nib, back)
                self.check_layers(back, nib, batch[:8], least)
                self.assertGreaterEqual(np.mean(ours.argmax(1) == answers(back, batch).argmax(1)), share)


class Quantized(Case):
    def test_a_small_network(self):
        small_network(self.folder / "small.onnx")
        batch = np.random.default_rng(1).normal(0, 1, (200, 3, 16, 16)).astype(np.float32)
        self.check_model(self.folder / "small.onnx", batch, least=7, share=0.97)

    def test_resnet20(self):
        batch = first_pictures(100)
        self.check_model(RESNET20 / "resnet20.onnx", batch, least=25, share=0.98)


if __name__ == "__main__":
    unittest.main()
