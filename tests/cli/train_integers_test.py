# SPDX-License-Identifier: Apache-2.0
"""nibble train --arith int8 on the bundled digits: folders, hashes, shifts, resumption, refusals."""

import json
import unittest

from case import has_floats, run
from train_case import CONVNET, SMALL, IntegerCase, main, quick

FILES = {"settings.json", "epochs.csv", "layers.csv", "histograms.csv", "integers.csv", "checkpoint.safetensors",
         "model.nib", "summary.json"}

needs_floats = unittest.skipUnless(has_floats(), "this build has no oneDNN, and so no floats")


class Run(IntegerCase):
    def test_the_run_folder_is_complete(self):
        folder, text, lines = self.integers("run", "--epochs", "4", "--seed", "5")
        names = {path.name for path in folder.iterdir() if not path.name.startswith("events.out.tfevents.")}
        self.assertEqual(names, FILES)
        settings = json.loads((folder / "settings.json").read_text())
        told = json.dumps(settings)
        for words in ('"arithmetic": "int8"', '"mu": "5,4@2,3@3"', '"shifts": "exact"', '"seed": 5',
                      '"gradient": "pseudo-stochastic"', '"loss_form": "fractional"'):
            self.assertIn(words, told)
        self.assertRegex(lines, r"(?m)^epoch +3/4  loss [\d.]+ .* rate 4  \d+ images/s$")
        self.assertEqual([row[:3] for row in self.rows(folder)],
                         [["1", "23", "5"], ["2", "46", "5"], ["3", "69", "4"], ["4", "92", "3"]])
        self.assertRegex(text, rf"(?m)^weights +{self.hash_of(folder)}$")
        self.assertIn("unaveraged", text)
        self.assertIn("batch_shifts", text)
        summary = self.summary(folder)
        self.assertEqual(summary["weights_hash"], self.hash_of(folder))
        self.assertGreater(summary["test"]["top1"], 0.8)

    def test_eval_says_what_the_run_said(self):
        folder, _, _ = self.integers("run", "--epochs", "2", "--average-from", "2")
        summary = self.summary(folder)
        for options, name in (((), "test"), (("--shifts", "exact"), "batch_shifts")):
            for threads in ("1", "3"):
                told = json.loads(self.done("eval", folder / "model.nib", "--data", "digits", "--json", "--threads",
                                            threads, *options))
                for key, value in summary[name].items():
                    self.assertEqual(told[key], value, (name, key))
        told = json.loads(self.done("eval", folder, "--data", "digits", "--json", "--shifts", "frozen",
                                    NIBBLE_ISA="portable"))
        self.assertEqual(told["correct"], summary["test"]["correct"])
        self.fails(2, "--shifts", "eval", folder, "--data", "digits", "--shifts", "delayed")

    def test_where_it_runs_does_not_change_the_weights(self):
        def weights(name, *options):
            return self.hash_of(self.integers(name, "--epochs", "1", *options, network=SMALL)[0])

        wanted = weights("usual")
        rules = "conv*=reference, *.update=cpu, conv2.weight_gradient=cpu"
        self.assertEqual(weights("rules", "--place", rules), wanted)
        self.assertEqual(weights("device", "--place", "cpu"), wanted)
        train = ("train", SMALL, "--data", "digits")
        for words, place in (("conv1, relu1, pool1", "conf=cpu"), ("forward, input_error", "fc.back=cpu"),
                             ("cpu, reference, cuda", "fc=gpu"), ("auto alone", "fc=auto")):
            self.fails(1, words, *train, "--arith", "int8", "--place", place)
        self.fails(2, "--device", *train, "--arith", "int8", "--place", "cpu", "--device", "cpu")
        self.fails(2, "--wire", *train, "--arith", "int8", "--place", "cpu", "--wire", "int8")

    def test_threads_and_instruction_sets_do_not_change_the_weights(self):
        for options in ((), ("--shifts", "delayed"), ("--momentum16", "8", "--fraction-bits", "4", "--decay",
                                                      "--shift-rounding", "error=stochastic")):
            hashes = set()
            for isa, threads in (("portable", "2"), ("portable", "1"), (None, "3")):
                variables = {"NIBBLE_ISA": isa} if isa else {}
                process = run("train", SMALL, *quick("--arith", "int8", "--epochs", "1", "--threads", threads, "--out",
                                                       self.folder / "run", "--overwrite", *options), **variables)
                self.assertEqual(process.returncode, 0, process.stderr.decode())
                hashes.add(self.hash_of(self.folder / "run"))
            self.assertEqual(len(hashes), 1, options)

    def test_each_choice_changes_the_weights(self):
        hashes = set()
        choices = ((), ("--shifts", "delayed"), ("--loss-form", "octaves"), ("--decay",), ("--momentum16", "8"),
                   ("--fraction-bits", "4"), ("--mu", "4"), ("--bias-mu", "2"), ("--seed", "2"),
                   ("--shift-rounding", "value=pseudo-stochastic"), ("--shift-rounding", "conv2.gradient=nearest"))
        for options in choices:
            hashes.add(self.hash_of(self.integers("run", "--epochs", "1", "--overwrite", *options, network=SMALL)[0]))
        self.assertEqual(len(hashes), len(choices))

    def test_validation_keeps_the_best(self):
        folder, _, _ = self.integers("run", "--epochs", "3", "--val", "0.2")
        summary = self.summary(folder)
        self.assertEqual(summary["val"]["images"], 287)
        told = json.loads(self.done("eval", folder, "--data", "digits", "--json"))
        self.assertEqual(told["weights_hash"], self.hash_of(folder, "best.nib"))
        self.assertEqual(told["top1"], summary["test"]["top1"])


