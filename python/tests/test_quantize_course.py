# SPDX-License-Identifier: Apache-2.0
"""What quantization tells while it goes on and at its end: progress, as that of training, epochs, figures, the page, Ctrl-C."""

import math
import re
import signal
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest


def test_epochs_of_fine_tuning_are_columns(nibble, float_run, command, tmp_path):
    source = float_run.folder / "model.nib"
    model = nibble.quantize_network(source, "digits", weights="int4", finetune=2, samples=64, progress=False)
    assert {*model.history} == {"epoch", "train_loss", "train_top1", "seconds"} <= {*float_run.history}
    assert model.history["epoch"] == [1, 2] and all(seconds > 0 for seconds in model.history["seconds"])
    assert model.calibrated == 64 and model.seconds > 0
    words = ["--weights", "int4", "--finetune", "2", "--samples", "64"]
    said = command("quantize", source, "-o", tmp_path / "a.nib", "--calib", "digits", *words)
    told = re.findall(r"^epoch (\d): loss ([\d.]+), train ([\d.]+) %", said, re.M)
    rows = zip(*(model.history[name] for name in ("epoch", "train_loss", "train_top1")))
    assert told == [(str(epoch), f"{loss:.4f}", f"{100 * top1:.2f}") for epoch, loss, top1 in rows]
    assert "calibrated on 64 images" in said


def test_without_fine_tuning_there_is_no_history(quantized):
    assert quantized.history == {} and quantized.calibrated == 256


def test_a_regression_has_no_top1(nibble, command, tmp_path):
    random = np.random.default_rng(0)
    x, y = random.normal(size=(200, 6)).astype(np.float32), random.normal(size=200).astype(np.float32)
    network = nibble.Network("line", input=(6,)).add("linear", features=1, bias=True).add("squared_error")
    run = nibble.train(network, data=(x, y), epochs=1, out=tmp_path / "run", progress=False)
    model = nibble.quantize_network(run, (x, y), finetune=2, progress=False)
    assert model.history["train_top1"] == [None, None] and model.history["train_loss"][0] > 0


@pytest.fixture
def exact(nibble, tmp_path):
    """Black and white by weights of one size: nothing is lost."""
    network = nibble.Network("exact", input=(4, 4, 1)).add("flatten").add("linear", name="fc", features=4)
    np.savez(tmp_path / "exact.npz", **{"fc.weight": 2 * np.eye(4, 16, dtype=np.float32)})
    floats = nibble.convert(tmp_path / "exact.npz", network=network)
    pictures = 255 * np.random.default_rng(0).integers(0, 2, (64, 4, 4, 1)).astype(np.uint8)
    return nibble.quantize_network(floats, pictures, scan=True, bias_correction=False, progress=False)


def test_infinite_ratios_are_numbers(nibble, exact):
    assert [(row["name"], row["sqnr_db"], row["worst_sqnr_db"]) for row in exact.errors][0] == ("flatten1", math.inf, math.inf)
    assert {each["sqnr_db"] for row in exact.scan for each in row["choices"]} == {math.inf}
    found = nibble.measure_formats(np.ones(8, np.float32), ["e4m3"])
    assert found["formats"][0]["sqnr_db"] == math.inf


def test_exact_layers_have_a_word_for_a_bar(nibble, exact):
    pytest.importorskip("matplotlib")
    axes = nibble.plot.errors(exact).axes[0]
    assert [text.get_text().strip() for text in axes.texts] == ["exact"] * len(exact.errors)


def test_the_page_is_the_commands(nibble, float_run, command, tmp_path):
    source = float_run.folder / "model.nib"
    words = ["--samples", "64", "--report", tmp_path / "a.html"]
    command("quantize", source, "-o", tmp_path / "a.nib", "--calib", "digits", *words)
    model = nibble.quantize_network(source, "digits", samples=64, report=tmp_path / "b.html", progress=False)
    pages = [re.sub(r"<td>\d+</td></tr>", "", (tmp_path / name).read_text(encoding="utf-8")) for name in ("a.html", "b.html")]
    assert pages[0] == pages[1] and "Sensitivity" in pages[0] and model.scan
    with pytest.raises(nibble.errors.PlatformError, match="nowhere"):
        nibble.quantize_network(source, "digits", report=tmp_path / "nowhere" / "a.html", progress=False)


