# SPDX-License-Identifier: Apache-2.0
"""nibble run, and nibble eval of networks of integers: a toy layer directory, its layers and its answers."""

import json
import os
import unittest
from pathlib import Path

import numpy as np

import convert_test
from case import Case, array_of, run

try:
    from PIL import Image
except ImportError:
    Image = None

MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
BIAS, WEIGHT = np.array([-5, 7]), np.array([[1, 2, 3], [4, 5, 6]])  # of conv1
FC, DIVISOR = np.array([[0, 1], [2, 3], [4, 5]]), np.array([3000, 4000, 5000], np.float32)


def quantized(pictures):
    return np.clip(np.round((pictures / 255 - MEAN) / DEVIATION * 127 / 2.64), -127, 127).astype(np.int8)


def harness(picture):
    """The bytes of an i8 (h, w, 3) picture as preprocess_data.py gives them to numpy.save."""
    return np.array(picture.transpose(2, 0, 1).tobytes(), dtype=f"|S{picture.size}")


class ToyCase(Case):
    """The network of convert_test: 8 by 8 pixels, three classes."""

    @classmethod
    def setUpClass(cls):
        toy = convert_test.Convert("test_help_teaches")
        toy.setUp()
        cls.nib = toy.folder / "toy.nib"
        toy.done("convert", toy.model, cls.nib, "--input-size", "8")
        cls.toy = toy

    @classmethod
    def tearDownClass(cls):
        cls.toy.doCleanups()

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(3)
        self.pictures = rng.integers(0, 256, (5, 8, 8, 3)).astype(np.uint8)
        self.pictures[1], self.pictures[2] = 0, 255
        self.integers = quantized(self.pictures)

    def run_on(self, *inputs, options=()):
        """The text, the answers and the layers."""
        text = self.done("run", self.nib, "--input", *inputs, "--output", self.output, "--layers",
                         self.folder / "layers", *options).decode()
        layers = {path.stem: np.load(path) for path in (self.folder / "layers").iterdir()}
        return text, np.load(self.output), layers


