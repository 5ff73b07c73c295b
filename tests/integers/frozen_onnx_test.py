# SPDX-License-Identifier: Apache-2.0
"""Networks with batch norms that were trained in integers, frozen and written as ONNX: ONNX Runtime's answers are the engine's.

ONNX rounds halves to even, Nibble away from zero. Factors of batch norms have 31 bits, so that there are no halves; where a
power of two rounds (an add, a mean, a product without a norm) there are. Runs in .venv.
"""

import sys

try:
    import numpy as np
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from files import IMAGES, exponent_of, model_of
from train_case import TrainCase, main

NORMS_ALONE = """
  { op = "conv2d", name = "first", channels = 8, kernel = 3, padding = 1 },
  { op = "batch_norm", name = "norm1" }, { op = "relu" },
  { op = "conv2d", name = "second", channels = 16, kernel = 3, padding = 1, stride = 2 },
  { op = "batch_norm", name = "norm2" }, { op = "relu" }, { op = "max_pool", kernel = 2 }, { op = "flatten" },
  { op = "linear", name = "fc", features = 10 }, { op = "batch_norm", name = "norm3" },
"""
RESIDUAL = """
  { op = "conv2d", name = "stem", channels = 8, kernel = 3, padding = 1 },
  { op = "batch_norm", name = "norm1" }, { op = "relu", name = "open" },
  { op = "conv2d", name = "branch", channels = 8, kernel = 3, padding = 1 }, { op = "batch_norm", name = "norm2" },
  { op = "add", from = ["norm2", "open"] }, { op = "relu" },
  { op = "average_pool", kernel = 2 }, { op = "flatten" }, { op = "linear", name = "fc", features = 10, bias = true },
"""


class FrozenOnnx(TrainCase):
    def answers(self, layers):
        """The int8 answers to all digits: (the engine's, ONNX Runtime's)."""
        text, onnx = self.folder / "net.toml", self.folder / "model.onnx"
        text.write_text(f'input = [8, 8, 1]\nlayers = [{layers}  {{ op = "softmax_cross_entropy" }},\n]\n')
        folder, _, _ = self.train("run", "--arith", "int8", "--epochs", "4", network=text)
        self.assertGreater(self.summary(folder)["test"]["top1"], 0.7)
        self.done("convert", folder / "model.nib", onnx)
        self.done("run", folder / "model.nib", "--input", self.save("pictures.npy", IMAGES), "--output", self.output)
        nodes = model_of(folder / "model.nib")[0]["nodes"]
        mean, deviation = (np.float64(np.float32(nodes[0][key][0])) for key in ("mean", "deviation"))
        floats = ((IMAGES / 255 - mean) / deviation).astype(np.float32).transpose(0, 3, 1, 2)
        session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
        (told,) = session.run(None, {session.get_inputs()[0].name: floats})
        return np.load(self.output).astype(int), np.ldexp(told, -exponent_of(nodes[-2]["value"])).astype(int)

    def test_every_answer_where_batch_norms_round(self):
        ours, theirs = self.answers(NORMS_ALONE)
        self.assertGreater(len(np.unique(ours)), 50)
        np.testing.assert_array_equal(theirs, ours)

    def test_nearly_every_class_where_powers_of_two_round_too(self):
        ours, theirs = self.answers(RESIDUAL)
        self.assertLessEqual(np.abs(theirs - ours).max(), 4)
        self.assertGreaterEqual(np.mean(theirs.argmax(1) == ours.argmax(1)), 0.99)


if __name__ == "__main__":
    main(needs_floats=False)