class FakeBar:
    """What tqdm is asked for."""

    made = []

    def __init__(self, total, desc, leave):
        self.total, self.desc, self.n, self.seen, self.shown, self.is_closed = total, desc, 0, [], [], False
        FakeBar.made.append(self)

    def set_postfix_str(self, words, refresh):
        self.words = words

    def update(self, more):
        self.n += more
        self.seen.append((round(self.n, 2), self.words))

    def refresh(self):
        self.shown.append(self.words)

    def close(self):
        self.is_closed = True


@pytest.fixture
def bars(monkeypatch):
    monkeypatch.setattr(FakeBar, "made", [])
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=FakeBar))
    return FakeBar.made


def test_bars_say_how_far_it_is(nibble, float_run, bars, tmp_path, capsys):
    nibble.quantize_network(float_run, "digits", finetune=2, lr=1e-4, samples=64)
    seen = bars[0].seen
    assert bars[0].total == 5 and bars[0].is_closed and bars[0].shown[0] == "calibration"
    assert [place for place in seen if "loss" not in place[1]] == [
        (0, "calibration"),
        (1, "rounding"),
        (2, "fine-tuning"),
        (4, "integers"),
    ]
    inside = [place for place, words in seen if "loss" in words]
    assert {3, 4} <= {*inside} and inside == sorted(inside) and any(place % 1 for place in inside)
    recipe = nibble.recipes["digits-convnet-fp32"].replace("epochs = 60", "epochs = 2")
    (tmp_path / "recipe.toml").write_text(recipe)
    nibble.train(tmp_path / "recipe.toml", out=tmp_path / "run")
    assert bars[1].total == 2 and [place for place, _ in bars[1].seen] == [0, 1, 2]
    nibble.train("mlp-64-32-10", data="digits", arith="int8", epochs=1, ranks=2, threads=1, out=tmp_path / "ranks")
    assert bars[2].total == 1 and bars[2].n == 1
    nibble.train("mlp-64-32-10", data="digits", epochs=1, out=tmp_path / "silent", progress=False)
    assert len(bars) == 3 and capsys.readouterr().err == ""


def test_without_tqdm_there_are_lines(nibble, float_run, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    nibble.quantize_network(float_run, "digits", finetune=1, samples=64)
    lines = [re.sub(r"loss [\d.]+", "loss", line) for line in capsys.readouterr().err.splitlines()]
    stages = ["0/4: calibration", "1/4: rounding", "2/4: fine-tuning", "3/4: fine-tuning, loss", "3/4: integers"]
    assert lines == [f"quantize {stage}" for stage in stages]
    run = nibble.train("mlp-64-32-10", data="digits", epochs=2, out=tmp_path / "run")
    losses = run.history["train_loss"]
    assert capsys.readouterr().err == f"train 1/2: loss {losses[0]:.4f}\ntrain 2/2: loss {losses[1]:.4f}\n"
    nibble.quantize_network(float_run, "digits", samples=64, progress=False)
    assert capsys.readouterr().err == ""


def test_ctrl_c_ends_fine_tuning(nibble, float_run, tmp_path):
    script = textwrap.dedent(
        """
        import signal, sys
        sys.modules["tqdm"] = sys.modules["tqdm.auto"] = None
        import nibble
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background ignores it
        try:
            nibble.quantize_network(sys.argv[1], "digits", finetune=100000, samples=64, checkpoint=sys.argv[2])
        except KeyboardInterrupt as stopped:
            print(type(stopped).__name__, stopped)
        """
    )
    for checkpoint, expected in (("", "nothing is kept without a checkpoint"), (str(tmp_path / "c"), "goes on from")):
        command = [sys.executable, "-c", script, str(float_run.folder), checkpoint]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert any("fine-tuning, loss" in line for line in process.stderr)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=300)[0]
        assert said.startswith("Interrupted interrupted in epoch ") and expected in said, said
    assert (tmp_path / "c").exists()
