# SPDX-License-Identifier: Apache-2.0
"""Disks that fail and processes that are killed: one line, nothing half, and the same weights in the end.

NIBBLE_FAULT_SHIM names the library of fail_nth.cpp. NIBBLE_FAULT_SEED decides what is tried (1, of the long version the time);
NIBBLE_FAULT_LONG=1 tries every call instead of a few, and kills more often.
"""

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from case import NIBBLE, grey_png, run  # noqa: E402
from train_case import TrainCase, main, quick  # noqa: E402

SHIM = os.environ["NIBBLE_FAULT_SHIM"]
IS_LONG = os.environ.get("NIBBLE_FAULT_LONG") == "1"
SEED = int(os.environ.get("NIBBLE_FAULT_SEED", time.time_ns() // 1000 % 1_000_000 if IS_LONG else 1))
CALLS = {"open": (errno.EACCES, errno.EMFILE), "write": (errno.EIO, errno.ENOSPC), "fsync": (errno.EIO, errno.ENOSPC),
         "rename": (errno.EIO, errno.EXDEV), "close": (errno.EIO, errno.EDQUOT)}
FEW = 3  # faults a call in the short version


class Faults(TrainCase):
    """`place` holds what a command writes; before each fault it is again as start() found it."""

    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.place = self.folder / "place"
        self.place.mkdir()

    def start(self):
        self.before = self.folder / "before"
        shutil.rmtree(self.before, ignore_errors=True)
        shutil.copytree(self.place, self.before)

    def again(self):
        shutil.rmtree(self.place)
        shutil.copytree(self.before, self.place)

    def content(self):
        return {str(path.relative_to(self.place)): path.read_bytes() for path in self.place.rglob("*") if path.is_file()}

    def faulty(self, command, fault):
        """The finished process, whether the fault came, and how often each call was made."""
        log = self.folder / "faults.log"
        log.unlink(missing_ok=True)
        process = run(*command, LD_PRELOAD=SHIM, NIBBLE_FAULT_UNDER=str(self.place), NIBBLE_FAULT=fault,
                      NIBBLE_FAULT_LOG=str(log))
        lines = log.read_text().splitlines()
        return process, "fault" in lines, {line.split()[0]: int(line.split()[1]) for line in lines if " " in line}

    def faults(self, command):
        """The faults to try: (fault, call, errno)."""
        process, _, counts = self.faulty(command, "none:0:0")
        self.assertEqual(process.returncode, 0, process.stderr.decode())
        self.assertEqual(counts["unsynced"], 0, "renames that a power cut could undo")
        for call, codes in CALLS.items():
            numbers = range(1, counts[call] + 1)
            if not IS_LONG:
                numbers = sorted(self.random.sample(numbers, min(FEW, len(numbers))))
            for number in numbers:
                code = self.random.choice(codes)
                yield f"{call}:{number}:{code}", call, code
        for _ in range(50 if IS_LONG else FEW):
            yield f"space:{self.random.randrange(counts['space'])}:{errno.ENOSPC}", "write", errno.ENOSPC

    def walk(self, command, check):
        """Each fault ends the command in one line, without a temporary; check() looks at the rest."""
        self.start()
        came = tried = 0
        for fault, call, code in self.faults(command):
            with self.subTest(fault=fault, command=command[0], seed=SEED):
                self.again()
                process, has_come, _ = self.faulty(command, fault)
                tried += 1
                if not has_come:  # names that hold the time make one call more or less
                    continue
                came += 1
                self.assertIn(process.returncode, (0, 1))
                lines = [line for line in process.stderr.decode().splitlines() if not line.startswith("epoch ")]
                if process.returncode == 1:
                    self.assertEqual(len(lines), 1, lines)
                    self.assertRegex(lines[0], r"^nibble: \[[\w ]+\] .*" + os.strerror(code))
                else:  # closing what was read, or opening what may be missing, is no failure
                    self.assertIn(call, ("open", "close"))
                self.no_leftovers(self.place)
                self.assertEqual([path for path in self.place.rglob(".nibble-*")], [])
                check(process.returncode)
        self.assertGreaterEqual(came, tried - 2)


class Training(Faults):
    OPTIONS = ("--epochs", "2", "--quiet")

    def expected(self, *options):
        return self.hash_of(self.train("undisturbed", *self.OPTIONS, *options)[0])

    def command(self, *options):
        return ("train", "mlp-64-32-10", *quick("--out", self.place / "run", *self.OPTIONS, *options))

    def test_a_new_run_can_be_continued(self):
        expected = self.expected()

        def check(_):
            self.done(*self.command("--continue"))
            self.assertEqual(self.hash_of(self.place / "run"), expected)
            self.assertEqual(len(self.rows(self.place / "run")), 2)

        self.walk(self.command(), check)

    def test_a_resumed_run_of_integers_can_be_resumed_again(self):
        expected = self.expected("--arith", "int8")
        self.done(*self.command("--arith", "int8", "--stop-after", "1"))

        def check(_):
            self.done(*self.command("--arith", "int8", "--resume"))
            self.assertEqual(self.hash_of(self.place / "run"), expected)

        self.walk(self.command("--arith", "int8", "--resume"), check)

    def test_an_overwritten_run_is_whole_or_replaced(self):
        expected = self.expected("--seed", "2")
        self.done(*self.command())
        old = self.content()

        def check(_):
            kept = self.content()
            if kept != old:  # the new one has a checkpoint, and goes on
                self.done(*self.command("--seed", "2", "--resume"))
            else:
                self.done(*self.command("--seed", "2", "--overwrite"))
            self.assertEqual(self.hash_of(self.place / "run"), expected)

        self.walk(self.command("--seed", "2", "--overwrite"), check)


class Outputs(Faults):
    """Verbs that replace files: all of them are the old ones or all are the new ones."""

    def setUp(self):
        super().setUp()
        self.floats = self.train("floats", "--epochs", "1")[0] / "model.nib"
        self.integers = self.folder / "integers.nib"
        self.done("quantize", self.floats, "-o", self.integers, "--calib", "digits", "--samples", "64")

    def replaced(self, command, *before):
        """Walks over a command after others have written what it replaces."""
        shutil.rmtree(self.place)
        self.place.mkdir()
        for each in before:
            self.done(*each)
        self.start()
        old = self.content()
        self.done(*command)
        new = self.content()
        self.assertNotEqual(old, new)
        self.again()
        self.walk(command, lambda status: self.assertIn(self.content(), (new,) if status == 0 else (old, new)))

    def test_quantize(self):
        def command(bits):
            return ("quantize", self.floats, "-o", self.place / "out.nib", "--calib", "digits", "--samples", "64",
                    "--weights", bits, "--json")

        self.replaced(command("int4"), command("int8"))

    def test_convert(self):
        if run("convert", self.integers, self.folder / "x.onnx").returncode != 0:
            self.skipTest("this build writes no ONNX")
        self.replaced(("convert", self.integers, self.place / "out.onnx"))

    def test_convert_weights(self):
        weights = self.folder / "weights.npz"
        np.savez(weights, **{"fc1.weight": np.ones((32, 64), np.float32), "fc1.bias": np.zeros(32, np.float32),
                             "fc2.weight": np.ones((10, 32), np.float32), "fc2.bias": np.zeros(10, np.float32)})
        self.replaced(("convert", weights, self.place / "out.nib", "--network", "mlp-64-32-10"))

    def test_emit(self):
        def command(*options):
            return ("emit", self.integers, "-o", self.place / "c", *options)

        self.replaced(command("--force", "--prefix", "other"), command())

    def test_emit_into_a_new_folder(self):
        self.replaced(("emit", self.integers, "-o", self.place / "a" / "c"))

    def test_layers(self):
        command = ("run", self.integers, "--input", self.save("x.npy", np.zeros((2, 8, 8, 1), np.uint8)), "--layers",
                   self.place / "layers")
        self.replaced(command)


class Tensors(Faults):
    """What `data preprocess` had not done is done by the same command."""

    def test_preprocess(self):
        model = self.train("integers", "--arith", "int8", "--epochs", "1", network="convnet-8x8")[0] / "model.nib"
        pictures = self.folder / "pictures" / "0"
        pictures.mkdir(parents=True)
        for i in range(6):
            (pictures / f"{i}.png").write_bytes(grey_png(np.full((9, 9), 40 * i, np.uint8)))
        command = ("data", "preprocess", model, "--data", pictures.parent, "--out", self.place / "tensors")

        def tensors():
            return {name: data for name, data in self.content().items() if not name.endswith("hashes.txt")}

        self.done(*command)
        expected = tensors()
        self.assertEqual(len(expected), 7)
        shutil.rmtree(self.place / "tensors")

        def check(_):
            self.done(*command)
            self.assertEqual(tensors(), expected)
            self.assertIn("0 written, 6 were there", self.done(*command).decode())

        self.walk(command, check)


class Kills(TrainCase):
    """kill -9 at random moments; the same command again until it is done."""

    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)

    def until_done(self, command, longest):
        for kills in range(1000):
            process = subprocess.Popen([NIBBLE, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                _, text = process.communicate(timeout=self.random.uniform(0.05, longest))
                self.assertEqual(process.returncode, 0, text.decode())
                return kills
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
            longest *= 1.05  # so that it ends
        self.fail("never done")

    def check(self, name, *options, network="convnet-8x8"):
        folder = self.folder / name
        command = ("train", network, *quick("--out", folder, "--quiet", *options))
        for _ in range(10 if IS_LONG else 1):
            with self.subTest(seed=SEED, name=name):
                shutil.rmtree(folder, ignore_errors=True)
                start = time.monotonic()
                self.done(*command)
                longest = time.monotonic() - start
                expected, rows = self.hash_of(folder), [row[:2] for row in self.rows(folder)]
                shutil.rmtree(folder)
                kills = self.until_done((*command, "--continue"), longest / 2)
                print(f"{name}: {kills} kills, seed {SEED}")
                self.assertEqual(self.hash_of(folder), expected)
                self.assertEqual([row[:2] for row in self.rows(folder)], rows)
                self.no_leftovers(folder)

    def test_training_of_floats(self):
        self.check("floats", "--epochs", "6", "--round", "gradient=e5m2/stochastic")

    def test_training_of_integers(self):
        self.check("integers", "--epochs", "6", "--arith", "int8")

    def test_an_overwritten_run_is_never_lost(self):
        folder, _, _ = self.train("run", "--epochs", "1")
        old = self.hash_of(folder)
        command = ("train", "mlp-64-32-10", *quick("--out", folder, "--epochs", "100000", "--seed", "2", "--overwrite",
                                                   "--checkpoint-every", "0", "--quiet"))
        for _ in range(30 if IS_LONG else 3):
            process = subprocess.Popen([NIBBLE, *map(str, command)], stderr=subprocess.DEVNULL)
            time.sleep(self.random.uniform(0.05, 0.6))
            self.assertIsNone(process.poll(), "it was to take longer")
            process.kill()
            process.wait()
            self.assertEqual(self.hash_of(folder), old)
            self.assertEqual(self.summary(folder)["epochs"], 1)

    def test_fine_tuning(self):
        model = self.train("run", "--epochs", "1", network="convnet-8x8")[0] / "model.nib"
        out = self.folder / "out.nib"
        command = ("quantize", model, "-o", out, "--calib", "digits", "--samples", "64", "--finetune", "6", "--json",
                   "--threads", "1")
        start = time.monotonic()
        expected = json.loads(self.done(*command))["weights_hash"]
        longest = time.monotonic() - start
        out.unlink()
        kills = self.until_done(command, longest / 2)
        print(f"fine-tuning: {kills} kills, seed {SEED}")
        self.assertEqual(json.loads(self.done("describe", out, "--json"))["weights_hash"], expected)
        self.assertEqual(sorted(path.name for path in self.folder.glob("out*")), ["out.nib"])
        self.no_leftovers(self.folder)


class FullDisk(TrainCase):
    def test_a_small_file_system(self):
        """The real thing, where a file system may be mounted; elsewhere the shim's space stands in for it."""
        mount = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
        place = self.folder / "small"
        place.mkdir()
        script = f"mount -t tmpfs -o size=32k none {place} && "
        if shutil.which("unshare") is None or subprocess.run([*mount, script + "true"], capture_output=True).returncode:
            self.skipTest("no file system may be mounted")
        train = " ".join(map(str, (NIBBLE, "train", "mlp-64-32-10", *quick("--out", place / "run", "--epochs", "1", "--quiet"))))
        process = subprocess.run([*mount, script + f"{train}; echo $?; find {place} -name '*.tmp' | wc -l"],
                                 capture_output=True, text=True)
        lines = process.stderr.splitlines()
        self.assertEqual(process.stdout.split(), ["1", "0"], process.stderr)
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("No space left on device", lines[0])


if __name__ == "__main__":
    print(f"NIBBLE_FAULT_SEED={SEED}")
    sys.stdout.flush()
    main()
