# SPDX-License-Identifier: Apache-2.0
"""Usage, exit codes and one-line errors."""

import json
import re
import subprocess
import unittest
from pathlib import Path

import numpy as np

from case import Case, NIBBLE, npy, run


class Help(Case):
    def test_version_is_one_line(self):
        self.assertRegex(self.done("--version").decode(), r"^nibble \d+\.\d+\.\d+\n$")

    def help_of(self, *verb):
        """The help of a verb, and the verbs in it by the title of their group."""
        text = self.done(*verb, "--help").decode()
        groups = dict(re.findall(r"^([A-Z][\w ]+):\n((?:  .*\n)+)", text, re.MULTILINE))
        return text, {name: re.findall(r"^  (\w+) ", lines, re.MULTILINE)
                      for name, lines in groups.items() if name not in ("Positionals", "Options", "Examples")}

    def all_helps(self):
        for verb in sum(self.help_of()[1].values(), []):
            text, parts = self.help_of(verb)
            yield (verb,), text
            for part in sum(parts.values(), []):
                yield (verb, part), self.help_of(verb, part)[0]

    def test_help_lists_the_verbs_in_groups(self):
        verbs = self.help_of()[1]
        self.assertEqual(verbs["Numbers"], ["formats", "round", "encode", "decode"])
        self.assertEqual(verbs["This machine"], ["data", "doctor", "signature"])
        self.assertNotIn("Subcommands", verbs)

    def test_the_help_of_every_verb_ends_with_an_example(self):
        calls = []
        for verb, text in self.all_helps():
            calls.append(verb)
            self.assertIn(" ".join(("nibble", *verb)), text.split("Examples:")[1])
        self.assertTrue({("train",), ("data", "get"), ("loadgen", "test04")} < set(calls), calls)

    def test_every_option_is_documented(self):
        folder = Path(__file__).resolve().parents[2] / "docs"
        pages = "".join(page.read_text() for page in folder.glob("**/*.md"))
        for verb, text in self.all_helps():
            options = re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.MULTILINE)
            self.assertIn("--help", options)
            for option in options:
                self.assertRegex(pages, rf"{option}(?![\w-])", f"{verb}: no page of docs/ names it")

    def test_wrong_usage_exits_with_2(self):
        self.fails(2, "a verb is required")
        self.fails(2, "nibble: data: a verb is required", "data")
        self.fails(2, "nibble: unknown verb 'frobnicate' (", "frobnicate")
        self.fails(2, "--to", "round", self.input, self.output)
        self.fails(2, "--sed", "round", "--to", "e4m3", "--sed", "1", self.input, self.output)
        self.fails(2, "--seed", "round", "--to", "e4m3", "--seed", "x", self.input, self.output)
        self.fails(2, "OUT.npy", "round", "--to", "e4m3", self.input)
        self.fails(2, "--shape", "decode", "--from", "int4", "--packed", self.input, self.output)

    def test_what_was_meant_is_named(self):
        self.fails(2, "nibble: unknown verb 'trian': did you mean 'train'?", "trian")
        self.fails(2, "nibble: unknown option '--verson': did you mean '--version'?", "--verson", "train")
        self.fails(2, "data: unknown verb 'lst': did you mean 'list'?", "data", "lst")
        self.fails(2, "train: unknown option '--epoch': did you mean '--epochs'?", "train", "lenet", "--epoch=3")
        self.fails(2, "loadgen score: unknown option '--dat': did you mean '--data'?", "loadgen", "score", "x", "--dat", "y")
        self.fails(2, "describe: unexpected argument 'more' (", "describe", "lenet", "more")
        self.fails(1, "got 'digits-convnet-fp3', expected a name or the path of a .toml file, perhaps digits-convnet-fp32; ",
                   "train", "digits-convnet-fp3", "--data", "digits")

    def test_the_data_set_that_was_meant_is_named(self):
        self.fails(1, "a .tar file, perhaps mnist", "train", "lenet", "--data", "mnits")
        self.fails(1, "cifar10, perhaps mnist", "data", "check", "mnits")
        self.fails(1, "the path of a .toml file, perhaps lenet", "describe", "lenett")

    def test_numbers_that_cannot_be_are_refused_in_few_words(self):
        for number in ("inf", "nan", "-1", "0", "x"):
            self.fails(2, f"--lr: got {number}, expected a finite number above 0 (", "train", "lenet", f"--lr={number}")
        self.fails(2, "--patience: got '-1', expected a whole number from 0 to 1000000 (", "train", "lenet", "--patience=-1")
        self.fails(2, "--epochs: got '1.5', expected a whole number from 0 to 1000000 (", "train", "lenet", "--epochs=1.5")

    def test_a_seed_that_does_not_fit_is_no_other_one(self):
        for verb in (("train", "lenet"), ("quantize", "x.nib", "-o", "q.nib", "--calib", "digits", "--finetune=1"),
                     ("emit", "lenet", "-o", "c", "--train")):
            for seed in ("-1", "18446744073709551616", "1e3"):
                self.fails(2, f"--seed: got '{seed}', expected a whole number from 0 to 18446744073709551615 (",
                           *verb, f"--seed={seed}")


