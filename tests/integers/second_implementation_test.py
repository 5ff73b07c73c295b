# SPDX-License-Identifier: Apache-2.0
"""`nibble train --arith int8` beside a second implementation: every number of the model and the frozen answers."""

import re

import numpy as np
from batch_norm import BatchNorm
from files import IMAGES, LABELS, ROOT, TRAIN_IMAGES
from laws import in_training, loss_differences, shift
from layers import Tensor
from second_implementation import Evaluation, Frozen, Network, Settings, Step
from train_case import TrainCase, main
from twice_case import NORMALIZED_SGD, SGD, TwiceCase

PAGE = (ROOT / "docs" / "integer-training.md").read_text().replace("−", "-")

RESIDUAL = """
  { op = "conv2d", name = "stem", channels = 6, kernel = 3, padding = 1, stride = 2 },
  { op = "relu", name = "open" },
  { op = "conv2d", name = "first", channels = 6, kernel = 3, padding = 1, groups = 2, bias = true },
  { op = "relu" },
  { op = "conv2d", name = "second", channels = 6, kernel = 3, padding = 1 },
  { op = "conv2d", name = "side", channels = 6, kernel = 1, from = "open" },
  { op = "add", from = ["second", "side", "open"] },
  { op = "max_pool", kernel = 3, stride = 1, padding = 1 },
  { op = "conv2d", name = "last", channels = 12, kernel = 2 },
  { op = "relu" },
  { op = "global_average_pool" },
  { op = "linear", name = "fc", features = 10, bias = true },
"""
NORMALIZED = """
  { op = "conv2d", name = "stem", channels = 6, kernel = 3, padding = 1, stride = 2 },
  { op = "batch_norm", name = "norm_of_sums" },
  { op = "relu", name = "open" },
  { op = "conv2d", name = "branch", channels = 6, kernel = 3, padding = 1 },
  { op = "batch_norm", name = "norm_of_branch" },
  { op = "add", from = ["norm_of_branch", "open"] },
  { op = "relu" },
  { op = "max_pool", kernel = 2 },
  { op = "batch_norm", name = "norm_of_values" },
  { op = "global_average_pool" },
  { op = "linear", name = "fc", features = 10, bias = true },
"""
# Shortcuts as in networks/resnet20.toml: every second pixel, and zeros as the missing channels on either side.
SHORTCUT = """
  { op = "conv2d", channels = 4, kernel = 3, padding = 1 }, { op = "batch_norm" }, { op = "relu", name = "stem" },
  { op = "conv2d", channels = 4, kernel = 3, padding = 1 }, { op = "batch_norm" }, { op = "relu" },
  { op = "conv2d", channels = 4, kernel = 3, padding = 1 }, { op = "batch_norm", name = "end1" },
  { op = "add", from = ["end1", "stem"] }, { op = "relu", name = "block1" },
  { op = "conv2d", channels = 8, kernel = 3, stride = 2, padding = 1 }, { op = "batch_norm" }, { op = "relu" },
  { op = "conv2d", channels = 8, kernel = 3, padding = 1 }, { op = "batch_norm", name = "end2" },
  { op = "slice", from = "block1", step = [2, 2, 1] },
  { op = "pad", name = "shortcut", before = [0, 0, 2], after = [0, 0, 2] },
  { op = "add", from = ["end2", "shortcut"] }, { op = "relu" },
  { op = "global_average_pool" }, { op = "linear", features = 10, bias = true },
"""
DROPOUT = """
  { op = "conv2d", channels = 6, kernel = 3, padding = 1 }, { op = "relu" },
  { op = "dropout", share = 0.5 },
  { op = "conv2d", channels = 6, kernel = 3, padding = 1 }, { op = "relu" },
  { op = "max_pool", kernel = 2 }, { op = "flatten" }, { op = "dropout", share = 0.75 },
  { op = "linear", features = 10 },
"""
# The layers that no network of a recipe in integers has.
OTHER_LAYERS = """
  { op = "conv2d", channels = 6, kernel = 3, padding = 1 }, { op = "bias", name = "raised" }, { op = "relu6", name = "low" },
  { op = "slice", name = "odd", from = "low", begin = [1, 0, 1], end = [8, 7, 6], step = [2, 2, 2] },
  { op = "average_pool", name = "mean", from = "raised", kernel = 2 },
  { op = "average_pool", from = "low", kernel = 3, stride = 2, padding = 1, counts_padding = false },
  { op = "pad", name = "wide", before = [1, 0, 0], after = [0, 2, 1] },
  { op = "slice", name = "middle", from = "wide", begin = [1, 0, 0], end = [0, 4, 0] },
  { op = "concat", from = ["odd", "mean", "middle"] },
  { op = "depthwise", kernel = 3, dilation = 2, padding = 2 }, { op = "relu" }, { op = "average_pool", kernel = 2, padding = 1 },
  { op = "flatten" }, { op = "linear", features = 10 },
"""
PLAIN = """
  { op = "flatten" }, { op = "linear", features = 12, bias = true }, { op = "relu" }, { op = "linear", features = 10 },
"""
SCHEDULES = ("step(1,2)", "step(0.5;0.3)", "values(0.25:0.2,1:0.05)", "cosine(0.1,by=epoch)", "linear", "linear(0.2,0.8,0.05)",
             "linear(0.1,0.9,0,over=2.5,by=epoch)", "linear(0.5,0.5000000001,0.1)", "onecycle(0.6,0.1,0.001)", "warmup(1)+cosine",
             "warmup(7,steps,start=0.2)+onecycle", "warmup(0.5,start=0.5)+step(1;0.5)")


