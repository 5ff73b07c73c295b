# SPDX-License-Identifier: Apache-2.0
"""What is done with models and runs: evaluate, compare, emit, sweep, plot; the command itself."""

import json
import subprocess
import sys

import numpy as np
import pytest


def test_evaluations_are_the_commands(nibble, float_run, quantized, quantized_path, command):
    for model, path in ((float_run.model, float_run.folder), (quantized, quantized_path)):
        said = json.loads(command("eval", path, "--data", "digits", "--json"))
        found = nibble.evaluate(model, "digits")
        assert (found.images, found.correct, found.loss) == (said["images"], said["correct"], said["loss"])
        assert found.confusion == said["confusion"]
    assert quantized.evaluate("digits", split="train").images == 1437


def test_models_are_compared(nibble, float_run, quantized, quantized_path, command):
    said = json.loads(command("compare", float_run.folder / "model.nib", quantized_path, "--data", "digits", "--json"))
    found = nibble.compare(float_run.model, quantized, data="digits")
    assert found == {key: said[key] for key in found}


def test_c_is_emitted(nibble, quantized, quantized_path, command, tmp_path):
    command("emit", quantized_path, "-o", tmp_path / "a", "--prefix", "digits")
    emitted = nibble.emit(quantized_path, tmp_path / "b", prefix="digits")
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name
    assert emitted.files == len(list((tmp_path / "b").iterdir())) and emitted.ram > 0
    with pytest.raises(nibble.Error, match=r"\[emit\] output folder .* expected an empty one"):
        quantized.emit(tmp_path / "b")
    with pytest.raises(nibble.Error, match=r"\[emit\]"):
        nibble.emit(quantized, tmp_path / "c", ram=10)


def test_training_is_emitted(nibble, command, tmp_path):
    options = {"data": "digits", "train_steps": 3, "train_batch": 4, "prefix": "own"}
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    said = command("emit", "mlp-64-32-10", "-o", tmp_path / "a", "--train", *words)
    emitted = nibble.emit("mlp-64-32-10", tmp_path / "b", train=True, **options)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name
    assert emitted.files == len(list((tmp_path / "b").iterdir())) and f"{emitted.training_ram} bytes of RAM" in said
    with pytest.raises(nibble.Error, match=r"\[emit\] data: got it without train=True"):
        nibble.emit("mlp-64-32-10", tmp_path / "c", data="digits")