class Recipes(IntegerCase):
    RECIPE = 'arith = "int8"\nnetwork = "convnet-8x8"\ndata = "digits"\nepochs = 1\nmu = "4"\nfraction_bits = 3\n'

    def settings(self, folder):
        return json.loads((folder / "settings.json").read_text())

    def test_are_listed_and_run_by_name(self):
        self.assertRegex(self.done("train").decode(), r"(?m)^mnist-lenet-int8 +LeNet .* in integers alone$")
        folder, _, _ = self.train("run", "--epochs", "4", network="digits-convnet-int8")
        told = self.settings(folder)
        self.assertEqual((told["arithmetic"], told["mu"], told["batch"], told["augment"]["crop"]), ("int8", "5,4@2,3@3", 64, 1))

    def test_say_what_flags_would_and_give_way_to_them(self):
        recipe = self.folder / "mine.toml"
        recipe.write_text(self.RECIPE)
        by_recipe, _, _ = self.train("recipe", network=recipe)
        by_flags, _, _ = self.integers("flags", "--epochs", "1", "--mu", "4", "--fraction-bits", "3")
        self.assertEqual(self.hash_of(by_recipe), self.hash_of(by_flags))
        other, _, _ = self.train("other", "--mu", "3", network=recipe)
        told = self.settings(other)
        self.assertEqual((told["mu"], told["fraction_bits"], told["recipe"]), ("3", 3, "mine"))

    @needs_floats
    def test_of_one_arithmetic_lend_the_run_to_the_other(self):
        recipe = self.folder / "mine.toml"
        recipe.write_text(self.RECIPE)
        twin, _, _ = self.train("twin", "--arith", "float", network=recipe)
        told = self.settings(twin)
        self.assertEqual((told["recipe"], told["epochs"], told["optimizer"]["kind"]), ("mine-float", 1, "adam"))
        self.assertNotIn("arithmetic", told)
        compared = json.loads(self.done("compare", twin, self.train("int8", network=recipe)[0], "--json"))
        self.assertIn("arithmetic", compared["different"])
        page = self.folder / "r.html"
        self.done("report", twin, self.folder / "int8", "-o", page)
        self.assertIn("int8", page.read_text())

    def test_fewer_epochs_bring_the_average_forward(self):
        recipe = self.folder / "mine.toml"
        averaged = self.RECIPE.replace("epochs = 1", "epochs = 9\naverage_from = 8")
        recipe.write_text(averaged)
        for name, epochs, start in (("four", "4", 4), ("three", "3", 0)):
            folder, _, _ = self.train(name, "--epochs", epochs, network=recipe)
            self.assertEqual(self.settings(folder)["average_from"], start)
        by_flag, _, _ = self.train("flag", "--epochs", "4", "--average-from", "4", network=recipe)
        self.assertEqual(self.hash_of(by_flag), self.hash_of(self.folder / "four"))
        refusal = "epoch from which weights are averaged: got 8, expected at most 4"
        self.fails(1, refusal, "train", recipe, "--epochs", "4", "--average-from", "8", "--out", self.folder / "none")

    def test_wrong_keys_are_one_line(self):
        recipe = self.folder / "mine.toml"
        for line, words in (("epoch = 1", "mine.toml:7: 'epoch'"), ("rate = 0.1", "mine.toml:7: rate"), ("momentum16 = 20", "momentum16: got 20"),
                            ('shift_rounding = ["up"]', "shift_rounding"), ('freeze = "conv1"', "freeze")):
            recipe.write_text(self.RECIPE + line)
            self.fails(1, words, "train", recipe, "--out", self.folder / "none")
        recipe.write_text(self.RECIPE.replace("int8", "int9"))
        self.fails(1, "mine.toml:1: arith", "train", recipe, "--out", self.folder / "none")
        self.assertFalse((self.folder / "none").exists())


