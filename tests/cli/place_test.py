#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nibble place, and training under the plan it makes: on devices that every machine has."""

import json
import os
import re
import subprocess
import unittest

from case import NIBBLE, Case
from train_case import NORMED, SMALL


class Place(Case):
    def command(self, *words, code=0, **variables):
        environment = {**os.environ, "NIBBLE_PLACEMENT": str(self.folder / "costs.json"), **variables}
        process = subprocess.run([NIBBLE, *map(str, words)], capture_output=True, env=environment)
        self.assertEqual(process.returncode, code, process.stderr.decode())
        return process.stdout.decode(), process.stderr.decode()

    def place(self, *words, **variables):
        return self.command("place", SMALL, "--data", "digits", "--batch", "16", "--threads", "1", *words,
                            **variables)[0]

    def test_works_without_a_gpu_and_says_why(self):
        plan = json.loads(self.place("--json", "--place", "auto(cpu,reference)"))
        self.assertEqual(plan["devices"], ["cpu", "reference"])
        self.assertEqual([each["name"] for each in plan["candidates"]][:2], ["all on cpu", "all on reference"])
        taken = next(each for each in plan["candidates"] if each["name"] == plan["chosen"])
        self.assertLessEqual(taken["measured_ms"], min(each["measured_ms"] for each in plan["candidates"][:2]))
        self.assertEqual(sum(each["bytes"] for each in plan["crossings"]), taken["bytes_across"])
        self.assertEqual({each["pass"] for each in plan["units"]},
                         {"forward", "input_error", "weight_gradient", "update"})
        self.assertFalse(plan["costs_from_cache"])
        self.assertTrue(json.loads(self.place("--json", "--place", "auto(cpu,reference)"))["costs_from_cache"])
        self.assertFalse(json.loads(self.place("--json", "--place", "auto(cpu,reference)", "--fresh"))
                         ["costs_from_cache"])

    def test_page_and_table(self):
        page = self.folder / "plan.html"
        text = self.place("--place", "auto(reference,pretend)", "--report", page,
                          NIBBLE_PRETEND="copy_us=10,slowdown=20")
        self.assertRegex(text, r"(?m)^conv2 +weight_gradient +(reference|pretend) +[\d.]+ +[\d.]+")
        self.assertRegex(text, r"(?m)^reference to pretend, pinned: [\d.]+ us \+ [\d.]+ ns a byte$")
        self.assertRegex(text, r"(?m)  <- taken$")
        html = page.read_text()
        units = len(re.findall(r"(?m)^(?:input|conv|relu|pool|flatten|fc|loss)\S* +\w+ +(?:reference|pretend) ", text))
        self.assertEqual(html.count('class="unit"'), units)
        self.assertGreaterEqual(html.count('class="span"'), units)
        self.assertNotIn("<script", html)

    def test_trains_to_the_same_weights(self):
        def weights(*words, **variables):
            text, told = self.command("train", SMALL, "--data", "digits", "--arith", "int8", "--epochs", "1",
                                      "--batch", "16", "--threads", "1", "--out", self.folder / "run", "--overwrite",
                                      *words, **variables)
            return re.search(r"(?m)^weights +(\w+)$", text)[1], told

        wanted, _ = weights()
        found, told = weights("--place", "auto(reference,pretend)", NIBBLE_PRETEND="copy_us=10,slowdown=20")
        self.assertEqual(found, wanted)
        self.assertIn("nibble: placed ", told)
        self.assertEqual(weights("--place", "auto")[0], wanted)
        self.assertEqual(weights("--place", "pretend, conv2.update=cpu, relu*=reference")[0], wanted)

    def test_goes_on_from_a_checkpoint_under_other_rules(self):
        rules = ("conv1=pretend, *.weight_gradient=pretend", "pretend, conv2.update=cpu, fc.forward=cpu",
                 "*.update=pretend, loss=pretend")
        self.goes_on_under(rules, SMALL, "--average-from", "2")

    def test_goes_on_with_batch_norms_under_other_rules(self):
        network = self.folder / "normed.toml"
        network.write_text(NORMED)
        rules = ("conv1=pretend, norm1=pretend, *.update=pretend", "pretend, a=cpu, b.update=cpu",
                 "conv*.weight_gradient=pretend, loss=pretend")
        self.goes_on_under(rules, network, "--update", "sgd", "--lr", "0.05")

    def goes_on_under(self, rules, network, *options):
        def train(name, *words, **variables):
            text, told = self.command("train", network, "--data", "digits", "--arith", "int8", "--epochs", "3", "--threads",
                                      "1", *options, "--out", self.folder / name, *words, **variables)
            return re.findall(r"(?m)^weights +(\w+)$", text), told

        wanted, _ = train("whole")
        self.assertEqual(len(wanted), 1)
        first, second, third = rules
        train("parts", "--stop-after", "1", "--place", first)
        train("parts", "--stop-after", "1", "--resume", "--place", second)
        self.assertEqual(train("parts", "--resume", "--place", third)[0], wanted)
        found, told = train("lost", "--place", "pretend", NIBBLE_PRETEND="lost_after=1000")
        self.assertEqual(found, wanted)
        self.assertEqual(told.count("went on on the CPU"), 1)

    def test_floats_are_planned_and_go_on_under_their_rules(self):
        slow = {"NIBBLE_PRETEND": "copy_us=10"}
        page = self.folder / "plan.html"
        words = ("--arith", "float", "--wire", "int8", "--place", "auto(cpu,pretend)")
        plan = json.loads(self.place("--json", "--report", page, *words, **slow))
        for unit in plan["units"]:
            can_move = unit["node"] in ("conv1", "conv2", "fc") and unit["pass"] != "update"
            self.assertEqual(set(unit["us"]), {"cpu", "pretend"} if can_move else {"cpu"})
        self.assertNotIn("No weight depends", page.read_text())

        run = ("train", SMALL, "--data", "digits", "--threads", "1", "--place", "auto(cpu,pretend)", "--out",
               self.folder / "run")
        self.assertIn("nibble: placed ", self.command(*run, "--epochs", "1", **slow)[1])
        rules = json.loads((self.folder / "run" / "settings.json").read_text())["place"]
        _, told = self.command(*run, "--epochs", "2", "--resume", **slow)
        self.assertNotIn("nibble: placed ", told)
        self.assertEqual(json.loads((self.folder / "run" / "settings.json").read_text())["place"], rules)

    def test_the_second_device_may_have_little_memory(self):
        slow = {"NIBBLE_PRETEND": "copy_us=10"}
        plan = json.loads(self.place("--json", "--place", "auto(cpu,pretend)", "--memory", "1KB", **slow))
        self.assertEqual((plan["chosen"], plan["place"]), ("all on cpu", "cpu"))
        names = [each["name"] for each in json.loads(self.place("--json", "--place", "auto(cpu,pretend)", "--memory",
                                                                "2GB", **slow))["candidates"]]
        self.assertIn("all on pretend", names)
        run = ("train", SMALL, "--data", "digits", "--threads", "1", "--batch", "16", "--epochs", "1",
               "--overwrite", "--out", self.folder / "run")
        for arithmetic in ("int8", "float"):
            _, told = self.command(*run, "--arith", arithmetic, "--place", "auto(cpu,pretend)", "--memory", "1KB", **slow)
            self.assertIn("nibble: placed all on cpu", told)
        recipe = self.folder / "recipe.toml"
        recipe.write_text('network = "convnet-8x8"\ndata = "digits"\narith = "int8"\nepochs = 1\n'
                          'batch = 16\nplace = "auto(cpu,pretend) within 1KB"\n')
        _, told = self.command("train", recipe, "--threads", "1", "--overwrite", "--out", self.folder / "run", **slow)
        self.assertIn("nibble: placed all on cpu", told)
        self.fails(2, "expected --place auto beside it", *run, "--memory", "2GB")
        self.fails(2, "got it with cpu", *run, "--place", "cpu", "--memory", "2GB")
        self.fails(1, "a size such as 2GB", *run, "--place", "auto", "--memory", "2XB")

    def test_a_device_that_is_lost_while_it_is_planned_leaves_all_to_the_cpu(self):
        for arithmetic, operations in (("int8", "300"), ("float", "40")):
            lost = {"NIBBLE_PRETEND": "lost_after=" + operations}
            words = ("--arith", arithmetic, "--place", "auto(cpu,pretend)")
            text, told = self.command("place", SMALL, "--data", "digits", "--batch", "16", "--threads", "1", *words,
                                      **lost)
            self.assertRegex(text, r"(?m)^all on cpu +[\d.]+ +[\d.]+ +0  <- taken$")
            self.assertRegex(text, r"cpu or pretend failed while steps were planned\n--place 'cpu'\n$")
            self.assertEqual(told.count("all stays on the CPU"), 1)
            self.assertFalse((self.folder / "costs.json").exists())
            _, told = self.command("train", SMALL, "--data", "digits", "--epochs", "1", "--threads", "1", "--out",
                                   self.folder / "run", "--overwrite", *words, **lost)
            self.assertEqual(told.count("all stays on the CPU"), 1)
            self.assertIn("nibble: placed all on cpu", told)
            self.assertNotIn("went on", told)

    def test_refusals(self):
        place = ("place", SMALL, "--data", "digits")
        self.fails(1, "auto(A,B)", *place, "--place", "conv1=cpu")
        self.fails(1, "auto(cpu,cuda)", *place, "--place", "auto(cpu)")
        self.fails(1, "cpu, which computes all but products", *place, "--arith", "float", "--place", "auto(pretend,cpu)")
        self.fails(1, "cpu, reference, cuda", *place, "--place", "auto(cpu,gpu)")
        self.fails(1, "--place auto measures one", "train", SMALL, "--data", "digits", "--arith", "int8",
                   "--ranks", "2", "--place", "auto", "--out", self.folder / "ranks")
        self.fails(2, "NETWORK|RECIPE", "place")
        self.fails(1, "copy_us=N", *place, "--place", "auto(cpu,pretend)", NIBBLE_PRETEND="copy=1")


if __name__ == "__main__":
    unittest.main()
