# SPDX-License-Identifier: Apache-2.0
"""Pictures as data: folders, lists and archives, of any size, whole or broken, for every verb that reads them."""

import io
import json
import tarfile

import numpy as np

from case import grey_png, run
from train_case import TrainedCase, main


class Pictures(TrainedCase):
    def put_pictures(self, place, count=30):
        """Pictures of many sizes, three classes, CLASS/FILE.png below the folder."""
        rng = np.random.default_rng(5)
        files = []
        for i in range(count):
            pixels = rng.integers(0, 256, rng.integers(5, 40, 2), dtype=np.uint8)
            path = self.folder / place / str(i % 3) / f"{i:02}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(grey_png(pixels))
            files.append((path, i % 3))
        return files

    def evaluated(self, data, *options):
        return json.loads(self.done("eval", self.model, "--data", data, "--engine", "--json", *options))

    def test_folders_archives_and_lists_are_the_same_pictures(self):
        files = self.put_pictures("set/train")
        self.put_pictures("set/val")
        found = self.evaluated(self.folder / "set")
        self.assertEqual(found["images"], 30)
        shards = self.folder / "shards"
        for split in ("train", "val"):
            (shards / split).mkdir(parents=True)
            for k in range(2):
                with tarfile.open(shards / split / f"{k}.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
                    for path, label in files[k::2]:
                        archive.add(path, f"{label}/{path.name}")
        self.assertEqual(self.evaluated(shards)["correct"], found["correct"])
        self.assertEqual(self.evaluated(shards)["confusion"], found["confusion"])
        if b"no LoadGen" not in run("loadgen", "model", "--data", "digits", "--out", "out").stderr:
            for data in (self.folder / "set", shards):  # of many sizes, which the score does not look at
                out = self.folder / f"load-{data.name}"
                self.done("loadgen", self.model, "--data", data, "--out", out, "--mode", "accuracy")
                self.assertIn(f"{found['correct']} of 30 samples right",
                              self.done("loadgen", "score", out, "--data", data).decode())
        flat = self.folder / "flat"
        flat.mkdir()
        for path, _ in files:
            (flat / path.name).write_bytes(path.read_bytes())
        (self.folder / "val_map.txt").write_text("".join(f"{path.name}\t{label}\n" for path, label in files))
        self.assertEqual(self.evaluated(flat)["correct"], found["correct"])

    def test_training_and_calibration_take_any_size(self):
        self.put_pictures("set/train")
        self.put_pictures("set/val", 9)
        folder, text, _ = self.train("run", "--data", self.folder / "set", "--epochs", "1", "--batch", "8", network="convnet-8x8")
        self.assertEqual(self.summary(folder)["test"]["images"], 9)
        unlabelled = self.folder / "unlabelled"
        unlabelled.mkdir()
        for path, _ in self.put_pictures("more"):
            (unlabelled / path.name).write_bytes(path.read_bytes())
        self.done("quantize", folder / "model.nib", "-o", self.folder / "q.nib", "--calib", unlabelled, "--samples", "20")
        answers = self.done("run", self.folder / "q.nib", "--input", unlabelled).decode()
        self.assertIn("… 30 in all\n", answers)
        if b"no LoadGen" not in run("loadgen", "model", "--data", "digits", "--out", "out").stderr:
            self.done("loadgen", self.model, "--data", unlabelled, "--out", self.folder / "load", "--mode", "accuracy")
            entries = json.loads((self.folder / "load" / "mlperf_log_accuracy.json").read_text())
            self.assertEqual(len(entries), 30)

    def test_a_class_that_is_missing_shifts_no_labels(self):
        self.put_pictures("set")
        (self.folder / "set" / "1").rename(self.folder / "1")
        evaluate = ("eval", self.model, "--data", self.folder / "set", "--split", "train")
        for engine in ((), ("--engine",)):
            self.fails(1, "class '2' of the data: got number 1, expected 2, as in convnet-8x8", *evaluate, *engine)
        (self.folder / "set" / "1").mkdir()
        self.assertIn("of 20 images", self.done(*evaluate).decode())

    def test_broken_pictures_are_named_counted_and_left_out_where_asked(self):
        self.put_pictures("set/train")
        self.put_pictures("set/val")
        self.assertIn("30 pictures, 3 classes, 0 broken", self.done("data", "check", self.folder / "set").decode())
        before = self.evaluated(self.folder / "set")["images"]
        (self.folder / "set" / "val" / "1" / "04.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
        (self.folder / "set" / "val" / "2" / "05.png").write_bytes(b"text")
        self.fails(1, "2 of 30 pictures cannot be taken: --skip-broken leaves them out", "eval", self.model, "--data",
                   self.folder / "set", "--engine")
        process = run("data", "check", self.folder / "set")
        self.assertEqual(process.returncode, 1)
        self.assertIn("04.png: ", process.stdout.decode())
        self.assertIn("2 broken pictures", process.stderr.decode())
        process = run("eval", self.model, "--data", self.folder / "set", "--engine", "--json", "--skip-broken")
        self.assertEqual(json.loads(process.stdout)["images"], before - 2)
        self.assertIn("2 of 30 pictures left out", process.stderr.decode())
        self.assertEqual(len(process.stderr.decode().splitlines()), 1)

    # LoadGen numbers what is left from 0: labels stay with their pictures.
    def test_scores_of_runs_that_left_pictures_out(self):
        if b"no LoadGen" in run("loadgen", "model", "--data", "digits", "--out", "out").stderr:
            self.skipTest("no LoadGen")
        files = self.put_pictures("set")
        flat = self.folder / "flat"
        flat.mkdir()
        for path, _ in files:
            (flat / path.name).write_bytes(path.read_bytes())
        (flat / "val_map.txt").write_text("".join(f"{path.name} {label}\n" for path, label in files))
        (flat / "02.png").write_bytes(b"text")
        files[2][0].write_bytes(b"text")
        for data, *split in ((self.folder / "set", "--split", "train"), (flat,)):
            out = self.folder / f"run-{data.name}"
            process = run("eval", self.model, "--data", data, "--engine", "--json", "--skip-broken", *split)
            self.assertEqual(process.returncode, 0, process.stderr.decode())
            found = json.loads(process.stdout)
            process = run("loadgen", self.model, "--data", data, "--out", out, "--mode", "accuracy", "--skip-broken", *split)
            self.assertEqual(process.returncode, 0, process.stderr.decode())
            score = self.done("loadgen", "score", out, "--data", data, *split).decode()
            self.assertIn(f"{found['correct']} of 29 samples right", score)

    def test_preprocess_goes_on_and_looks_at_hashes(self):
        self.put_pictures("set")
        data, out = self.folder / "set", self.folder / "tensors"
        command = ("data", "preprocess", self.model, "--data", data, "--out", out)
        self.assertIn("30 tensors in", self.done(*command).decode())
        self.assertIn("0 written, 30 were there", self.done(*command).decode())
        (out / "07.png.npy").unlink()
        whole = (out / "09.png.npy").read_bytes()
        (out / "09.png.npy").write_bytes(whole[:-1] + b"\x11")
        text = self.done(*command).decode()
        self.assertIn("2 written, 28 were there with the right hash, 1 with a wrong one", text)
        self.assertEqual((out / "09.png.npy").read_bytes(), whole)
        # Another picture of the same name is made anew.
        (data / "0" / "03.png").write_bytes(grey_png(np.full((9, 9), 200, np.uint8)))
        before = (out / "03.png.npy").read_bytes()
        self.assertIn("1 written, 29 were there with the right hash, 1 with a wrong one", self.done(*command).decode())
        self.assertNotEqual((out / "03.png.npy").read_bytes(), before)
        # What an interrupted run leaves: a list of hashes whose last line was cut.
        lines = (out / "hashes.txt").read_text().splitlines(True)
        lines = lines[:1] + sorted({line.split()[2]: line for line in lines[1:]}.values())
        (out / "hashes.txt").write_text("".join(lines[:20]) + lines[20][:-3])
        self.assertIn("11 written, 19 were there", self.done(*command).decode())
        found = self.evaluated(data, "--split", "train")
        self.assertEqual(self.evaluated(out)["correct"], found["correct"])
        lines[0] = "tensors for input 0123456789abcdef\n"
        (out / "hashes.txt").write_text("".join(lines))
        self.fails(1, "another folder for another network", *command)
        (data / "0" / "00.png").write_bytes(b"")
        self.fails(1, "00.png", "data", "preprocess", self.model, "--data", data, "--out", self.folder / "new")
        process = run("data", "preprocess", self.model, "--data", data, "--out", self.folder / "new", "--skip-broken")
        self.assertIn("29 tensors", process.stdout.decode())

    def test_tensors_of_pictures_without_classes_have_no_labels(self):
        flat, tensors = self.folder / "flat", self.folder / "tensors"
        flat.mkdir()
        for path, _ in self.put_pictures("set"):
            (flat / path.name).write_bytes(path.read_bytes())
        self.done("data", "preprocess", self.model, "--data", flat, "--out", tensors)
        lines = [line.split("\t") for line in (tensors / "val_map.txt").read_text().splitlines()]
        self.assertEqual(lines, [[f"{i:02}.png", "-"] for i in range(30)])
        self.fails(1, "files without labels, expected NAME LABEL in val_map.txt", "eval", self.model, "--data", tensors, "--engine")
        answers = self.folder / "answers.npy"
        self.done("run", self.model, "--input", *sorted(tensors.glob("*.npy")), "--output", answers)
        classes = np.load(answers).reshape(30, -1).argmax(1)
        # Pictures beside such a list calibrate, and count no answers.
        (flat / "val_map.txt").write_bytes((tensors / "val_map.txt").read_bytes())
        self.fails(1, "files without labels", "eval", self.model, "--data", flat)
        self.fails(1, "pictures without classes", "train", "convnet-8x8", "--data", flat, "--out", self.folder / "run")
        if b"no LoadGen" in run("loadgen", "model", "--data", "digits", "--out", "out").stderr:
            return
        for i, options in enumerate(((), ("--skip-broken",))):
            out = self.folder / f"load-{i}"
            self.done("loadgen", self.model, "--data", tensors, "--out", out, "--mode", "accuracy", *options)
            entries = json.loads((out / "mlperf_log_accuracy.json").read_text())
            logged = {entry["qsl_idx"]: int.from_bytes(bytes.fromhex(entry["data"]), "little") for entry in entries}
            self.assertEqual(logged, dict(enumerate(classes)))
            self.fails(1, "labels.txt: got no labels" if options else "files without labels", "loadgen", "score", out,
                       "--data", tensors)

    def test_tensors_have_the_classes_that_archives_name(self):
        self.put_pictures("set")
        shards, tensors = self.folder / "shards", self.folder / "tensors"
        shards.mkdir()
        for label in range(3):
            with tarfile.open(shards / f"{label}.tar", "w") as archive:
                for path in sorted((self.folder / "set" / str(label)).iterdir()):
                    archive.add(path, path.name)
        found = self.evaluated(shards, "--split", "train")
        self.done("data", "preprocess", self.model, "--data", shards, "--out", tensors)
        for figure in ("images", "correct", "confusion"):
            self.assertEqual(self.evaluated(tensors)[figure], found[figure])

    def test_an_exported_set_has_the_answers_of_the_set(self):
        """Pictures of the size that the network takes stay as they are: decoded, and as tensors."""
        png, tensors = self.folder / "png", self.folder / "tensors"
        self.assertIn("1437 pictures in", self.done("data", "export", "digits", "--out", png).decode())
        self.fails(1, "what is there already", "data", "export", "digits", "--out", png)
        found = self.evaluated("digits")
        self.assertIn("360 tensors in", self.done("data", "preprocess", self.model, "--data", png, "--out", tensors).decode())
        for data in (png, tensors):
            again = self.evaluated(data)
            for figure in ("images", "correct", "top5", "confusion"):
                self.assertEqual(again[figure], found[figure], data)
        if b"no LoadGen" in run("loadgen", "model", "--data", "digits", "--out", "out").stderr:
            return
        answers = {}
        for data in ("digits", png, tensors):
            out = self.folder / f"load-{getattr(data, 'name', data)}"
            self.done("loadgen", self.model, "--data", data, "--out", out, "--mode", "accuracy")
            entries = json.loads((out / "mlperf_log_accuracy.json").read_text())
            answers[data] = {entry["qsl_idx"]: entry["data"] for entry in entries}
        # A picture's name is its place in the set; files come class by class.
        places = [int(path.stem) for path in sorted((png / "test").rglob("*.png"))]
        self.assertEqual(sorted(places), list(range(360)))
        self.assertEqual(answers[png], {i: answers["digits"][place] for i, place in enumerate(places)})
        self.assertEqual(answers[tensors], answers[png])

    def test_names_of_members_make_no_lines_of_their_own(self):
        archive = self.folder / "names.tar"
        with tarfile.open(archive, "w") as members:
            for i, name in enumerate(("K\u00e4se/a\"b c.png", "K\u00e9se/c\nd\t9.png", "x" * 120 + "/e.png")):
                data = grey_png(np.full((8, 8), 40 * i, np.uint8))
                info = tarfile.TarInfo(name)
                info.size = len(data)
                members.addfile(info, io.BytesIO(data))
        self.assertIn("3 pictures, 3 classes, 0 broken", self.done("data", "check", archive).decode())
        out = self.folder / "tensors"
        self.done("data", "preprocess", self.model, "--data", archive, "--out", out)
        lines = (out / "val_map.txt").read_text().splitlines()
        self.assertEqual([line.split("\t")[1] for line in lines], ["0", "1", "2"])
        self.assertEqual([line.split("\t")[0].rsplit("_e", 1)[0] for line in lines], ["K\u00e4se_a_b_c.png", "K\u00e9se_c_d_9.png", "x" * 120])
        self.assertEqual(self.evaluated(out)["images"], 3)


if __name__ == "__main__":
    main(needs_floats=True)