class Run(ToyCase):
    def test_layers_and_answers_follow_from_each_other(self):
        text, answers, layers = self.run_on(self.save("x.npy", self.integers), options=("--batch", "2"))
        self.assertEqual(len(layers), 54)
        np.testing.assert_array_equal(layers["input"], self.integers)
        np.testing.assert_array_equal(layers["conv1"], self.integers.astype(int) @ WEIGHT.T + BIAS)
        np.testing.assert_array_equal(layers["fc"], layers["avgpool"].reshape(5, 2).astype(int) @ FC.T)
        self.assertEqual(answers.dtype, np.float32)
        np.testing.assert_array_equal(answers, layers["fc"].astype(np.float32) / DIVISOR)
        best = np.argsort(-answers, axis=1, kind="stable")
        for i in range(5):
            self.assertIn(f"x.npy[{i}]: " + ", ".join(f"{k} {answers[i, k]:.6g}" for k in best[i]), text)
        self.assertRegex(text, r"\nwrote 54 layers to .*\n5 of resnet14-int4: [\d.]+ ms an image; tuning .*\n$")

    def test_batch_and_threads_change_nothing(self):
        x = self.save("x.npy", self.integers)
        expected = None
        for options in (("--batch", "1"), ("--batch", "3", "--threads", "1"), ("--threads", "3"), ("--batch", "64")):
            got = array_of(self.done("run", self.nib, "--input", x, "--output", "-", *options))
            expected = got if expected is None else expected
            np.testing.assert_array_equal(got, expected)

    def test_devices_change_nothing(self):
        x = self.save("x.npy", self.integers)
        _, expected, layers = self.run_on(x)
        for device in ("reference", "check(cpu,reference)"):
            _, answers, others = self.run_on(x, options=("--device", device))
            np.testing.assert_array_equal(answers, expected)
            for name, values in layers.items():
                np.testing.assert_array_equal(others[name], values, f"{name} on {device}")
        self.fails(2, "[device] name: got gpu, expected cpu, reference", "run", self.nib, "--input", x, "--device", "gpu")

    def test_every_form_of_input_is_the_same_batch(self):
        reals = (self.pictures / 255 - MEAN) / DEVIATION
        forms = {
            "i8": [self.save("i8.npy", self.integers)],
            "i64 by channel": [self.save("i64.npy", self.integers.transpose(0, 3, 1, 2).astype(np.int64))],
            "pictures": [self.save("u8.npy", self.pictures)],
            "reals": [self.save("f4.npy", reals.astype(np.float32))],
            "one by one": [self.save(f"{i}.npy", x) for i, x in enumerate(self.integers)],
            "of the harness": [self.save(f"s{i}.npy", harness(x)) for i, x in enumerate(self.integers)],
            "mixed": [self.save("a.npy", self.integers[:2]), self.save("b.npy", self.pictures[2:4]),
                      self.save("c.npy", harness(self.integers[4]))],
        }
        for name, paths in forms.items():
            _, _, layers = self.run_on(*paths)
            np.testing.assert_array_equal(layers["input"], self.integers, name)

    def test_a_broken_array_is_no_picture(self):
        broken = self.folder / "broken.npy"
        for content in (b"", b"hi"):
            broken.write_bytes(content)
            self.fails(1, "[read_npy] ", "run", self.nib, "--input", broken)

    def test_tensors_of_the_harness_are_written_as_numpy_writes_them(self):
        x = self.save("a.npy", self.pictures[0])
        self.done("run", self.nib, "--input", x, "--tensors", self.folder / "tensors")
        self.save("wanted.npy", harness(self.integers[0]))
        self.assertEqual((self.folder / "tensors" / "a.npy").read_bytes(), (self.folder / "wanted.npy").read_bytes())

    @unittest.skipIf(Image is None, "no PIL")
    def test_pictures_are_resized_and_cropped(self):
        rng = np.random.default_rng(4)
        array = rng.integers(0, 256, (12, 9, 3)).astype(np.uint8)
        paths = [self.folder / "x.png", self.folder / "grey.png"]
        Image.fromarray(array).save(paths[0])
        Image.fromarray(array[..., 0]).save(paths[1])
        _, _, layers = self.run_on(*paths)
        for path, got in zip(paths, layers["input"].astype(int)):
            resized = Image.open(path).convert("RGB").resize((9, 12), Image.BILINEAR)  # 8·256/224
            wanted = quantized(np.asarray(resized)[2:10, 0:8]).astype(int)
            np.testing.assert_array_equal(got, wanted)

    def test_failures_are_one_line(self):
        x = self.save("x.npy", self.integers)
        wrong = self.save("wrong.npy", self.integers[..., :2])
        self.fails(1, "wrong.npy: shape: got (5, 8, 8, 2), expected (8, 8, 3)", "run", self.nib, "--input", wrong)
        low = self.save("low.npy", np.full((8, 8, 3), -128, np.int8))
        self.fails(1, "integer: got -128, expected -127 to 127", "run", self.nib, "--input", low)
        short = self.save("short.npy", np.array(bytes([1] * 7), dtype="|S7"))
        self.fails(1, "expected 192 of (8, 8, 3)", "run", self.nib, "--input", short)
        self.fails(1, "none.npy", "run", self.nib, "--input", self.folder / "none.npy")
        self.fails(1, "first bytes", "run", self.nib, "--input", self.nib)
        self.fails(1, "none.nib", "run", self.folder / "none.nib", "--input", x)
        self.fails(1, "cannot create", "run", self.nib, "--input", x, "--layers", x)
        self.fails(2, "--layers", "run", self.nib, "--input", x, "--layers", "y", "--output", "-")
        self.fails(2, "--batch", "run", self.nib, "--input", x, "--batch", "0")
        self.fails(2, "--input", "run", self.nib)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith("layers")], [])

    def test_help_teaches(self):
        text = run("run", "--help").stdout.decode()
        for words in ("nibble run resnet50.nib --input cat.jpg", "|S150528", "--layers", "mean, deviation"):
            self.assertIn(words, text)

    def test_the_real_model_gives_the_golden_sums(self):
        data = Path(os.environ.get("NIBBLE_DATA", "/nowhere")) / "resnet50-int4"
        if not data.exists():
            self.skipTest("no resnet50-int4 in NIBBLE_DATA")
        golden = json.loads((data / "golden" / "golden.json").read_text())["zeros"]
        self.nib = self.folder / "r50.nib"
        self.done("convert", data / "model", self.nib)
        _, answers, layers = self.run_on(self.save("x.npy", np.zeros((224, 224, 3), np.int8)))
        for key, wanted in golden.items():
            layer = key.removesuffix("_sum")
            layer += "_quantize3" if layer.startswith("layer") else ""
            if key.endswith("_sum"):
                self.assertEqual(layers[layer].astype(np.int64).sum(), wanted, key)
        for index, whole, real in golden["top5"]:
            self.assertEqual(layers["fc"][0, index], whole)
            self.assertAlmostEqual(float(answers[0, index]), real, 5)