class Page(TrainCase):
    def test_the_goldens_of_shifts(self):
        for name in ("nearest", "pseudo-stochastic"):
            goldens = re.search(rf"\n- {name}: ([^:]*)\n-", PAGE)[1]
            for x, s, result in re.findall(r"(-?\d+),(\d+)→(-?\d+)", goldens):
                rounded = shift(np.array([int(x)]), int(s), name)
                self.assertEqual(max(min(int(rounded[0]), 127), -127), int(result), (name, x, s))

    def test_the_goldens_of_the_loss(self):
        answers = np.array([[10, -20, 30, 127, -127, 64, 0, 5, -60, 90]])
        rows = re.findall(r"\n\| (-?\d+) \| (both|fractional|whole octaves) \| ([-\d, ]+) \|", PAGE)
        self.assertEqual(len(rows), 10)
        for exponent, form, differences in rows:
            told = loss_differences(answers, int(exponent), [0], form)
            self.assertEqual(told[0].tolist(), [int(d) for d in differences.split(",")], (exponent, form))


class BatchNorms(TrainCase):
    """The integers of a batch norm are those of floats, to half a unit of the result and the bits of the line."""

    def setUp(self):
        rng = np.random.default_rng(1)
        shape = {"kernel": [3, 3], "stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "groups": 1}
        nodes = [{"inputs": [], "shape": [4, 4, 3]},
                 {"op": "conv2d", "name": "conv", "inputs": [0], "channels": 5, "bias": False, **shape},
                 {"op": "batch_norm", "name": "norm", "inputs": [1]}, {"op": "softmax_cross_entropy"}]
        self.settings = Settings(epochs=1, **SGD)
        self.network = Network({"nodes": nodes}, self.settings)
        self.norm = self.network.layers[-1]
        self.norm.scale.fine = rng.integers(2**15, 2**18, 5) * [1, -1, 1, -1, 1]
        self.norm.shift.fine = rng.integers(-2**18, 2**18, 5)
        self.x = Tensor(rng.integers(-127, 128, (8, 4, 4, 3)), -6)
        self.error = Tensor(rng.integers(-127, 128, (8, 4, 4, 5)), -9)
        _, sums, self.value = self.network.run(Evaluation(), self.x)
        x = sums.mantissas * 2.0**sums.exponent
        self.scale, self.deviation = self.norm.scale.fine / 2**16, np.sqrt(x.var(axis=(0, 1, 2)) + 2**-17)
        self.normal = (x - x.mean(axis=(0, 1, 2))) / self.deviation

    def is_near(self, tensor, floats):
        self.assertLess(np.abs(tensor.mantissas - floats * 2.0**-tensor.exponent).max(), 0.51)

    def test_values(self):
        self.is_near(self.value, self.normal * self.scale + self.norm.shift.fine / 2**16)
        frozen = self.network.run(Frozen([self.x.exponent, 0, self.value.exponent]), self.x)[-1]
        self.is_near(frozen, self.normal * self.scale + self.norm.shift.fine / 2**16)

    def test_errors_and_gradients(self):
        gradients, error = {}, self.error.mantissas * 2.0**self.error.exponent
        step = Step(self.settings, 0, 1, 8)
        step.move = lambda parameter, gradient, exponent: gradients.update({parameter.kind: gradient * 2.0**exponent})
        (passed,) = self.norm.backward(step, self.error, True)
        about_mean = error - error.mean(axis=(0, 1, 2)) - self.normal * (error * self.normal).mean(axis=(0, 1, 2))
        self.is_near(passed, self.scale / self.deviation * about_mean)
        np.testing.assert_allclose(gradients["scale"], (error * self.normal).sum(axis=(0, 1, 2)), atol=2**-8)
        np.testing.assert_array_equal(gradients["shift"], error.sum(axis=(0, 1, 2)))


class Run(TwiceCase):
    def compare(self, layers, flags, loss="softmax_cross_entropy", start=None, **settings):
        """Trains by the command and again; compares parameters, exponents, statistics and answers. The second model."""
        folder, _, _ = self.train("run", "--arith", "int8", "--overwrite", *map(str, flags), network=self.network(layers, loss))
        return self.compare_model(folder, IMAGES, LABELS, TRAIN_IMAGES, Settings(**{"batch": 64, **settings}), start)

    def test_shifts(self):
        self.compare(RESIDUAL, ["--epochs", 1], epochs=1)

    def test_shifts_with_every_choice(self):
        flags = ["--epochs", 2, "--average-from", 2, "--seed", 7, "--mu", "5,4@1", "--bias-mu", "2,0@1", "--decay", "--momentum16", 9,
                 "--fraction-bits", 5, "--residual-bits", 1, "--loss-form", "octaves", "--shift-rounding",
                 "error=stochastic", "--shift-rounding", "gradient=stochastic", "--shift-rounding", "value=pseudo-stochastic"]
        self.compare(RESIDUAL, flags, epochs=2, average_from=2, seed=7, mu="5,4@1", bias_mu="2,0@1", decay=True, momentum16=9,
                     fraction_bits=5, residual_bits=1, loss_form="octaves", error_rounding="stochastic",
                     gradient_rounding="stochastic", value_rounding="pseudo-stochastic")

    def test_sgd_with_exponents_that_fall(self):
        flags = ["--update", "sgd", "--epochs", 1, "--weight-decay", 0.5, "--schedule", "constant"]
        self.compare(RESIDUAL, flags, epochs=1, weight_decay=0.5, schedule="constant", **SGD)

    def test_sgd_with_exponents_that_rise_and_an_average(self):
        flags = ["--update", "sgd", "--epochs", 2, "--lr", 0.1, "--momentum", 0.5, "--average-from", 1, "--crop", 2]
        self.compare(RESIDUAL, flags, epochs=2, lr=0.1, momentum=0.5, average_from=1, crop=2, **SGD)

    def test_batch_norms(self):
        flags = ["--update", "sgd", "--epochs", 2, "--weight-decay", 0.001, "--decay-norms", "--average-from", 2,
                 "--smoothing", 0.1, "--crop", 1, "--flip"]
        self.compare(NORMALIZED, flags, epochs=2, weight_decay=0.001, decay_norms=True, average_from=2, crop=1, flip=True, **NORMALIZED_SGD)

    def test_running_statistics(self):
        """As the weights are, of norms with a momentum of their own and of one that is not trained; an average has none."""
        layers = NORMALIZED.replace('name = "norm_of_sums"', 'name = "norm_of_sums", momentum = 0.3')
        flags = ["--update", "sgd", "--epochs", 2, "--lr", 1, "--schedule", "constant", "--statistics", "running", "--crop", 1,
                 "--freeze", "*_of_branch"]
        choices = {"epochs": 2, "lr": 1, "schedule": "constant", "statistics": "running", "crop": 1, "freeze": ("*_of_branch",),
                   **NORMALIZED_SGD}
        model = self.compare(layers, flags, **choices)
        self.assertEqual([norm.share for norm in model.network.layers if isinstance(norm, BatchNorm)], [77, 26, 26])
        moves = [channel.exponent - kept.exponent for norm in model.network.layers if isinstance(norm, BatchNorm)
                 for kept, channel in zip(norm.kept, norm.channels)]
        self.assertTrue(any(moves))  # some are frozen in another unit
        self.compare(layers, [*flags, "--average-from", 2], average_from=2, **choices)

    def test_batch_norms_at_all_bounds(self):
        """So large a rate that scales reach both bounds and cross 0, where the sign before the step counts."""
        flags = ["--update", "sgd", "--epochs", 1, "--lr", 3, "--schedule", "constant", "--batch", 16]
        model = self.compare(NORMALIZED, flags, epochs=1, lr=3, schedule="constant", batch=16, **NORMALIZED_SGD)
        scales = np.abs([layer.scale.fine for layer in model.network.layers if hasattr(layer, "scale")])
        self.assertEqual((scales.min(), scales.max()), (2**8, 127 * 2**16))

    def test_shortcuts_and_one_cycle(self):
        flags = ["--update", "sgd", "--epochs", 2, "--lr", 0.2, "--schedule", "onecycle", "--weight-decay", 0.0005, "--decay-norms",
                 "--crop", 2, "--flip", "--cutout", 3]
        self.compare(SHORTCUT, flags, epochs=2, lr=0.2, schedule="onecycle", weight_decay=0.0005, decay_norms=True, crop=2,
                     flip=True, cutout=3, **NORMALIZED_SGD)

    def test_nesterov(self):
        flags = ["--update", "sgd", "--epochs", 2, "--lr", 0.2, "--momentum", 0.8, "--nesterov", "--weight-decay", 0.001]
        self.compare(SHORTCUT, flags, epochs=2, lr=0.2, momentum=0.8, nesterov=True, weight_decay=0.001, **NORMALIZED_SGD)

    def test_masters_of_few_bits_round_what_remains_of_momentum(self):
        for bits, looks_ahead in ((4, False), (8, True), (9, False)):
            flags = ["--update", "sgd", "--epochs", 1, "--lr", 0.2, "--weight-decay", 0.001, "--fraction-bits", bits]
            self.compare(SHORTCUT, flags + ["--nesterov"] * looks_ahead, epochs=1, lr=0.2, weight_decay=0.001,
                         nesterov=looks_ahead, **{**NORMALIZED_SGD, "fraction_bits": bits})

    def test_dropout(self):
        for seed, rounding in ((1, "nearest"), (5, "stochastic")):
            flags = ["--epochs", 1, "--seed", seed, "--shift-rounding", f"error={rounding}"]
            self.compare(DROPOUT, flags, epochs=1, seed=seed, error_rounding=rounding)

    def test_the_layers_of_no_recipe(self):
        self.compare(OTHER_LAYERS, ["--epochs", 1, "--shift-rounding", "value=stochastic", "--calibration", 50], epochs=1,
                     value_rounding="stochastic", calibration=50)
        flags = ["--epochs", 1, "--update", "sgd", "--shift-rounding", "error=stochastic", "--fraction-bits", 8]
        self.compare(OTHER_LAYERS, flags, epochs=1, error_rounding="stochastic", **{**SGD, "fraction_bits": 8})

    def test_delayed_shifts(self):
        self.compare(RESIDUAL, ["--epochs", 1, "--shifts", "delayed"], epochs=1, shifts="delayed")
        flags = ["--update", "sgd", "--epochs", 1, "--shifts", "delayed"]
        self.compare(NORMALIZED, flags, epochs=1, shifts="delayed", **NORMALIZED_SGD)

    def test_frozen_layers(self):
        flags = ["--epochs", 2, "--freeze", "s*d*", "--freeze", "f?", "--average-from", 2]
        self.compare(RESIDUAL, flags, epochs=2, freeze=("s*d*", "f?"), average_from=2)
        flags = ["--update", "sgd", "--freeze", "stem", "--freeze", "*_of_s*", *flags[:2], *flags[-2:]]
        self.compare(NORMALIZED, flags, epochs=2, freeze=("stem", "*_of_s*"), average_from=2, **NORMALIZED_SGD)

    def test_numbers_and_targets(self):
        rng = np.random.default_rng(1)
        x = (rng.standard_normal((300, 3, 3, 2)) * 5).astype(np.float32)
        y = np.tanh(x.reshape(300, 18) @ rng.standard_normal((18, 3)) / 9).astype(np.float32)
        x[np.setdiff1d(np.arange(300), in_training(300, 1, 60))] *= 3  # the largest are set aside, and count
        data = self.folder / "data"
        data.mkdir()
        np.save(data / "images.npy", x)
        np.save(data / "targets.npy", y)
        text = self.network(PLAIN.replace("10", "3"), "squared_error", (3, 3, 2))
        for rounding in ("nearest", "stochastic"):
            flags = ["--epochs", "3", "--val", "60", "--shift-rounding", f"error={rounding}", "--crop", "1", "--flip",
                     "--mu", "3", "--overwrite"]
            folder, _, _ = self.train("run", "--arith", "int8", "--data", data, *flags, network=text)
            settings = Settings(epochs=3, batch=64, val=60, error_rounding=rounding, crop=1, flip=True, mu="3")
            self.compare_model(folder, x, y, len(x), settings)

    def test_images_set_aside(self):
        flags = ["--update", "sgd", "--epochs", 1, "--val", 0.15, "--crop", 1]
        self.compare(NORMALIZED, flags, epochs=1, val=0.15, crop=1, **NORMALIZED_SGD)
        self.compare(PLAIN, ["--epochs", 1, "--val", 501, "--calibration", 100], epochs=1, val=501, calibration=100)

    def test_roundings_of_layers(self):
        rules = {"first.value": "stochastic", "second.error": "pseudo-stochastic", "open.error": "stochastic", "fc.gradient": "nearest",
                 "last.error": "stochastic"}
        flags = [word for name, rounding in rules.items() for word in ("--shift-rounding", f"{name}={rounding}")]
        self.compare(RESIDUAL, ["--epochs", 1, *flags], epochs=1, layer_roundings=rules)

    def test_starts(self):
        """From floats, from the integers that came of them, and with batch norms; the usual course of mu is another."""
        floats = self.train("floats", "--epochs", "1", "--lr", "0.01", network=self.network(RESIDUAL))[0] / "model.nib"
        for file, epochs, mu, bits in ((floats, 4, "0,-1@2,-2@3", 8), (self.folder / "run" / "model.nib", 1, "0", 0)):
            start = self.folder / "start.nib"
            start.write_bytes(file.read_bytes())
            flags = ["--from", start, "--epochs", epochs, "--average-from", epochs, "--fraction-bits", bits]
            self.compare(RESIDUAL, flags, start=start, epochs=epochs, average_from=epochs, fraction_bits=bits, mu=mu)
        flags = ["--update", "sgd", "--epochs", 1, "--lr", 0.1]
        self.compare(NORMALIZED, flags, epochs=1, lr=0.1, **NORMALIZED_SGD)
        start.write_bytes((self.folder / "run" / "model.nib").read_bytes())
        self.compare(NORMALIZED, [*flags, "--seed", 3, "--from", start], start=start, epochs=1, lr=0.1, seed=3, **NORMALIZED_SGD)

    def test_squared_errors(self):
        self.compare(PLAIN, ["--epochs", 1, "--shifts", "delayed"], loss="squared_error", epochs=1, shifts="delayed")
        self.compare(PLAIN, ["--epochs", 2, "--mu", 3, "--shift-rounding", "error=stochastic"], loss="squared_error", epochs=2, mu="3",
                     error_rounding="stochastic")

    def test_schedules(self):
        for schedule in SCHEDULES:
            with self.subTest(schedule):
                flags = ["--update", "sgd", "--epochs", 3, "--schedule", schedule, "--batch", 200]
                self.compare(PLAIN, flags, epochs=3, schedule=schedule, batch=200, **SGD)

    def test_averaged_scales_are_held(self):
        """Scales that decay so fast that they change their signs: some of their means come below the bound."""
        flags = ["--update", "sgd", "--epochs", 2, "--lr", 1, "--schedule", "constant", "--weight-decay", 0.5, "--decay-norms",
                 "--average-from", 2, "--seed", 4]
        model = self.compare(NORMALIZED, flags, epochs=2, lr=1, schedule="constant", weight_decay=0.5, decay_norms=True,
                             average_from=2, seed=4, **NORMALIZED_SGD)
        held = [scale for average in model.averages for scale in average.held]
        self.assertEqual(set(held), {-2**8, 2**8})

    def test_frozen_biases_that_are_held(self):
        """A scale that decays to its bound, for pictures of one brightness say nothing of the targets, which keep a shift large."""
        rng, data = np.random.default_rng(1), self.folder / "data"
        x = np.broadcast_to(rng.integers(0, 256, (32, 1, 1, 1), np.uint8), (32, 16, 16, 3)).copy()
        y = np.full((32, 4), 90, np.float32)
        data.mkdir()
        np.save(data / "images.npy", x)
        np.save(data / "targets.npy", y)
        text = self.network('{ op = "flatten" }, { op = "linear", name = "fc", features = 4 }, { op = "batch_norm", name = "norm" },',
                            "squared_error", (16, 16, 3))
        flags = ["--update", "sgd", "--lr", "0.1", "--schedule", "constant", "--weight-decay", "0.1", "--decay-norms", "--freeze", "fc",
                 "--epochs", "30", "--average-from", "0", "--batch", "8"]
        folder, said, _ = self.train("run", "--arith", "int8", "--data", data, *flags, network=text)
        settings = Settings(epochs=30, batch=8, lr=0.1, schedule="constant", weight_decay=0.1, decay_norms=True, freeze=("fc",),
                            **NORMALIZED_SGD)
        self.compare_model(folder, x, y, len(x), settings, held=1)
        warning = "1 channel of batch norms (norm: 1) with a frozen bias held at 2^30: answers too near to 0"
        self.assertIn(f"warning        {warning}\n", said)
        self.assertEqual(self.summary(folder)["warnings"], [warning])
        self.assertIn(f"\nwarning: {warning}\n", self.done("describe", folder / "model.nib").decode())


if __name__ == "__main__":
    main()