class Starts(IntegerCase):
    @needs_floats
    def test_a_float_model_goes_on_in_integers(self):
        floats, _, _ = self.train("floats", "--epochs", "8", "--lr", "0.01", network=CONVNET)
        start = floats / "model.nib"

        def run_from(name, *options):
            return self.train(name, "--from", start, "--arith", "int8", *options, network="")[0]

        rounded = self.summary(run_from("rounded", "--epochs", "0"))["test"]["top1"]
        self.assertGreater(rounded, self.summary(floats)["test"]["top1"] - 0.02)
        tuned = run_from("tuned", "--epochs", "4", "--fraction-bits", "8")
        settings = json.loads((tuned / "settings.json").read_text())
        self.assertEqual((settings["mu"], settings["start"]), ("0,-1@2,-2@3", self.hash_of(floats)))
        self.assertGreater(self.summary(tuned)["test"]["top1"], rounded - 0.01)
        part = ("--epochs", "4", "--fraction-bits", "8")
        run_from("parts", *part, "--stop-after", "2")
        self.assertEqual(self.hash_of(run_from("parts", *part, "--resume")), self.hash_of(tuned))
        frozen = run_from("frozen", "--epochs", "1", "--freeze", "conv?")
        moved = {row[1]: float(row[6]) for row in self.rows(frozen, "integers.csv") if row[2] == "weight"}
        self.assertEqual([moved["conv1"], moved["conv2"]], [0, 0])
        self.assertTrue(any(moved.values()))

    @needs_floats
    def test_a_quantized_model_goes_on_in_integers(self):
        floats, _, _ = self.train("floats", "--epochs", "8", "--lr", "0.01", network=CONVNET)
        quantized = self.folder / "quantized.nib"
        for bits in ("int8", "int4"):
            self.done("quantize", floats, "-o", quantized, "--calib", "digits", "--weights", bits, "--threads", "1")
            least = json.loads(self.done("eval", quantized, "--data", "digits", "--json"))["top1"] - 0.01
            for options in (("--epochs", "0"), ("--epochs", "4", "--fraction-bits", "8")):
                folder, _, _ = self.train("run", "--from", quantized, "--arith", "int8", "--overwrite", *options, network="")
                self.assertGreaterEqual(self.summary(folder)["test"]["top1"], least, (bits, options))
        self.integers("named", "--from", quantized, "--epochs", "0")  # layers have the names of the float network
        self.fails(1, "expected a model of floats", "train", "--from", quantized, *quick())

    def test_what_integer_training_wrote_goes_on_as_it_is(self):
        first, _, _ = self.integers("first", "--epochs", "1")
        again, _, _ = self.train("again", "--from", first / "model.nib", "--arith", "int8", "--epochs", "0", network="")
        self.assertEqual(self.hash_of(again), self.hash_of(first))
        self.fails(1, "expected a model of floats", "train", "--from", first / "model.nib", *quick())


