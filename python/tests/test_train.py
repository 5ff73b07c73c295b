# SPDX-License-Identifier: Apache-2.0
"""Training from Python: the command's weights, its folder, its way to go on."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest


def test_weights_are_the_commands(nibble, command, tmp_path):
    command("train", "convnet-8x8", "--data", "digits", "--epochs", "2", "--lr", "0.01", "--quiet", "--out", tmp_path / "a")
    rows = []
    run = nibble.train(
        "convnet-8x8", data="digits", epochs=2, lr=0.01, out=tmp_path / "b", callbacks=[rows.append], progress=False
    )
    assert nibble.compare(tmp_path / "a", run)["weights_equal"] is True
    assert sorted(p.name for p in (tmp_path / "a").iterdir() if "tfevents" not in p.name) == sorted(
        p.name for p in (tmp_path / "b").iterdir() if "tfevents" not in p.name
    )
    assert run.history["epoch"] == [1, 2] == [row["epoch"] for row in rows]
    assert run.history["test_top1"][1] == rows[1]["test_top1"] == run.summary["test"]["top1"]
    assert run.layers["layer"] and run.settings["data"] == "digits" and run.is_complete


def test_integers_have_their_golden(nibble, tmp_path):
    run = nibble.train("convnet-8x8", data="digits", arith="int8", epochs=4, out=tmp_path / "run", progress=False)
    assert run.model.weights_hash == "167223b022448062"
    assert run.integers["tensor"]


def test_policies_are_formats_by_role(nibble, tmp_path):
    policy = {"weight,activation": "e4m3", "error": "e5m2/stochastic"}
    run = nibble.train("mlp-64-32-10", data="digits", epochs=1, policy=policy, out=tmp_path / "run", progress=False)
    assert "e4m3" in run.layers["format"]


def test_a_run_goes_on_to_the_same_weights(nibble, tmp_path):
    settings = {"data": "digits", "arith": "int8", "epochs": 3, "progress": False}
    whole = nibble.train("mlp-64-32-10", out=tmp_path / "whole", **settings)
    part = nibble.train("mlp-64-32-10", out=tmp_path / "part", stop_after=1, **settings)
    assert not part.is_complete and part.history["epoch"] == [1]
    with pytest.raises(nibble.Error, match="holds a run"):
        nibble.train("mlp-64-32-10", out=tmp_path / "part", **settings)
    again = nibble.train("mlp-64-32-10", out=tmp_path / "part", mode="resume", **settings)
    assert again.summary["weights_hash"] == whole.summary["weights_hash"]


def test_a_placed_run_of_floats_goes_on_under_its_rules(nibble, monkeypatch, tmp_path):
    """Products of the pretended device are others than the CPU's, and no plan is made where there are rules."""
    costs = tmp_path / "costs.json"
    monkeypatch.setenv("NIBBLE_PLACEMENT", str(costs))
    monkeypatch.setenv("NIBBLE_PRETEND", "copy_us=1000,slowdown=100")  # a plan would choose the CPU
    settings = {"data": "digits", "epochs": 2, "threads": 1, "progress": False}
    rules = "pretend, fc1.weight_gradient=cpu"
    whole = nibble.train("mlp-64-32-10", place=rules, out=tmp_path / "whole", **settings)
    for mode in ("resume", "continue"):
        out = tmp_path / mode
        nibble.train("mlp-64-32-10", place=rules, stop_after=1, out=out, **settings)
        run = nibble.train("mlp-64-32-10", place="auto(cpu,pretend)", mode=mode, out=out, **settings)
        assert run.settings["place"] == whole.settings["place"] and not costs.exists()
        assert run.summary["weights_hash"] == whole.summary["weights_hash"]
    planned = nibble.train("mlp-64-32-10", place="auto(cpu,pretend)", mode="continue", out=tmp_path / "new", **settings)
    assert costs.exists() and planned.settings["place"] == "cpu"


def test_a_placed_sweep_goes_on_under_its_rules(nibble, monkeypatch, tmp_path):
    costs = tmp_path / "costs.json"
    monkeypatch.setenv("NIBBLE_PLACEMENT", str(costs))
    how = {"data": "digits", "threads": 1, "place": "auto(cpu,pretend)", "out": tmp_path / "sweep"}
    run = nibble.Run(nibble.sweep("mlp-64-32-10", [], epochs=1, **how)["run"][0])
    costs.unlink()
    (run.folder / "summary.json").unlink()
    assert nibble.sweep("mlp-64-32-10", [], epochs=1, **how)["run"] == [str(run.folder)]
    assert not costs.exists() and run.is_complete


def test_networks_and_arrays_of_ones_own(nibble, tmp_path):
    random = np.random.default_rng(0)
    x = random.integers(0, 256, (200, 6, 6, 1)).astype(np.uint8)
    y = (x.reshape(200, -1).mean(1) > 127).astype(np.int64)
    network = nibble.Network("mine", input=(6, 6, 1)).add("flatten").add("linear", name="fc", features=2, bias=True)
    network.add("softmax_cross_entropy")
    np.savez(tmp_path / "mine.npz", images=x, labels=y)
    batches = [(x[i : i + 50], y[i : i + 50]) for i in range(0, 200, 50)]
    hashes = set()
    for place, data in enumerate([tmp_path / "mine.npz", (x, y), {"images": x, "labels": y}, batches]):
        run = nibble.train(network, data=data, epochs=2, out=tmp_path / str(place), progress=False)
        hashes.add(run.model.weights_hash)
    assert len(hashes) == 1
    assert run.model.parameters["fc.weight"].shape == (2, 36)
    assert run.evaluate((x, y)).images == 200