def test_what_the_command_prints_is_data(nibble, quantized, quantized_path, float_run, command, tmp_path):
    for what, path in ((quantized, quantized_path), (nibble.networks["lenet"], "lenet"), (float_run.folder, float_run.folder)):
        assert nibble.describe(what) == json.loads(command("describe", path, "--json"))
    assert nibble.operations() == json.loads(command("describe", "--operations", "--json"))
    assert nibble.doctor() == json.loads(command("doctor", "--json"))
    known, listed = nibble.datasets(), json.loads(command("data", "list", "--json"))
    assert known[0].pop("path") and listed[0].pop("path")  # each has digits of its own
    assert known == listed
    assert nibble.check_data("digits") == json.loads(command("data", "check", "digits", "--json"))
    with pytest.raises(nibble.Error, match=r"\[data\] data set: got 'nowhere'"):
        nibble.check_data("nowhere")
    command("report", float_run.folder, "-o", tmp_path / "a.svg")
    nibble.report(float_run.folder, out=tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_models_are_tuned(nibble, quantized, tmp_path):
    tuning = nibble.tune(quantized, threads=1, rounds=1, output=tmp_path / "tuning.txt")
    lines = tuning.file.read_text().splitlines()
    assert lines[0].startswith("# nibble tuning of") and tuning.cuts == lines[1:]
    with pytest.raises(nibble.Error, match="rounds"):
        nibble.tune(quantized, rounds=0)


def test_onnx_is_written(quantized, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    quantized.to_onnx(tmp_path / "q.onnx")
    session = runtime.InferenceSession(str(tmp_path / "q.onnx"), providers=["CPUExecutionProvider"])
    assert session.run(None, {session.get_inputs()[0].name: np.zeros((1, 1, 8, 8), np.float32)})[0].shape == (1, 10)


def test_written_onnx_comes_back_to_the_same_integers(nibble, quantized, command, tmp_path):
    quantized.to_onnx(tmp_path / "q.onnx")
    command("convert", tmp_path / "q.onnx", tmp_path / "q.nib")
    first, again = (nibble.Engine(model, max_batch=200) for model in (quantized, tmp_path / "q.nib"))
    assert first.inputs[0].dtype == again.inputs[0].dtype == "int8"
    x = np.random.default_rng(0).integers(-127, 128, (200, 8, 8, 1)).astype(np.int8)
    first, again = first.run(x), again.run(x)
    assert len(np.unique(first)) > 100 and np.array_equal(first, again)


def test_sweeps_go_through_any_map(nibble, tmp_path):
    seen = []

    def through(function, jobs):
        seen.extend(job["out"] for job in jobs)
        return [function(job) for job in jobs]

    settings = {"data": "digits", "epochs": 1, "out": tmp_path}
    table = nibble.sweep("mlp-64-32-10", ["e4m3"], roundings=["nearest-even", "stochastic"], map=through, **settings)
    assert table["format"] == ["fp32", "e4m3", "e4m3"] and table["run"] == seen
    before = [(tmp_path / "e4m3-stochastic-seed1" / "summary.json").stat().st_mtime_ns]
    assert nibble.sweep("mlp-64-32-10", ["e4m3"], roundings=["nearest-even", "stochastic"], **settings) == table
    assert before == [(tmp_path / "e4m3-stochastic-seed1" / "summary.json").stat().st_mtime_ns]


def test_workers_of_a_sweep_may_be_elsewhere(nibble, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)

    def elsewhere(function, jobs):
        monkeypatch.chdir(tmp_path / "elsewhere")
        return [function(job) for job in jobs]

    table = nibble.sweep("mlp-64-32-10", [], data="digits", epochs=1, out="sweep", map=elsewhere)
    assert table["run"] == [str(tmp_path / "sweep" / "fp32-seed1")]
    assert nibble.Run(table["run"][0]).is_complete


def test_a_sweep_needs_something_to_test_with(nibble, pictures, tmp_path):
    data = pictures, np.arange(len(pictures)) % 10
    with pytest.raises(nibble.Error, match=r"\[sweep\] data: got none to test with, expected x_test and y_test"):
        nibble.sweep("mlp-64-32-10", [], data=data, epochs=1, out=tmp_path)


def test_sweeps_go_through_ray(nibble, tmp_path):
    """Workers have a working folder of their own."""
    ray = pytest.importorskip("ray", minversion="2.0")
    (tmp_path / "theirs").mkdir()
    ray.init(num_cpus=2, include_dashboard=False, runtime_env={"working_dir": str(tmp_path / "theirs")})
    try:
        by_ray = lambda function, jobs: ray.get([ray.remote(function).remote(job) for job in jobs])
        settings = {"data": "digits", "epochs": 1, "seeds": 2}
        found = nibble.sweep("mlp-64-32-10", ["e4m3"], out=tmp_path / "ray", map=by_ray, **settings)
        assert found["top1"] == nibble.sweep("mlp-64-32-10", ["e4m3"], out=tmp_path / "alone", **settings)["top1"]
        with pytest.raises(nibble.errors.UsageError, match="got 'abacus'"):
            nibble.sweep("abacus", [], out=tmp_path / "none", map=by_ray, **settings)
    finally:
        ray.shutdown()


def test_loadgen_runs_models_and_arrays(nibble, has_loadgen, quantized, quantized_path, pictures, tmp_path):
    if not has_loadgen:
        pytest.skip("this build has no LoadGen")
    labels = np.zeros(len(pictures), np.int64)
    # 50,000 queries, which no machine answers within the 20 ms that the run has to last.
    how = {"seconds": 0.02, "threads": 1, "scenario": "SingleStream", "set": ["min_query_count=50000"]}
    run = nibble.loadgen(quantized, (pictures, labels), out=tmp_path / "a", split="train", **how)
    assert run.scenario == "SingleStream" and run.is_valid and "VALID" in run.said, run
    assert 0 < run.latency_ms["min"] <= run.latency_ms["90.00"] <= run.latency_ms["max"]
    assert run.settings["scenario"] == "SingleStream" and sum(run.table("latencies")["samples"]) >= 50000
    assert nibble.mlperf.read_run(tmp_path / "a").latency_ms == run.latency_ms
    with pytest.raises(nibble.errors.InputError, match="no table 'queries', expected batches"):
        run.table("queries")
    with pytest.raises(nibble.errors.UsageError, match="--scenario"):
        nibble.loadgen(quantized_path, "digits", out=tmp_path / "b", scenario="Online")
    with pytest.raises(nibble.Error, match="cannot read .*nothing.nib"):
        nibble.loadgen(tmp_path / "nothing.nib", "digits", out=tmp_path / "c")


def test_answers_under_loadgen_are_scored(nibble, has_loadgen, quantized, tmp_path):
    if not has_loadgen:
        pytest.skip("this build has no LoadGen")
    run = nibble.loadgen(quantized, "digits", out=tmp_path / "a", mode="accuracy", threads=1)
    expected = nibble.evaluate(quantized, "digits")
    for log in (run, run.folder, run.folder / "mlperf_log_accuracy.json"):
        found = nibble.mlperf.score(log, "digits")
        assert (found.answered, found.correct, found.top1, found.agreed) == (360, expected.correct, expected.top1, None)
    assert nibble.mlperf.score(run, "digits", oracle=run.folder).agreed == 360
    with pytest.raises(nibble.errors.PlatformError, match="cannot open"):
        nibble.mlperf.score(tmp_path / "none.json", "digits")
    with pytest.raises(nibble.errors.InputError, match="no figure of speed"):
        nibble.mlperf.test04(performance=run, same=run)


def test_placements_are_data_and_pictures(nibble, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("NIBBLE_PLACEMENT", str(tmp_path / "costs.json"))
    plan = nibble.place("mlp-64-32-10", data="digits", threads=1)
    passes = {unit["pass"] for unit in plan["units"]}
    assert {"forward", "input_error", "weight_gradient", "update"} >= passes >= {"forward"}
    assert len(nibble.plot.placement(plan).axes[0].patches) == len(plan["units"])
    with pytest.raises(nibble.Error, match="no-such-network"):
        nibble.place("no-such-network", data="digits")


def test_plots(nibble, float_run, quantized):
    pytest.importorskip("matplotlib")
    assert len(nibble.plot.formats(["e4m3", "posit(8,1)"]).axes[0].lines) == 2
    assert nibble.plot.curves(float_run).axes[0].lines
    assert len(nibble.plot.errors(quantized).axes[0].patches) == len(quantized.errors)


def test_the_module_is_the_command(command, nibble, tmp_path):
    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "nibble", *arguments], capture_output=True, text=True, timeout=60)

    assert run("--version").stdout == command("--version")
    wrong = run("train", "--nonsense")
    assert wrong.returncode == 2 and "nonsense" in wrong.stderr


def test_errors_are_of_one_family(nibble):
    from nibble import errors

    with pytest.raises(nibble.Error) as caught:
        nibble.Format("nonsense")
    assert isinstance(caught.value, errors.UsageError) and isinstance(caught.value, ValueError)
    with pytest.raises(errors.ArgumentTypeError):
        nibble.quantize([1.0], "e4m3")