class StartedRanks(IntegerCase):
    """Processes that --ranks starts, without MPI."""

    network = SMALL

    def test_give_the_weights_of_one(self):
        for options in ((), ("--shifts", "delayed"), ("--update", "sgd", "--lr", "0.01")):
            options += ("--epochs", "2", "--batch", "50")
            alone, _, _ = self.integers("alone", "--overwrite", *options)
            for ranks in (2, 3):
                folder, text, errors = self.integers("ranks", "--overwrite", "--quiet", "--ranks", ranks, *options)
                self.assertEqual(self.hash_of(folder), self.hash_of(alone), options)
                self.assertEqual(text.count("weights "), 1)
                self.assertEqual(errors, "")
                self.no_leftovers(folder)

    def test_are_stopped_and_go_on_with_another_number(self):
        options = ("--epochs", "3", "--shifts", "delayed")
        whole, _, _ = self.integers("whole", *options)
        self.integers("parts", *options, "--ranks", 3, "--stop-after", "1")
        parts, _, _ = self.integers("parts", *options, "--ranks", 2, "--resume")
        self.assertEqual(self.hash_of(parts), self.hash_of(whole))

    def test_say_once_what_is_wrong(self):
        _, _, errors = self.integers("wrong", "--ranks", 3, "--batch", "2000", code=1)
        self.assertEqual(errors.count("nibble: "), 1, errors)
        self.assertIn("batch: got 2000", errors)
        _, _, errors = self.train("floats", "--ranks", 2, code=1)
        self.assertIn("processes: got 2, expected 1: only integer sums", errors)


