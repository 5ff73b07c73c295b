# SPDX-License-Identifier: Apache-2.0
"""Networks that PyTorch exports, read by Nibble, give PyTorch's answers.

ONNX_ANSWERS names a program that runs a network on a batch. Skipped where there is no torch.
"""

import os
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    import torchvision
    from torch import nn

    from cifar_pictures import RESNET20, first_pictures
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

warnings.filterwarnings("ignore")
ANSWERS = os.environ["ONNX_ANSWERS"]


class Net(nn.Module):
    """Layers and the function that joins them."""

    def __init__(self, function, *layers):
        super().__init__()
        self.function = function
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        return self.function(self.layers, x)


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(20261115)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def answers(self, model, batch, *weights):
        np.save(self.folder / "x.npy", batch)
        command = [ANSWERS, model, self.folder / "x.npy", self.folder / "y.npy", *weights]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "y.npy")

    def check(self, net, shape, opset=13, folds=True, is_dynamic=False, keeps_batch_norm=False):
        for module in net.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_(0, 0.1)
                module.running_var.uniform_(0.5, 1.5)
        net.eval()
        batch = torch.randn(2, *shape)
        expected = net(batch).detach().numpy()
        model = self.folder / "model.onnx"
        mode = torch.onnx.TrainingMode.PRESERVE if keeps_batch_norm else torch.onnx.TrainingMode.EVAL
        torch.onnx.export(
            net, batch[:1], str(model), opset_version=opset, do_constant_folding=folds, training=mode,
            input_names=["x"], output_names=["y"],
            dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}} if is_dynamic else None)
        got = self.answers(model, batch.numpy())
        if got.ndim == 4:
            got = got.transpose(0, 3, 1, 2)
        self.assertEqual(got.shape, expected.shape)
        self.assertLess(np.abs(got - expected).max() / np.abs(expected).max(), 1e-4)


class Networks(Case):
    def check_ways(self, net, shape):
        for opset in (11, 13):
            for folds in (False, True):
                for is_dynamic in (False, True):
                    with self.subTest(opset=opset, folds=folds, is_dynamic=is_dynamic):
                        self.check(net, shape, opset, folds, is_dynamic, keeps_batch_norm=folds)

    def test_resnet18(self):
        self.check_ways(torchvision.models.resnet18(), (3, 64, 64))

    def test_resnet50(self):
        self.check(torchvision.models.resnet50(), (3, 64, 64), opset=11, folds=False, is_dynamic=True)
        self.check(torchvision.models.resnet50(), (3, 64, 64), keeps_batch_norm=True)

    def test_mobilenet_v2(self):
        self.check_ways(torchvision.models.mobilenet_v2(), (3, 64, 64))

    def test_vgg11(self):
        net = torchvision.models.vgg11()
        net.classifier = nn.Sequential(nn.Linear(25088, 32), nn.ReLU(), nn.Dropout(), nn.Linear(32, 10))
        self.check(net, (3, 224, 224), opset=11, folds=False, is_dynamic=True)
        self.check(net, (3, 224, 224))

    def test_lenet(self):
        def run(m, x):
            x = F.max_pool2d(torch.relu(m[0](x)), 2)
            x = F.max_pool2d(torch.relu(m[1](x)), 2)
            return m[3](torch.relu(m[2](x.view(-1, 400))))

        layers = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5), nn.Linear(400, 120), nn.Linear(120, 10)
        self.check_ways(Net(run, *layers), (1, 28, 28))


class Nodes(Case):
    def check_both(self, function, shape, *layers, opsets=(9, 11, 13)):
        for opset in opsets:
            for folds in (False, True):
                with self.subTest(opset=opset, folds=folds):
                    self.check(Net(function, *layers), shape, opset, folds, is_dynamic=not folds)

    def test_padding_of_other_kinds(self):
        self.check_both(lambda m, x: m[0](F.pad(x, (0, 1, 2, 0))), (2, 5, 6), nn.Conv2d(2, 3, 3, stride=2))
        self.check_both(lambda m, x: F.pad(m[0](x), (0, 0, 0, 0, 1, 2)), (2, 5, 6), nn.Conv2d(2, 3, 3))

    def test_groups_and_dilations(self):
        self.check_both(lambda m, x: m[0](x), (4, 9, 9), nn.Conv2d(4, 6, 3, groups=2, dilation=2, padding=1))

    def test_pools(self):
        self.check_both(lambda m, x: F.avg_pool2d(x, 3, 2, 1), (2, 7, 9))
        self.check_both(lambda m, x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), (2, 8, 9))
        self.check_both(lambda m, x: F.max_pool2d(torch.relu(x), 3, 2, ceil_mode=True), (2, 8, 10))
        self.check_both(lambda m, x: F.max_pool2d(x, 3, 2, 1), (2, 8, 10))
        self.check_both(lambda m, x: F.max_pool2d(x, 3, 2, ceil_mode=True), (2, 8, 9), opsets=(11, 13))
        self.check_both(lambda m, x: F.avg_pool2d(x, (3, 4), (2, 3), ceil_mode=True, count_include_pad=False),
                        (2, 8, 9), opsets=(11, 13))

    def test_slices_and_joins(self):
        self.check_both(lambda m, x: torch.cat([x[:, 1:3, ::2, 1:], m[0](x)[:, :, ::2, 1:]], 1), (4, 6, 7),
                        nn.Conv2d(4, 5, 1), opsets=(10, 13))
        self.check_both(lambda m, x: m[0](x) + m[1](x) + 1.5, (2, 4, 4), nn.Conv2d(2, 3, 1), nn.Conv2d(2, 3, 1))

    def test_means_and_shapes(self):
        self.check_both(lambda m, x: m[0](x.mean((2, 3))), (3, 4, 5), nn.Linear(3, 2))
        self.check_both(lambda m, x: m[0](F.adaptive_avg_pool2d(x, 1)).flatten(1), (3, 4, 5), nn.Conv2d(3, 2, 1))
        self.check_both(lambda m, x: m[0](x.reshape(x.shape[0], -1)) @ torch.ones(3, 2) + 2, (2, 3, 4),
                        nn.Linear(24, 3))
        self.check_both(lambda m, x: m[0](x).squeeze(3).squeeze(2), (2, 3, 4), nn.Conv2d(2, 3, (3, 4)))


class Resnet20(Case):
    @classmethod
    def setUpClass(cls):
        cls.batch = first_pictures(100)
        cls.logits = np.load(RESNET20 / "logits_first_100.npy")

    def test_the_onnx_file_gives_the_logits(self):
        got = self.answers(RESNET20 / "resnet20.onnx", self.batch)
        self.assertLess(np.abs(got - self.logits).max(), 1e-3)

    def test_the_named_network_with_the_weights_gives_the_logits(self):
        got = self.answers("resnet20", self.batch, RESNET20 / "resnet20.npz")
        self.assertLess(np.abs(got - self.logits).max(), 1e-3)


if __name__ == "__main__":
    unittest.main()
