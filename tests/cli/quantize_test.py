# SPDX-License-Identifier: Apache-2.0
"""nibble quantize: a float network of the bundled digits as integers of 8 and of 4 bits."""

import json
import re
import tempfile
import unittest
from pathlib import Path

import numpy as np

from case import Case, grey_png, run


class Quantize(Case):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        cls.run_folder = Path(cls.kept.name) / "float"
        process = run("train", "digits-mlp-fp32", "--epochs", 8, "--quiet", "--out", cls.run_folder)
        assert process.returncode == 0, process.stderr.decode()
        cls.model = cls.run_folder / "model.nib"

    def quantized(self, *more):
        out = self.folder / "q.nib"
        text = self.done("quantize", self.model, "-o", out, "--calib", "digits", "--json", *more)
        return json.loads(text), out

    def test_eight_bits_lose_little_and_take_a_quarter(self):
        found, out = self.quantized()
        self.assertGreater(found["float_top1"], 0.85)
        self.assertGreater(found["top1"], found["float_top1"] - 0.01)
        self.assertLess(found["bytes"], 0.35 * found["float_bytes"])
        self.assertTrue(all(row["sqnr_db"] > 15 for row in found["errors"]))
        evaluated = json.loads(self.done("eval", out, "--data", "digits", "--json"))
        self.assertAlmostEqual(evaluated["top1"], found["top1"])

    def test_the_model_that_is_read_is_not_replaced(self):
        before = self.model.read_bytes()
        for model in (self.model, self.run_folder):
            self.fails(1, "model.nib, the model itself, expected another file", "quantize", model, "-o", self.model,
                       "--calib", "digits")
            self.fails(1, "the model itself", "quantize", model, "-o", self.folder / "q.nib", "--fake", self.model,
                       "--calib", "digits")
        self.assertEqual(self.model.read_bytes(), before)

    def test_every_path_gives_the_same_integers(self):
        _, out = self.quantized("--weights", "int4")
        answers = set()
        for isa in ("reference", "portable", "avx2"):
            process = run("eval", out, "--data", "digits", "--json", NIBBLE_ISA=isa)
            if process.returncode == 0:
                answers.add(process.stdout)
        self.assertEqual(len(answers), 1)

    def test_what_it_wrote_is_named(self):
        out, fake, page = (self.folder / name for name in ("q.nib", "fake.nib", "q.html"))
        text = self.done("quantize", self.model, "-o", out, "--calib", "digits", "--fake", fake, "--report", page).decode()
        self.assertIn(f"\nwrote {out}, {fake}, {page}; calibrated", text)

    def test_the_same_settings_give_the_same_file(self):
        first, _ = self.quantized("--method", "mse", "--threads", "1")
        second, _ = self.quantized("--method", "mse", "--threads", "2")
        self.assertEqual(first["weights_hash"], second["weights_hash"])
        other, _ = self.quantized("--method", "max")
        self.assertNotEqual(first["weights_hash"], other["weights_hash"])

    def test_fine_tuning_helps_two_bits(self):
        before, _ = self.quantized("--weights", "int2")
        after, _ = self.quantized("--weights", "int2", "--finetune", "3", "--lr", "0.01")
        self.assertGreater(after["top1"], before["top1"])

    def test_the_way_of_nvidia_ends_in_its_layer_directory(self):
        rng = np.random.default_rng(3)
        labels = np.arange(16) % 4
        pictures = (rng.integers(0, 120, (16, 32, 32, 3)) + 40 * labels[:, None, None, None]).astype(np.uint8)
        data = self.folder / "squares.npz"
        np.savez(data, x_train=pictures, y_train=labels, x_test=pictures[:8], y_test=labels[:8])
        recipe = self.folder / "float.toml"
        recipe.write_text('network = "resnet26-32x32"\nmean = [0.485, 0.456, 0.406]\ndeviation = [0.229, 0.224, 0.225]\n'
                          f'data = "{data}"\nepochs = 1\nbatch = 8\nrate = 0.05\n')
        process = run("train", recipe, "--quiet", "--out", self.folder / "float")
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        out = self.folder / "int4.nib"
        text = self.done("quantize", self.folder / "float" / "model.nib", "-o", out, "--calib", data, "--recipe",
                         "nvidia-int4", "--finetune", "1", "--samples", "8").decode()
        self.assertNotIn("no layer directory", text)
        for factors in re.findall(r'"shift": (\d+)', self.done("describe", out, "--json").decode()):
            self.assertLessEqual(int(factors), 26)
        self.done("convert", out, self.folder / "model")
        layer = (self.folder / "model" / "layer1_0_downsample_1").read_text()
        self.assertIn("compute_mode=s32u16s8", layer)
        self.assertIn("compute_mode=u4u16u31", (self.folder / "model" / "layer1_1_downsample").read_text())
        self.assertIn("shift_bits=16", layer)
        back = self.folder / "back.nib"
        self.done("convert", self.folder / "model", back, "--input-size", "32")
        answers = [self.done("run", model, "--input", self.save("some.npy", pictures[:8]), "--output", "-")
                   for model in (out, back)]
        self.assertEqual(*answers)
        hashes = [json.loads(self.done("describe", model, "--json"))["weights_hash"] for model in (out, back)]
        self.assertEqual(*hashes)

    def test_a_network_of_another_kind_has_no_layer_directory(self):
        text = self.done("quantize", self.model, "-o", self.folder / "q.nib", "--calib", "digits", "--recipe",
                         "nvidia-int4", "--finetune", "1").decode()
        self.assertIn("no layer directory holds it: ", text)

    def test_its_layers_are_described_as_integers(self):
        _, out = self.quantized("--weights", "int4")
        layers = self.done("describe", out).decode().split("Certificate")[0]
        self.assertRegex(layers, r"linear .* integers, weight int4\n")
        self.assertNotIn("fp32", layers)

    def test_tables_are_those_of_cmsis(self):
        _, out = self.quantized()
        text = self.done("describe", out, "--tables").decode()
        rows = [line.split() for line in text.splitlines() if line.strip() and line.split()[0].isdigit()]
        self.assertGreaterEqual(len(rows), 42)
        for _, multiplier, shift, factor in rows:
            self.assertTrue(2**30 <= int(multiplier) < 2**31)
            self.assertAlmostEqual(int(multiplier) / 2**31 * 2.0 ** int(shift) / float(factor), 1, places=6)

    def test_few_bits_are_packed(self):
        sizes = [self.quantized("--weights", f"int{bits}")[0]["bytes"] for bits in (8, 4, 3, 2)]
        weights = 64 * 32 + 32 * 10
        self.assertEqual([sizes[0] - size for size in sizes], [0, weights // 2, weights * 5 // 8, weights * 3 // 4])

    def test_mixed_bits_keep_to_a_size(self):
        plan = self.folder / "plan.toml"
        uniform, _ = self.quantized("--weights", "int3")
        most = uniform["bytes"] + 112
        found, _ = self.quantized("--target-file", most, "--plan", plan)
        self.assertLessEqual(found["bytes"], most)
        self.assertGreater(found["bytes"], most - 112)
        again, _ = self.quantized("--per-layer", plan)
        self.assertEqual(found["weights_hash"], again["weights_hash"])
        line = self.fails(1, "--target-file: got 500 bytes, expected ", "quantize", self.model, "-o",
                          self.folder / "n.nib", "--calib", "digits", "--target-file", "500")
        least, _ = self.quantized("--target-file", re.search(r"expected (\d+) or more", line)[1])
        self.assertEqual(least["bytes"], int(re.search(r"expected (\d+) or more", line)[1]))

    def emitted_bytes(self, *options):
        _, out = self.quantized(*options)
        text = self.done("emit", out, "-o", self.folder / "c", "--force").decode()
        return int(re.search(r"^parameters +(\d+) bytes", text, re.MULTILINE)[1])

    def test_emitted_parameters_keep_to_a_size(self):
        large, small = self.emitted_bytes(), self.emitted_bytes("--weights", "int4")
        for most in (large, large - 1, (large + small) // 2, small):
            found = self.emitted_bytes("--target-size", most)
            self.assertLessEqual(found, most)
            self.assertGreaterEqual(found, small)
        self.fails(1, f"--target-size: got {small - 1} bytes, expected {small} or more", "quantize", self.model, "-o",
                   self.folder / "n.nib", "--calib", "digits", "--target-size", small - 1)

    def test_options_that_do_nothing_are_refused(self):
        for option, *value in (("--lr", "0.1"), ("--crop", "1"), ("--flip",), ("--seed", "2")):
            self.fails(2, f"{option}: is an option of fine-tuning", "quantize", self.model, "-o", self.folder / "n.nib",
                       "--calib", "digits", option, *value)
        self.fails(2, "--weights: each layer gets its own bits", "quantize", self.model, "-o", self.folder / "n.nib",
                   "--calib", "digits", "--weights", "int4", "--target-file", "2000")

    def test_bits_go_as_long_as_little_is_lost(self):
        whole, _ = self.quantized()
        found, _ = self.quantized("--max-loss", "3")
        self.assertLess(found["bytes"], whole["bytes"] - (64 * 32 + 32 * 10) // 4)
        self.assertGreater(found["top1"], whole["top1"] - 0.08)

    def test_a_recipe_gives_way_to_options(self):
        by_recipe, _ = self.quantized("--recipe", "int4-weights")
        by_hand, _ = self.quantized("--weights", "int4", "--edges", "8", "--learn-rounding")
        self.assertEqual(by_recipe["weights_hash"], by_hand["weights_hash"])
        other, _ = self.quantized("--recipe", "int4-weights", "--edges", "4")
        self.assertLess(other["bytes"], by_recipe["bytes"])
        recipe = self.folder / "mine.toml"
        recipe.write_text('weight = "int4"\n')
        self.fails(1, "mine.toml:1: key of a recipe: got 'weight', expected one of", "quantize", self.model, "-o",
                   self.folder / "q.nib", "--calib", "digits", "--recipe", recipe)

    def test_a_recipe_writes_no_file(self):
        recipe, kept = self.folder / "mine.toml", self.folder / "kept"
        kept.write_text("precious")
        for key in ("report", "fake", "plan", "scan-plot", "output"):
            recipe.write_text(f'weights = "int4"\n{key} = "{kept}"\n')
            self.fails(1, f"mine.toml:2: key of a recipe: got '{key}', expected one of", "quantize", self.model, "-o",
                       self.folder / "q.nib", "--calib", "digits", "--recipe", recipe)
        self.assertEqual(kept.read_text(), "precious")

    def test_a_recipe_with_absurd_values_is_refused(self):
        recipe = self.folder / "mine.toml"
        for line, code, words in (("max-loss = nan", 2, "--max-loss: got nan, expected 0 to 100"),
                                  ("samples = 9223372036854775807", 2, "--samples: got '9223372036854775807', expected a whole number from 1 to"),
                                  ("samples = -1", 2, "--samples: got '-1', expected a whole number from 1 to"),
                                  ("finetune = 1000000000000", 2, "--finetune: got '1000000000000', expected a whole number from 0 to"),
                                  ("finetune = 1\nlr = nan", 2, "--lr: got nan, expected"),
                                  ("finetune = 1\ncrop = 2147483647", 2, "--crop: got '2147483647', expected a whole number from 0 to 1024"),
                                  ("target-size = -5", 2, "--target-size: got '-5', expected a whole number from 1 to"),
                                  ('method = "max\\nx"', 1, "method: got 'max x', expected a string without control characters")):
            recipe.write_text(line + "\n")
            self.fails(code, words, "quantize", self.model, "-o", self.folder / "q.nib", "--calib", "digits", "--recipe", recipe)

    def test_the_page_has_errors_and_scan(self):
        page = self.folder / "q.html"
        self.quantized("--report", page)
        text = page.read_text()
        self.assertTrue(text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n"))
        for words in ("in integers", "worst channel", "Sensitivity", "int2", "percentile:99.999", "<svg"):
            self.assertIn(words, text)

    def test_models_are_compared(self):
        fake = self.folder / "fake.nib"
        _, out = self.quantized("--weights", "int3", "--fake", fake)
        found = json.loads(self.done("compare", self.model, out, "--data", "digits", "--json"))
        self.assertEqual(found["images"], found["agreed"] + len(found["different"]))
        self.assertGreater(len(found["different"]), 0)
        self.assertGreater(found["agreement"], 0.9)
        twin = json.loads(self.done("compare", fake, out, "--data", "digits", "--json"))
        self.assertGreaterEqual(twin["agreement"], 0.999)
        pictures = self.folder / "different.html"
        text = self.done("compare", self.model, out, "--data", "digits", "--pictures", pictures).decode()
        self.assertIn("answers agree", text)
        self.assertIn("<svg", pictures.read_text())

    def test_counters_and_a_regression(self):
        random = np.random.default_rng(5)
        x = np.stack([random.integers(0, 2, 600), random.integers(900_000, 1_100_000, 600),
                      random.integers(-50, 50, 600)], 1).astype(np.float32)
        y = (2 * x[:, 0] + (x[:, 1] - 1e6) / 1e5 - x[:, 2] / 25).astype(np.float32)
        np.savez(self.folder / "counters.npz", x_train=x[:500], y_train=y[:500], x_test=x[500:], y_test=y[500:])
        network = self.folder / "counters.toml"
        network.write_text('name = "counters"\ninput = [3]\nlayers = [{ op = "batch_norm" }, '
                           '{ op = "linear", features = 16, bias = true }, { op = "relu" }, '
                           '{ op = "linear", features = 1, bias = true }, { op = "squared_error" }]\n')
        data = self.folder / "counters.npz"
        self.done("train", network, "--data", data, "--epochs", "30", "--batch", "20", "--lr", "0.02", "--threads", "1", "--quiet",
                  "--out", self.folder / "run")
        model, out = self.folder / "run" / "model.nib", self.folder / "q.nib"
        self.done("quantize", model, "-o", out, "--calib", data, "--integer-features")
        exact = json.loads(self.done("eval", model, "--data", data, "--json"))["loss"]
        loss = json.loads(self.done("eval", out, "--data", data, "--json"))["loss"]
        self.assertLess(exact, 0.05)
        self.assertLess(loss, exact + 0.02)
        np.save(self.folder / "x.npy", x[500:].astype(np.int32))
        self.done("run", out, "--input", self.folder / "x.npy", "--output", self.folder / "y.npy")
        shown = json.loads(self.done("describe", out, "--json"))
        self.assertIn("fixed(31,0", json.dumps(shown))

    def test_the_entropy_of_values_finds_ranges_too(self):
        for bits, most in (("uint8", 0.01), ("uint4", 0.05)):
            found, _ = self.quantized("--method", "entropy", "--activations", bits)
            self.assertGreater(found["top1"], found["float_top1"] - most, bits)

    def pictures(self, folder, count=12):
        random = np.random.default_rng(3)
        folder.mkdir(parents=True)
        for i in range(count):
            size = random.integers(8, 20, 2)
            (folder / f"{i}.png").write_bytes(grey_png(random.integers(0, 256, size).astype(np.uint8)))
        return folder

    def test_pictures_of_mixed_sizes(self):
        data = self.folder / "data"
        for split in ("train", "test"):
            for name in ("a", "b"):
                self.pictures(data / split / name)
        out = self.folder / "q.nib"
        process = run("quantize", self.model, "-o", out, "--calib", data)
        if b"no libpng" in process.stderr:
            self.skipTest("this build has no libpng")
        self.assertEqual(process.returncode, 0, process.stderr.decode())  # the middle of each is taken
        found = json.loads(self.done("quantize", self.model, "-o", out, "--calib", data, "--image-size", "8", "--json"))
        self.assertIn("top1", found)
        both = json.loads(self.done("compare", self.model, out, "--data", data, "--image-size", "8", "--json"))
        self.assertEqual(both["images"], 24)
        self.fails(1, "image size for digits", "quantize", self.model, "-o", out, "--calib", "digits", "--image-size", "8")

    def test_pictures_without_classes_calibrate(self):
        data, out = self.pictures(self.folder / "data"), self.folder / "q.nib"
        options = ("quantize", self.model, "-o", out, "--calib", data, "--image-size", "8")
        process = run(*options, "--json")
        if b"no libpng" in process.stderr:
            self.skipTest("this build has no libpng")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertNotIn("top1", json.loads(process.stdout))
        counted = json.loads(self.done("quantize", self.model, "-o", out, "--calib", data, "--image-size", "8", "--json"))
        self.assertEqual(counted["weights_hash"], json.loads(process.stdout)["weights_hash"])
        self.fails(1, "--finetune on", *options, "--finetune", "1")
        self.fails(1, "--max-loss on", *options, "--max-loss", "1")
        self.fails(1, "pictures without classes, expected CLASS/FILE.png", "eval", self.model, "--data", data, "--split",
                   "train", "--image-size", "8")

    def test_bad_input_is_one_line(self):
        _, out = self.quantized()
        self.fails(1, "nowhere", "quantize", self.model, "-o", self.folder / "nowhere" / "q.nib", "--calib", "digits")
        nowhere = self.folder / "n.nib"
        self.fails(1, "a model of integers", "quantize", out, "-o", nowhere, "--calib", "digits")
        self.fails(2, "expected int2 to int8", "quantize", self.model, "-o", nowhere, "--calib", "digits",
                   "--weights", "int9")
        self.fails(1, "percentile", "quantize", self.model, "-o", nowhere, "--calib", "digits", "--method", "percentil")
        np.savez(self.folder / "wide.npz", images=np.zeros((4, 9, 9, 1), np.uint8), labels=np.arange(4))
        self.fails(1, "shape of an example: got (9, 9, 1)", "quantize", self.model, "-o", nowhere, "--calib",
                   self.folder / "wide.npz")
        self.fails(1, "", "quantize", self.folder / "none.nib", "-o", nowhere, "--calib", "digits")
        self.assertFalse(nowhere.exists())


if __name__ == "__main__":
    unittest.main()