class Resumption(IntegerCase):
    network = SMALL

    def test_a_run_goes_on_to_the_same_weights(self):
        for shifts in ("exact", "delayed"):
            options = ("--epochs", "4", "--shifts", shifts, "--momentum16", "4")
            whole, _, _ = self.integers(f"whole-{shifts}", *options)
            _, text, _ = self.integers(f"parts-{shifts}", *options, "--stop-after", "1")
            self.assertIn("stopped after 1 epochs, 23 steps", text)
            self.integers(f"parts-{shifts}", *options, "--stop-after", "2", "--resume", "--threads", "3")
            parts, _, _ = self.integers(f"parts-{shifts}", *options, "--resume")
            self.assertEqual(self.hash_of(parts), self.hash_of(whole))
            for name in ("layers.csv", "integers.csv", "histograms.csv"):
                self.assertEqual((parts / name).read_bytes(), (whole / name).read_bytes(), name)

    def test_a_run_of_the_rule_sgd_goes_on_too(self):
        options = ("--update", "sgd", "--lr", "0.1", "--weight-decay", "0.001", "--schedule", "warmup(1)+cosine", "--epochs",
                   "4")
        whole, text, lines = self.integers("whole", *options, network=CONVNET)
        self.assertIn("unaveraged", text)
        self.assertGreater(self.summary(whole)["test"]["top1"], 0.8)
        told = (whole / "settings.json").read_text()
        for words in ('"update": "sgd"', '"rate": 0.1', '"momentum_256ths": 230', '"gradient": "stochastic"'):
            self.assertIn(words, told)
        self.assertRegex(lines, r"(?m)^epoch +4/4 .* rate \S+ ")
        self.integers("parts", *options, "--stop-after", "3", network=CONVNET)
        parts, _, _ = self.integers("parts", *options, "--resume", "--threads", "3", network=CONVNET)
        self.assertEqual(self.hash_of(parts), self.hash_of(whole))
        self.assertEqual((parts / "integers.csv").read_bytes(), (whole / "integers.csv").read_bytes())

    def test_a_run_with_batch_norms_and_an_average_goes_on_too(self):
        options = ("--epochs", "3", "--decay-norms", "--weight-decay", "0.001", "--average-from", "2")
        whole, text, _ = self.normed("whole", *options)
        self.assertIn("unaveraged", text)
        for epochs in (1, 2):  # before the window and in it
            parts = f"parts-{epochs}"
            self.normed(parts, *options, "--stop-after", epochs, "--ranks", 2)
            folder, _, _ = self.normed(parts, *options, "--resume", "--threads", "3")
            self.assertEqual(self.hash_of(folder), self.hash_of(whole))
            for name in ("layers.csv", "integers.csv"):
                self.assertEqual((folder / name).read_bytes(), (whole / name).read_bytes(), (epochs, name))

    def test_running_statistics_go_on_too_and_are_told_where_they_are_chosen(self):
        options = ("--epochs", "3", "--average-from", "0", "--statistics", "running")
        whole, _, _ = self.normed("whole", *options)
        self.assertIn('"statistics": "running"', (whole / "settings.json").read_text())
        self.normed("parts", *options, "--stop-after", 1, "--ranks", 2)
        folder, _, _ = self.normed("parts", *options, "--resume", "--threads", "3")
        self.assertEqual(self.hash_of(folder), self.hash_of(whole))
        self.assertEqual(self.summary(folder)["test"], self.summary(whole)["test"])
        usual, _, _ = self.normed("usual", *options[:-1], "calibrated")
        self.assertNotIn('"statistics"', (usual / "settings.json").read_text())
        self.assertNotEqual(self.hash_of(usual), self.hash_of(whole))

    def refused(self, folder, words, *options):
        before = {path: path.read_bytes() for path in folder.iterdir()}
        self.fails(1, words, "train", self.network, *quick("--epochs", "2", "--out", folder, "--resume", *options))
        self.assertEqual({path: path.read_bytes() for path in folder.iterdir()}, before)

    @needs_floats
    def test_only_of_the_same_arithmetic(self):
        floats, _, _ = self.train("floats", "--epochs", "2", "--stop-after", "1", network=self.network)
        self.refused(floats, "is of another run: kind: got 'float training', expected 'integer training'", "--arith", "int8")
        integers, _, _ = self.integers("integers", "--epochs", "2", "--stop-after", "1")
        self.refused(integers, "is of another run: kind: got 'integer training', expected 'float training'")

    def test_only_with_the_same_settings(self):
        folder, _, _ = self.integers("run", "--epochs", "2", "--stop-after", "1")
        for words, options in (("shifts: got 'exact', expected 'delayed'", ("--shifts", "delayed")),
                               ("mu: got '5', expected '4'", ("--mu", "4")),
                               ("momentum_sixteenths", ("--momentum16", "3")), ("seed", ("--seed", "2")),
                               ("rounding", ("--shift-rounding", "value=stochastic"))):
            self.refused(folder, f"is of another run: {words}", "--arith", "int8", *options)