class Failures(Case):
    def test_one_line_says_what_was_wrong(self):
        def fails(words, *arguments, **more):
            return self.fails(1, words, "round", *arguments, **more)

        text = fails("unknown format", "--to", "e4m3x", self.input, self.output)
        self.assertRegex(text, r"^nibble: \[format\] .*: got 'e4m3x', expected ")
        fails("[format]", "--to", "int8(scale=nan)", self.input, self.output)
        fails("[format]", "--to", "fixed(99,4)", self.input, self.output)
        fails("infinity", "--to", "e4m3", "--overflow", "infinity", self.input, self.output)
        fails("nearest-even", "--to", "e4m3", "--rounding", "sideways", self.input, self.output)
        fails("qtorch", "--to", "e4m3", "--compat", "abacus", self.input, self.output)
        fails("missing.npy", "--to", "e4m3", self.folder / "missing.npy", self.output)
        fails("f32", "--to", "e4m3", self.save("i.npy", np.arange(4)), self.output)
        fails("f32", "--to", "e4m3", self.save("d.npy", np.ones(4)), self.output)
        fails("axis", "--to", "bfp(8,axis=5)", self.input, self.output)
        fails("", "--to", "int8(axis=0)", "--scales", self.save("s.npy", np.ones(3, np.float32)), self.input,
              self.output)
        self.assertFalse(self.output.exists())

    def test_a_picture_or_page_has_no_name_of_another_kind(self):
        for words in (("formats", "--plot"), ("report", "x", "--output"), ("compare", "x", "y", "--pictures"),
                      ("place", "lenet", "--report"), ("quantize", "x.nib", "-o", "q.nib", "--calib", "digits", "--report")):
            self.fails(2, f"{words[-1]}: got 'f.png', expected a name that ends in .", *words, "f.png")

    def test_broken_files_are_refused(self):
        whole = npy(self.x)
        cut = self.folder / "cut.npy"
        cut.write_bytes(whole[:-9])
        self.fails(1, "truncated", "round", "--to", "e4m3", cut, self.output)
        self.fails(1, "standard input", "round", "--to", "e4m3", "-", self.output, data=whole[:-9])
        cut.write_bytes(whole[:40])
        self.fails(1, "cut.npy", "round", "--to", "e4m3", cut, self.output)
        cut.write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 64)
        self.fails(1, "cut.npy", "round", "--to", "e4m3", cut, self.output)
        huge = b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99), }\n"
        cut.write_bytes(b"\x93NUMPY\x01\x00" + len(huge).to_bytes(2, "little") + huge)
        self.fails(1, "cut.npy", "round", "--to", "e4m3", cut, self.output)
        self.fails(1, "standard input", "round", "--to", "e4m3", "-", self.output, data=b"")

    def test_a_failure_leaves_the_old_output_as_it_was(self):
        self.output.write_bytes(b"old")
        nan = self.save("nan.npy", np.array([np.nan], np.float32))
        self.fails(1, "NaN", "encode", "--to", "int8", nan, self.output)
        self.fails(1, "", "round", "--to", "nonsense", self.input, self.output)
        self.fails(1, "", "round", "--to", "e4m3", self.folder / "missing.npy", self.output)
        self.assertEqual(self.output.read_bytes(), b"old")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["in.npy", "nan.npy", "out.npy"])

    def test_a_gpu_that_is_not_there_is_named(self):
        if json.loads(self.done("doctor", "--json"))["gpu"]["usable"]:
            self.skipTest("a GPU is there")
        out = self.folder / "run"
        for command in (("train", "digits-convnet-int8", "--out", out), ("train", "digits-convnet-fp32", "--out", out),
                        ("signature",)):
            line = self.fails(1, "cuda", *command, "--device", "cuda")
            self.assertRegex(line, r"got (no NVIDIA driver here|no usable GPU: .+|a build without .+|'cuda'), expected .*\bcpu\b")
        self.assertFalse(out.exists())
        self.fails(2, "got cuda:x, expected cpu, ", "train", "digits-convnet-int8", "--out", out, "--device", "cuda:x")

    def test_an_unwritable_output_is_an_error(self):
        self.fails(1, "nowhere", "round", "--to", "e4m3", self.input, self.folder / "nowhere" / "out.npy")
        self.fails(1, "directory", "round", "--to", "e4m3", self.input, self.folder)
        self.fails(1, "No space", "round", "--to", "e4m3", self.input, "/dev/full")

    def test_a_full_or_closed_standard_output_exits_with_1(self):
        with open("/dev/full", "wb") as full:
            process = subprocess.run([NIBBLE, "formats"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(len(process.stderr.splitlines()), 1)
        for command in ("formats", f"round --to e4m3 {self.input} -"):
            process = subprocess.run(f"'{NIBBLE}' {command} >&-", shell=True, stderr=subprocess.PIPE)
            self.assertEqual(process.returncode, 1)
            self.assertLessEqual(len(process.stderr.splitlines()), 1)

    def test_a_reader_that_goes_away_is_no_news(self):
        big = self.save("big.npy", np.zeros(1 << 20, np.float32))
        process = subprocess.Popen([NIBBLE, "round", "--to", "e4m3", big, "-"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        process.stdout.close()
        self.assertEqual((process.stderr.read(), process.wait()), (b"", 1))
        process.stderr.close()


if __name__ == "__main__":
    unittest.main()
