# SPDX-License-Identifier: Apache-2.0
"""What a run or a file is made of is known by its hash: other data and damaged files are refused."""

import gzip
import json
import shutil
import struct
from pathlib import Path

import numpy as np

from case import run
from train_case import TrainCase, main, quick


class Data(TrainCase):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(3)
        self.data = self.folder / "data"
        for split, count in (("train", 128), ("test", 32)):
            (self.data / split).mkdir(parents=True)
            np.save(self.data / split / "images.npy", rng.integers(0, 255, (count, 8, 8)).astype(np.uint8))
            np.save(self.data / split / "labels.npy", np.arange(count) % 10)

    def change(self, split, name, place, value):
        path = self.data / split / f"{name}.npy"
        array = np.load(path)
        array[place] = value
        np.save(path, array)

    def options(self, *more):
        return ("--data", self.data, "--epochs", "2", *more)

    def test_a_run_does_not_go_on_with_other_data(self):
        for arithmetic in ((), ("--arith", "int8")):
            name = "-".join(("run", *arithmetic))
            folder, _, _ = self.train(name, *self.options("--stop-after", "1", *arithmetic))
            before = {path: path.read_bytes() for path in folder.iterdir()}
            for field, *change in (("data_hash", "train", "labels", 3, 9), ("data_hash", "train", "images", (5, 5, 5), 1),
                                   ("test_hash", "test", "labels", 0, 1)):
                path = self.data / change[0] / f"{change[1]}.npy"
                whole = path.read_bytes()
                self.change(*change)
                line = self.fails(1, f"is of another run: {field}: got '", "train", "mlp-64-32-10",
                                  *quick("--out", folder, "--resume", *self.options(*arithmetic)))
                self.assertRegex(line, "got '[0-9a-f]{16}', expected '[0-9a-f]{16}'$")
                self.assertEqual({path: path.read_bytes() for path in folder.iterdir()}, before)
                path.write_bytes(whole)
            self.train(name, *self.options("--resume", *arithmetic))

    def test_settings_and_summary_say_which_data_it_was(self):
        folder, _, _ = self.train("run", *self.options())
        settings = json.loads((folder / "settings.json").read_text())
        for key in ("data_hash", "test_hash"):
            self.assertRegex(settings[key], "^[0-9a-f]{16}$")
            self.assertEqual(settings[key], self.summary(folder)[key])
        self.assertNotEqual(settings["data_hash"], settings["test_hash"])
        shutil.rmtree(self.data / "test")
        folder, _, _ = self.train("alone", *self.options())
        self.assertEqual(self.summary(folder)["test_hash"], "none")

    def test_a_sweep_does_not_mix_data(self):
        options = quick("--formats", "e4m3", "--data", self.data, "--epochs", "1", "--out", self.folder / "sweep")
        run("sweep", "mlp-64-32-10", *options)
        self.change("train", "labels", 3, 9)
        self.fails(1, "holds a sweep with other settings", "sweep", "mlp-64-32-10", *options)

    def test_one_wrong_label_in_a_known_data_set(self):
        source = Path(json.loads(self.done("data", "list", "--json"))[0]["path"])
        folder = self.folder / "digits"
        shutil.copytree(source, folder)
        labels = bytearray(gzip.decompress((folder / "labels.idx1.gz").read_bytes()))
        labels[8 + 100] = (labels[8 + 100] + 1) % 10
        (folder / "labels.idx1.gz").write_bytes(gzip.compress(bytes(labels)))
        here = {"NIBBLE_DATA": str(self.folder)}
        words = "digits: hash of the train split: got "
        self.fails(1, words, "train", "mlp-64-32-10", *quick("--out", self.folder / "run"), **here)
        self.assertFalse((self.folder / "run").exists())
        model = self.train("right", "--epochs", "0")[0] / "model.nib"
        self.fails(1, words, "quantize", model, "-o", self.folder / "q.nib", "--calib", "digits", **here)
        self.fails(1, words, "eval", model, "--data", "digits", "--split", "train", **here)
        self.done("eval", model, "--data", "digits", **here)  # the test split is right
        self.assertIn(b"mismatch", run("data", "check", "digits", **here).stdout)


class Models(TrainCase):
    def setUp(self):
        super().setUp()
        self.model = self.train("run", "--epochs", "0")[0] / "model.nib"
        whole = self.model.read_bytes()
        self.size = struct.unpack("<Q", whole[:8])[0]
        self.header, self.rest = json.loads(whole[8 : 8 + self.size]), whole[8 + self.size :]

    def write(self):
        text = json.dumps(self.header, ensure_ascii=False).encode()
        text += b" " * (-len(text) % 8)
        self.model.write_bytes(struct.pack("<Q", len(text)) + text + self.rest)

    def test_a_changed_network_is_refused(self):
        self.write()
        self.done("describe", self.model)  # other spaces alone change nothing
        metadata = self.header["__metadata__"]
        network = json.loads(metadata["network"])
        network["class_names"] = network["class_names"][::-1]
        metadata["network"] = json.dumps(network)
        self.write()
        for verb in (("describe", self.model), ("eval", self.model, "--data", "digits"),
                     ("quantize", self.model, "-o", self.folder / "q.nib", "--calib", "digits")):
            self.fails(1, "model.nib is damaged: content_hash: got ", *verb)

    def test_a_file_of_an_older_version_is_read_with_a_warning(self):
        del self.header["__metadata__"]["content_hash"]
        self.write()
        process = run("eval", self.model, "--data", "digits")
        self.assertEqual(process.returncode, 0)
        self.assertRegex(process.stderr.decode(), r"^nibble: warning: .*model.nib has no content_hash: .*\n$")
        self.fails(1, "'nowhere'", "eval", self.model, "--data", "nowhere")  # a failure stays one line


if __name__ == "__main__":
    main()