class Refusals(IntegerCase):
    def refused(self, code, words, *options, network=CONVNET, data="digits"):
        before = sorted(self.folder.rglob("*"))
        line = self.fails(code, words, "train", network, "--data", data, "--threads", "1", "--epochs", "1", "--out",
                          self.folder / "run", *options)
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        return line

    def test_wrong_schedules(self):
        for text in ("x", "8", "-9", "5,4", "5@2", "5,4@3,3@3", "5,4@", "5,", "5.5"):
            self.refused(1, "[train] mu: got '", "--arith", "int8", f"--mu={text}")
        self.refused(1, "MU from -8 to 7, as in 5,4@100,3@150", "--arith", "int8", "--bias-mu", "9")

    def test_options_of_the_other_arithmetic(self):
        for option, value in (("--optimizer", "sgd"), ("--round", "weight=e4m3"), ("--policy", "x.toml")):
            self.refused(2, f"{option}: is an option of float training: --arith int8 has --mu", "--arith", "int8", option, value)
        for option, value in (("--mu", "5"), ("--shifts", "exact"), ("--momentum16", "1"), ("--fraction-bits", "1"),
                              ("--shift-rounding", "value=nearest"), ("--loss-form", "octaves"), ("--update", "sgd"),
                              ("--freeze", "conv1"), ("--statistics", "running")):
            self.refused(2, f"{option}: is an option of integer training: give --arith int8, too", option, value)

    def test_options_of_the_other_update_rule(self):
        for option in (("--lr", "0.1"), ("--schedule", "cosine"), ("--weight-decay", "0.1"), ("--momentum", "0.9"), ("--nesterov",)):
            self.refused(2, f"{option[0]}: is of --update sgd: the rule shift has --mu", "--arith", "int8", *option)
        for option in (("--mu", "5"), ("--bias-mu", "1"), ("--momentum16", "1"), ("--decay",)):
            self.refused(2, f"{option[0]}: is of --update shift: the rule sgd has --lr", "--arith", "int8", "--update", "sgd",
                         *option)
        for words, *options in (("schedule of the rule sgd: got plateau(0.1,5)", "--schedule", "plateau(0.1,5)"),
                                ("fraction bits of the rule sgd: got 0, expected 1 to 16", "--fraction-bits", "0"),
                                ("momentum: got 256/256, expected 0 to 255/256", "--momentum", "1")):
            self.refused(1, words, "--arith", "int8", "--update", "sgd", *options)
        self.refused(2, "--momentum: got nan, expected 0 to 1", "--arith", "int8", "--update", "sgd", "--momentum", "nan")

    def test_running_statistics_where_there_is_no_batch_norm(self):
        self.refused(1, "[train] statistics: got running in a network without a batch norm, expected one with some",
                     "--arith", "int8", "--statistics", "running")

    def test_wrong_words(self):
        self.refused(2, "--arith", "--arith", "int9")
        self.refused(2, "--statistics", "--arith", "int8", "--statistics", "frozen")
        self.refused(1, "shifts: got 'frozen', expected exact or delayed", "--arith", "int8", "--shifts", "frozen")
        for text in ("value", "=nearest", "conv1=nearest", "weight=nearest"):
            self.refused(1, "shift rounding: got", "--arith", "int8", "--shift-rounding", text)
        self.refused(1, "got up, expected one of nearest stochastic", "--arith", "int8", "--shift-rounding", "value=up")
        self.refused(1, "got 'conv7'", "--arith", "int8", "--shift-rounding", "conv7.value=nearest")
        self.refused(1, "layers to freeze: got 'conv7'", "--arith", "int8", "--freeze", "conv1", "--freeze", "conv7")
        self.refused(1, "layers to freeze: got all of them", "--arith", "int8", "--freeze", "*")
        for option, value in (("--momentum16", "16"), ("--fraction-bits", "17"), ("--calibration", "0")):
            self.refused(2, option, "--arith", "int8", option, value)

    def without_integer_form(self):
        network = self.folder / "rescale.toml"
        network.write_text('input = [8, 8, 1]\nlayers = [ { op = "flatten" }, { op = "rescale", name = "r" }, '
                           '{ op = "linear", features = 10 }, { op = "softmax_cross_entropy" } ]\n')
        return network

    def test_networks_that_have_an_integer_form_are_named(self):
        line = self.refused(1, "an operation that has an integer form", "--arith", "int8",
                            network=self.without_integer_form(), data="nowhere")
        named = line.split("networks that have one: ")[1].split(", ")
        self.assertIn("resnet20", named)
        self.assertIn("convnet-8x8", named)

    def test_a_batch_larger_than_the_data(self):
        self.refused(1, "batch: got 2000, expected at most 1437", "--arith", "int8", "--batch", "2000")

    def test_a_layer_without_an_integer_form_is_named_before_data_is_read(self):
        self.refused(1, "[train] layer r: got rescale, expected an operation that has an integer form", "--arith", "int8",
                     network=self.without_integer_form(), data="nowhere")
        network = self.folder / "net.toml"
        network.write_text('input = [8, 8, 1]\nlayers = [ { op = "flatten" }, { op = "dropout", name = "drop", share = 0.3 }, '
                           '{ op = "linear", features = 10 }, { op = "softmax_cross_entropy" } ]\n')
        self.refused(1, "layer drop: got a share that is no 1 - 2^-k", "--arith", "int8", network=network)


if __name__ == "__main__":
    main(needs_floats=False)
