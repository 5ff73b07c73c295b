# SPDX-License-Identifier: Apache-2.0
"""Sweeps over any option: the command's rows, runs, table and words."""

import json

import numpy as np
import pytest

WHAT = "mlp-64-32-10"


def test_varied_options_are_the_commands(nibble, command, tmp_path):
    words = ["--vary", "mu=5", "mu=4", "fraction-bits=0", "fraction-bits=8", "--twin", WHAT, "--seeds", "2", "--seed", "3"]
    how = ["--data", "digits", "--epochs", "1", "--arith", "int8"]
    said = json.loads(command("sweep", WHAT, *words, *how, "--out", tmp_path / "a", "--json"))
    settings = {"data": "digits", "epochs": 1, "arith": "int8", "out": tmp_path / "b"}
    vary = {"mu": [5, 4], "fraction_bits": (0, 8)}
    table = nibble.sweep(WHAT, vary=vary, twin=WHAT, seeds=2, seed=3, **settings)
    assert [row["mu"] for row in said] == ["fp32", "5", "5", "4", "4"]
    assert table["mu"] == ["fp32"] * 2 + [5] * 4 + [4] * 4 and table["fraction_bits"][:4] == [None, None, 0, 0]
    assert table["seed"] == [3, 4] * 5 and table["top1"] == [top1 for row in said for top1 in row["top1"]]
    for name in ("sweep.csv", "sweep.svg", "sweep.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    pages = [(tmp_path / each / "report.html").read_text() for each in "ab"]
    assert all(page.startswith("<!DOCTYPE html>") and page.count("mu_4_fraction-bits_8-seed3") for page in pages)
    names = [{path.name for path in (tmp_path / each).iterdir()} for each in "ab"]
    assert names[0] == names[1]
    with pytest.raises(nibble.errors.UsageError, match=r"\[sweep\] .* holds a sweep with other settings"):
        nibble.sweep(WHAT, vary=vary, **{**settings, "epochs": 2})


def test_arrays_and_rules_are_varied(nibble, tmp_path):
    random = np.random.default_rng(0)
    x = random.integers(0, 256, (100, 6, 6, 1)).astype(np.uint8)
    y = (x.reshape(100, -1).mean(1) > 127).astype(np.int64)
    network = nibble.Network("mine", input=(6, 6, 1)).add("flatten").add("linear", features=2, bias=True)
    network.add("softmax_cross_entropy")
    rules = ["activation=e4m3", "activation=e5m2"]
    settings = {"data": ((x, y), (x, y)), "epochs": 1, "policy": {"weight": "e4m3"}, "out": tmp_path}
    table = nibble.sweep(network, vary={"round": rules}, layer_statistics=False, **settings)
    assert table["round"] == rules and len(table["top1"]) == 2
    policies = [nibble.Run(folder).settings["policy"] for folder in table["run"]]
    assert all("e4m3" in str(policy) for policy in policies) and policies[0] != policies[1]
    assert not (tmp_path / table["run"][0] / "layers.csv").exists()


def test_a_regression_has_no_accuracy_to_compare(nibble, tmp_path):
    random = np.random.default_rng(0)
    x, y = random.normal(size=(50, 6)).astype(np.float32), random.normal(size=50).astype(np.float32)
    network = nibble.Network("line", input=(6,)).add("linear", features=1, bias=True).add("squared_error")
    with pytest.raises(nibble.errors.UsageError, match=r"^\[sweep\] data: got targets of a regression, expected labels of classes$"):
        nibble.sweep(network, ["e4m3"], data=((x, y), (x, y)), epochs=1, out=tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()  # before the first run


def test_mistakes_are_the_commands(nibble, tmp_path):
    for settings, text in [
        ({"vary": {"nonsense": [1]}}, r"\[sweep\] --vary: got 'nonsense', expected an option of nibble train"),
        ({"vary": {"seed": [1]}}, r"\[sweep\] --vary: got 'seed'.*seeds are varied by --seeds"),
        ({"vary": {"epochs": [1, 1]}}, r"\[sweep\] runs: got two in a folder"),
        ({"vary": {"lr": [1]}, "formats": ["e4m3"]}, r"\[sweep\] .*--vary"),
        ({"vary": {"mu": [5]}}, r"\[sweep\] --mu: is an option of integer training"),
        ({}, r"\[sweep\] --formats, --vary, --twin or more than one of --seeds is required"),
        ({"formats": ["e4m3"], "arith": "int8"}, r"\[sweep\] --formats: are of float training"),
        ({"formats": ["e4m3"], "seeds": 0}, r"\[sweep\] --seeds"),
    ]:
        with pytest.raises(nibble.errors.UsageError, match=text) as caught:
            nibble.sweep(WHAT, data="digits", out=tmp_path / "sweep", **settings)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "sweep").exists()
