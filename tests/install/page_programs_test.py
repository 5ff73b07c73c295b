# SPDX-License-Identifier: Apache-2.0
"""The blocks of C, C++ and CMake on the pages: compiled against an installed Nibble, run, their results as the pages say.

usage: NIBBLE_BIN=COMMAND page_programs_test.py FOLDER [-D…]    options of CMake, which find the package
"""

import re
import shutil
import struct
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np

FOLDER, OPTIONS = Path(sys.argv[1]).resolve(), sys.argv[2:]
SOURCES = Path(__file__).resolve().parent / "pages"

sys.path.insert(0, str(SOURCES.parents[1] / "cli"))
from case import NIBBLE  # noqa: E402: of tests/cli
from pages_test import ROOT, all_blocks  # noqa: E402

# Blocks that every machine compiles and links, but not every one runs; they stand in pages/cuda.c and cuda.cpp.
NEEDS = {"accumulation_1.cpp": "a GPU", "engine_1.c": "a GPU", "engine_2.cpp": "a GPU"}
SKIPPED = 77  # what their program ends with where there is none

# What programs find: pictures at their standard input, weights as w.npy.
PICTURES = np.random.default_rng(0).integers(0, 256, (20, 8, 8, 1)).astype(np.uint8)
WEIGHTS = np.random.default_rng(1).normal(size=(4, 64)).astype(np.float32)


def write_blocks(folder):
    """engine_0.cpp: the first block of C++ in docs/engine.md. Compilers name its lines as the page's."""
    for language in ("c", "cpp", "cmake"):
        for page, number, text in all_blocks(language):
            name = re.sub(r"^docs/|\.md$", "", page).replace("/", "-")
            whole = (ROOT / page).read_text(encoding="utf-8")
            line = whole[: whole.index(text)].count("\n") + 1
            mark = "" if language == "cmake" else f'#line {line} "{page}"\n'
            (folder / f"{name}_{number}.{language}").write_text(mark + text, encoding="utf-8")


def blocks_in(pattern):
    """The blocks that sources of that name ask for."""
    texts = [path.read_text(encoding="utf-8") for path in SOURCES.glob(pattern)]
    return sorted(name for text in texts for name in re.findall(r"[\w-]+_\d+\.(?:cpp|cmake|c)\b", text))


def call(*command):
    """What a command prints; where it fails, an error with all of that."""
    done = subprocess.run(command, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def answers_to(pictures):
    np.save(FOLDER / "x.npy", pictures)
    call(NIBBLE, "run", "model.nib", "--input", "x.npy", "--output", "y.npy")
    return np.load(FOLDER / "y.npy")


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        (FOLDER / "blocks").mkdir(parents=True)
        write_blocks(FOLDER / "blocks")
        np.save(FOLDER / "w.npy", WEIGHTS)
        network = ("convnet-8x8", "--data", "digits", "--arith", "int8", "--epochs", "1")
        call(NIBBLE, "train", *network, "--seed", "2", "--bias-mu", "5", "--out", "run")  # its answer to zeros is not zeros
        for name in ("model.nib", "upload.nib"):
            shutil.copy(FOLDER / "run" / "model.nib", FOLDER / name)
        call(NIBBLE, "emit", "model.nib", "-o", "emitted", "--train", "--train-steps", "4", "--train-images", "32")
        folders = (f"-DBLOCKS={FOLDER}/blocks", f"-DEMITTED={FOLDER}/emitted", f"-DPRIVATE_HEADERS={ROOT}/src")
        call("cmake", "-S", SOURCES, "-B", "build", "-G", "Ninja", *OPTIONS, *folders)
        call("cmake", "--build", "build")
        names = re.findall(r"add_executable\((\w+)", (SOURCES / "CMakeLists.txt").read_text(encoding="utf-8"))
        cls.done = {name: cls.run_program(name) for name in names}

    @staticmethod
    def run_program(name):
        return subprocess.run([f"build/{name}"], cwd=FOLDER, input=PICTURES.tobytes(), capture_output=True, timeout=300)

    def test_every_block_is_in_one_program(self):
        self.assertEqual(sorted(path.name for path in (FOLDER / "blocks").iterdir()), blocks_in("*"))
        self.assertEqual(blocks_in("cuda.*"), sorted(NEEDS))

    def test_programs_print_what_the_pages_say(self):
        of_zeros = answers_to(np.zeros((8, 8, 1), np.int8))[0]
        self.assertTrue(of_zeros.argmax() and of_zeros[0], of_zeros)
        labels = " ".join(str(label) for label in answers_to(PICTURES).argmax(axis=1))
        expected = {
            "mine": "64 bytes, 16 of 16 answers, 64 bytes of a stranger's\n",
            "engine_cpp": f"class {of_zeros.argmax()}\n",
            "engine_c": f"10 numbers, the first is {of_zeros[0]}\n",
            "formats": "",
            "accumulation": "4096 3\n",
            "reports": "",
            "data": "128 of 128 pictures\n",
            "emitted": f"{labels} are the labels\n"
            "1 steps, the weights are right, 8 of 8 classes\n4 steps, the weights are right, 8 of 8 classes\n",
            "cuda": "right, right, right\n",
        }
        self.assertEqual(set(self.done), set(expected))
        for name, done in self.done.items():
            with self.subTest(name):
                if done.returncode == SKIPPED and name == "cuda":
                    self.skipTest(", ".join(f"{block}: {reason}" for block, reason in NEEDS.items()))
                self.assertEqual((done.returncode, done.stdout.decode()), (0, expected[name]), done.stderr.decode())

    def test_formats_leaves_what_the_command_does(self):
        call(NIBBLE, "round", "--to", "mxfp8-e4m3", "--rounding", "stochastic", "--seed", "7", "w.npy", "rounded.npy")
        self.assertEqual((FOLDER / "w8.npy").read_bytes(), (FOLDER / "rounded.npy").read_bytes())

    def test_reports_leaves_events(self):
        (events,) = (FOLDER / "runs" / "mine").iterdir()
        told = events.read_bytes()
        for part in (b"train/loss", struct.pack("<f", 0.375), b"weight/conv1", struct.pack("<d", -1.5), struct.pack("<d", 2)):
            self.assertTrue(part in told, part)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
