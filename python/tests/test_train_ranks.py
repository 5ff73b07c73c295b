# SPDX-License-Identifier: Apache-2.0
"""What training takes beside a recipe: processes that share batches, a model to start from, a trace of a step."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

SETTINGS = {"data": "digits", "arith": "int8", "progress": False, "threads": 1}


def test_ranks_give_the_weights_of_one(nibble, tmp_path):
    network = nibble.Network("mine", input=(8, 8, 1)).add("flatten").add("linear", features=10, bias=True)
    network.add("softmax_cross_entropy")
    alone = nibble.train(network, epochs=2, out=tmp_path / "alone", **SETTINGS)
    rows = []
    trace = tmp_path / "step.json"
    shared = {**SETTINGS, "ranks": 2, "callbacks": [rows.append], "out": tmp_path / "shared"}
    run = nibble.train(network, epochs=2, stop_after=1, profile=trace, layer_statistics=False, **shared)
    assert not run.is_complete and run.layers == {} and json.loads(trace.read_text())["traceEvents"]
    with pytest.raises(nibble.Error, match="holds a run"):
        nibble.train(network, epochs=2, **shared)
    run = nibble.train(network, epochs=2, mode="resume", **shared)
    assert run.is_complete and run.model.weights_hash == alone.model.weights_hash
    assert [row["epoch"] for row in rows] == [1, 2] == run.history["epoch"]
    assert rows[1]["test_top1"] == run.history["test_top1"][1] == alone.history["test_top1"][1]
    run = nibble.train(network, epochs=1, seed=2, mode="overwrite", **shared)
    assert [row["epoch"] for row in rows] == [1, 2, 1] and run.settings["seed"] == 2


def test_mistakes_with_ranks_are_the_commands(nibble, pictures, tmp_path):
    for changed, text in [
        ({"arith": "float"}, r"\[train\] processes: got 2, expected 1: only integer sums"),
        ({"ranks": 65}, "--ranks: "),
        ({"ranks": 0}, "--ranks: "),
        ({"mode": "again"}, r"\[train\] mode: got 'again', expected fresh, overwrite, resume or continue"),
        ({"epochs": -1}, r"\[train\] --epochs: "),
        ({"data": (pictures, np.zeros(len(pictures), np.int64))}, r"\[train\] data: got arrays with ranks=2"),
    ]:
        with pytest.raises(nibble.errors.UsageError, match=text) as caught:
            nibble.train("mlp-64-32-10", **{**SETTINGS, "ranks": 2, "epochs": 1, "out": tmp_path / "run", **changed})
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_callback_ends_ranks(nibble, tmp_path):
    def stop(row):
        raise LookupError("enough")

    settings = {**SETTINGS, "ranks": 2, "epochs": 1000, "out": tmp_path / "run"}
    with pytest.raises(LookupError, match="enough"):
        nibble.train("mlp-64-32-10", callbacks=[stop], **settings)
    assert not nibble.Run(tmp_path / "run").is_complete and (tmp_path / "run" / "checkpoint.safetensors").exists()


def test_ctrl_c_of_ranks_leaves_a_checkpoint(nibble, tmp_path):
    script = textwrap.dedent(
        """
        import signal, sys, nibble
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background ignores it
        try:
            nibble.train("mlp-64-32-10", data="digits", arith="int8", epochs=100000, ranks=2, threads=1, out=sys.argv[1],
                         callbacks=[lambda row: print(row["epoch"], flush=True)], progress=False)
        except KeyboardInterrupt as stopped:
            print(type(stopped).__name__, stopped)
        """
    )
    command = [sys.executable, "-c", script, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "1\n"
        os.kill(process.pid, signal.SIGINT)
        said = process.communicate(timeout=300)[0].splitlines()[-1]
    assert said.startswith("Interrupted [train] interrupted after ") and "mode='resume'" in said, said
    assert (tmp_path / "run" / "checkpoint.safetensors").exists()


def test_a_run_starts_from_a_model(nibble, float_run, command, tmp_path):
    settings = {"data": "digits", "epochs": 1, "lr": 0.001, "progress": False}
    words = ["--data", "digits", "--epochs", "1", "--lr", "0.001", "--quiet", "--out", tmp_path / "a"]
    command("train", "--from", float_run.folder, *words)
    for name, start in (("b", float_run), ("c", float_run.model), ("d", float_run.folder / "model.nib")):
        run = nibble.train(from_=start, out=tmp_path / name, **settings)
        assert nibble.compare(tmp_path / "a", run)["weights_equal"] is True


def test_a_step_is_traced(nibble, tmp_path):
    trace = tmp_path / "step.json"
    nibble.train("mlp-64-32-10", data="digits", epochs=1, profile=trace, out=tmp_path / "run", progress=False)
    names = {event["name"] for event in json.loads(trace.read_text())["traceEvents"]}
    assert any("fc1" in name for name in names), names