class Trained(Case):
    def test_a_network_trained_in_integers_answers_as_eval_counts(self):
        rng = np.random.default_rng(5)
        labels = np.arange(300) % 3
        pictures = rng.integers(0, 120, (300, 8, 8)).astype(np.uint8)
        pictures[np.arange(300), labels * 2] += 100
        for split, part in (("train", slice(0, 200)), ("test", slice(200, 300))):
            (self.folder / "data" / split).mkdir(parents=True)
            np.save(self.folder / "data" / split / "images.npy", pictures[part])
            np.save(self.folder / "data" / split / "labels.npy", labels[part])
        network = self.folder / "toy.toml"
        network.write_text('''input = [8, 8, 1]
            layers = [ { op = "conv2d", channels = 8, kernel = 3, bias = true }, { op = "relu" }, { op = "max_pool" },
              { op = "flatten" }, { op = "linear", features = 3, bias = true }, { op = "softmax_cross_entropy" } ]''')
        process = run("train", network, "--data", self.folder / "data", "--arith", "int8", "--epochs", "3", "--batch",
                      "20", "--threads", "1", "--out", self.folder / "run")
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        model = self.folder / "run" / "model.nib"
        told = json.loads(self.done("eval", model, "--data", self.folder / "data", "--json"))
        x = self.save("x.npy", pictures[200:])
        text = self.done("run", model, "--input", x, "--output", self.output, "--batch", "7").decode()
        self.assertIn("\n… 100 in all\n", text)
        answers = np.load(self.output)
        self.assertEqual((answers.dtype, answers.shape), (np.int8, (100, 3)))
        self.assertEqual((answers.argmax(axis=1) == labels[200:]).sum(), told["correct"])
        self.assertGreater(told["top1"], 0.5)
        log = self.folder / "log.json"
        log.write_text(json.dumps([{"qsl_idx": i, "data": int(c).to_bytes(4, "little").hex()}
                                   for i, c in enumerate(answers.argmax(axis=1))]))
        by_engine = json.loads(self.done("eval", model, "--data", self.folder / "data", "--json", "--oracle", log))
        self.assertEqual(by_engine.pop("oracle")["agreed"], 100)
        self.assertEqual(by_engine, told)
        self.fails(1, "--shifts", "eval", model, "--data", self.folder / "data", "--shifts", "exact", "--oracle", log)


class Eval(ToyCase):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "val"
        self.data.mkdir()
        names = [f"ILSVRC2012_val_{i + 1:08}.JPEG" for i in range(5)]
        for name, picture in zip(names, self.integers):
            np.save(self.data / (name + ".npy"), harness(picture))
        x = self.save("x.npy", self.integers)
        self.classes = array_of(self.done("run", self.nib, "--input", x, "--output", "-")).argmax(axis=1)
        labels = self.classes.copy()
        labels[3] = (labels[3] + 1) % 3
        self.list = self.folder / "val_map.txt"
        self.list.write_text("".join(f"{name}\t{label}\n" for name, label in zip(names, labels)))

    def eval(self, *options, data=None):
        return json.loads(self.done("eval", self.nib, "--data", data or self.data, "--json", *options))

    def log(self, answers):
        lines = [f'{{ "seq_id" : {i}, "qsl_idx" : {index}, "data" : "{int(c).to_bytes(4, "little").hex().upper()}" }}'
                 for i, (index, c) in enumerate(answers)]
        path = self.folder / "mlperf_log_accuracy.json"
        path.write_text("[\n" + ",\n".join(lines) + "\n]\n")
        return path

    def test_a_folder_with_a_list_is_counted(self):
        told = self.eval()
        self.assertEqual((told["images"], told["correct"], told["top1"], told["top5"]), (5, 4, 0.8, 1.0))
        self.assertNotIn("oracle", told)
        self.list.rename(self.data / "val_map.txt")
        self.assertEqual(self.eval("--threads", "3")["correct"], 4)

    def test_answers_are_compared_by_index(self):
        answers = [(4, self.classes[4]), (0, self.classes[0]), (2, (self.classes[2] + 1) % 3), (0, 2), (77, 0)]
        (self.data / "ILSVRC2012_val_00000002.JPEG.npy").unlink()
        told = self.eval("--oracle", self.log(answers))
        self.assertEqual((told["oracle"]["compared"], told["oracle"]["agreed"], told["images"]), (3, 2, 4))
        process = run("eval", self.nib, "--data", self.data, "--oracle", self.log(answers))
        self.assertIn("2 of 3 answers are those of", process.stdout.decode())

    def test_data_sets_go_through_the_engine_too(self):
        folder = self.folder / "arrays" / "test"
        folder.mkdir(parents=True)
        np.save(folder / "images.npy", self.pictures)
        np.save(folder / "labels.npy", self.classes.astype(np.uint8))
        told = self.eval("--oracle", self.log(list(enumerate(self.classes))), data=folder.parent)
        self.assertEqual((told["correct"], told["oracle"]["agreed"]), (5, 5))

    def test_failures_are_one_line(self):
        self.fails(1, "accuracy log", "eval", self.nib, "--data", self.data, "--oracle", self.list)
        self.list.write_text("nothing 1\n")
        self.fails(1, "got none of the 1", "eval", self.nib, "--data", self.data)
        self.list.write_text("ILSVRC2012_val_00000001.JPEG 3\n")
        self.fails(1, "label of example 0: got 3, expected 0 to 2", "eval", self.nib, "--data", self.data)
        self.fails(1, "data set", "eval", self.nib, "--data", "nowhere")


if __name__ == "__main__":
    unittest.main()