def test_pictures_with_channels_first_are_turned(nibble, float_run, tmp_path):
    """By what the network of a recipe, a file, a model or a name takes."""
    random = np.random.default_rng(0)
    x, y = random.integers(0, 256, (200, 5, 7, 3)).astype(np.uint8), np.arange(200) % 2
    network = nibble.Network("turned", input=(5, 7, 3)).add("flatten").add("linear", features=2)
    (tmp_path / "network.toml").write_text(network.add("softmax_cross_entropy").toml)
    (tmp_path / "recipe.toml").write_text(f'network = "{tmp_path / "network.toml"}"\nepochs = 1\n')
    (tmp_path / "integers.toml").write_text(f'arith = "int8"\nnetwork = "{tmp_path / "network.toml"}"\nepochs = 1\n')
    settings = {"epochs": 1, "progress": False}
    expected = nibble.train(network, data=(x, y), out=tmp_path / "a", **settings)
    turned = x.transpose(0, 3, 1, 2), y
    for what in ("network.toml", "recipe.toml", "integers.toml"):
        run = nibble.train(tmp_path / what, data=turned, out=tmp_path / what[:-5], **settings)
        assert run.settings["data_hash"] == expected.settings["data_hash"], what
    for number, start in enumerate((expected, expected.folder / "model.nib", expected.model)):
        run = nibble.train(from_=start, data=turned, out=tmp_path / f"from{number}", **settings)
        assert run.settings["data_hash"] == expected.settings["data_hash"]
    table = nibble.sweep(tmp_path / "recipe.toml", [], data=(turned, turned), epochs=1, out=tmp_path / "sweep")
    assert nibble.Run(table["run"][0]).settings["data_hash"] == expected.settings["data_hash"]
    assert expected.evaluate(turned) == expected.evaluate((x, y))
    assert nibble.compare(expected.model, expected.model, data=(turned, turned))["agreed"] == 200
    with pytest.raises(nibble.Error, match="no-such"):
        nibble.train("no-such", data=turned, out=tmp_path / "none", **settings)


def test_an_error_in_a_callback_comes_through(nibble, tmp_path):
    def stop(row):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        nibble.train(
            "mlp-64-32-10", data="digits", epochs=3, out=tmp_path / "run", callbacks=[stop], progress=False
        )
    run = nibble.train("mlp-64-32-10", data="digits", epochs=3, out=tmp_path / "run", mode="continue", progress=False)
    assert run.is_complete


def test_ctrl_c_leaves_a_checkpoint(nibble, tmp_path):
    script = textwrap.dedent(
        """
        import os, signal, sys, nibble
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background ignores it
        def interrupt(row):
            if row["epoch"] == 2 and "go on" not in sys.argv:
                os.kill(os.getpid(), signal.SIGINT)
        try:
            run = nibble.train("mlp-64-32-10", data="digits", arith="int8", epochs=4, out=sys.argv[1],
                               mode="continue", callbacks=[interrupt], progress=False)
            print(run.summary["weights_hash"])
        except KeyboardInterrupt as stopped:
            print(type(stopped).__name__, stopped)
        """
    )

    def run(*arguments):
        done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    stopped = run(str(tmp_path / "a"))
    assert stopped.startswith("Interrupted [train] interrupted after 2 epochs") and "mode='resume'" in stopped
    assert run(str(tmp_path / "a"), "go on") == run(str(tmp_path / "b"), "go on")


def test_mistakes_are_the_commands(nibble, tmp_path):
    for options, text in [
        ({"data": "digits", "mu": "5"}, r"\[train\] --mu: is an option of integer training: give --arith int8, too"),
        ({"data": "digits", "epochs": -1}, r"\[train\] --epochs: "),
        ({"data": "digits", "eopchs": 1}, r"\[train\] option: got 'eopchs'"),
        ({}, r"\[train\] --data"),
        ({"data": 3}, r"\[data\] data: got an object of type int"),
    ]:
        with pytest.raises(nibble.Error, match=text) as caught:
            nibble.train("mlp-64-32-10", out=tmp_path / "run", progress=False, **options)
        assert "\n" not in str(caught.value)
    with pytest.raises(nibble.Error, match=r"\[network\]"):
        nibble.train("no-such-network", data="digits", progress=False)


def test_what_comes_with_nibble(nibble):
    assert "lenet" in nibble.networks and nibble.networks["lenet"].input_shape == (28, 28, 1)
    assert "digits-convnet-fp32" in nibble.recipes and "network" in nibble.recipes["digits-convnet-fp32"]
    with pytest.raises(nibble.Error, match=r"\[network\] bad: layers\[0\]|\[network\] bad"):
        nibble.Network("bad", input=(4,)).add("linaer", features=3).toml
