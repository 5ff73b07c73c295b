# SPDX-License-Identifier: Apache-2.0
"""What is done with models and runs: evaluate, compare, emit, sweep, plot; the command itself."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest


def test_evaluations_are_the_commands(nibble, float_run, quantized, quantized_path, command):
    for model, path in ((float_run.model, float_run.folder), (quantized, quantized_path)):
        said = json.loads(command("eval", path, "--data", "digits", "--json"))
        found = nibble.evaluate(model, "digits")
        assert (found.images, found.correct, found.loss) == (said["images"], said["correct"], said["loss"])
        assert found.confusion == said["confusion"]
    assert quantized.evaluate("digits", split="train").images == 1437


def test_evaluations_take_what_the_command_takes(nibble, float_run, quantized, quantized_path, command, tmp_path):
    def said(model, data, *words):
        found = json.loads(command("eval", model, "--data", data, *words, "--json"))
        return found["images"], found["correct"], found["loss"], found.get("oracle")

    def told(*arguments, **options):
        found = nibble.evaluate(*arguments, **options)
        return found.images, found.correct, found.loss, found.oracle

    policy = tmp_path / "policy.toml"
    policy.write_text('[[round]]\nrole = ["activation"]\nformat = "e2m1"\nrounding = "toward-zero"\n')
    expected = said(float_run.folder, "digits", "--policy", policy)
    assert told(float_run, "digits", policy=policy, threads=1) == expected != said(float_run.folder, "digits")
    assert told(float_run, "digits", policy={"activation": "e2m1/toward-zero"}) == expected
    log = tmp_path / "mlperf_log_accuracy.json"
    answers = [{"seq_id": i, "qsl_idx": i, "data": "00000000", "count": 1} for i in range(360)]
    log.write_text(json.dumps(answers))
    found = told(quantized, "digits", oracle=log)
    assert found == said(quantized_path, "digits", "--oracle", log) and found[3]["compared"] == 360 > found[3]["agreed"] > 0
    pictures = tmp_path / "pictures"
    nibble.export_data("digits", out=pictures)
    (next((pictures / "test").iterdir()) / "0.png").write_bytes(b"no picture")
    expected = said(float_run.folder, pictures, "--skip-broken", "--image-size", 8)
    assert told(float_run, pictures, skip_broken=True, image_size=8) == expected
    with pytest.raises(nibble.Error, match="cannot|broken|PNG|picture"):
        nibble.evaluate(float_run, pictures)
    with pytest.raises(nibble.errors.UsageError, match=r"\[eval\] --image-size: got 0"):
        nibble.evaluate(float_run, pictures, image_size=0)
    with pytest.raises(nibble.errors.UsageError, match="--threads"):
        nibble.evaluate(float_run, "digits", threads=0)
    before = nibble.Engine(quantized).threads
    nibble.evaluate(quantized, "digits", threads=before + 1)
    assert nibble.Engine(quantized).threads == before  # of that call alone


def test_models_are_compared(nibble, float_run, quantized, quantized_path, command, tmp_path):
    said = json.loads(command("compare", float_run.folder / "model.nib", quantized_path, "--data", "digits", "--json"))
    found = nibble.compare(float_run.model, quantized, data="digits")
    assert found == {key: said[key] for key in found}
    for name in ("a.svg", "a.html"):
        page = tmp_path / name
        command("compare", float_run.folder / "model.nib", quantized_path, "--data", "digits", "--pictures", page)
        nibble.compare(float_run.model, quantized, data="digits", pictures=tmp_path / f"b{page.suffix}")
        assert page.read_bytes() == (tmp_path / f"b{page.suffix}").read_bytes()
    folder = tmp_path / "pictures"
    nibble.export_data("digits", out=folder)
    words = ("--data", folder, "--image-size", 8, "--json")
    said = json.loads(command("compare", float_run.folder / "model.nib", quantized_path, *words))
    assert nibble.compare(float_run.model, quantized, data=folder, image_size=8)["top1"] == said["top1"]
    with pytest.raises(nibble.errors.UsageError, match=r"\[load_dataset\] image size for digits: got 8"):
        nibble.compare(float_run.model, quantized, data="digits", image_size=8)
    with pytest.raises(nibble.errors.UsageError, match=r"\[compare\] pictures: got it with runs"):
        nibble.compare(float_run, float_run, pictures=tmp_path / "c.svg")


def check_figures(emitted, said):
    """They are those that the command prints, and the plan's rows its table."""
    assert said.startswith(f"{emitted.plan}\nRAM ")
    for name, value in (("RAM", emitted.ram), ("parameters", emitted.flash), ("products", emitted.macs)):
        assert re.search(rf"^{name} +{value}\b", said, re.M)
    assert len(emitted.plan) == str(emitted.plan).count("\n") - 1 > 0
    most = max(row["offset"] + row["bytes"] for row in emitted.plan)
    assert most <= emitted.ram < most + 4  # whole words


def test_c_is_emitted(nibble, quantized, quantized_path, command, tmp_path):
    said = command("emit", quantized_path, "-o", tmp_path / "a", "--prefix", "digits")
    emitted = nibble.emit(quantized_path, tmp_path / "b", prefix="digits")
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name
    assert emitted.files == len(list((tmp_path / "b").iterdir())) and emitted.ram > 0
    check_figures(emitted, said)
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
    check_figures(emitted, said)
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
    assert nibble.get_data("digits") == Path(next(each["path"] for each in nibble.datasets() if each["name"] == "digits"))
    with pytest.raises(nibble.errors.UsageError, match=r"\[data\] data set: got 'nowhere'"):
        nibble.get_data("nowhere")
    command("report", float_run.folder, "-o", tmp_path / "a.svg")
    nibble.report(float_run.folder, out=tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_formats_are_measured(nibble, command, tmp_path):
    x = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    words = ("e4m3", "nf4", "--rounding", "stochastic", "--seed", 3)
    said = json.loads(command("formats", "--on", tmp_path / "x.npy", *words, "--json"))
    found = nibble.measure_formats(x, ["e4m3", nibble.Format("nf4")], rounding="stochastic", seed=3)
    assert found == {**said, "on": "array"} and [row["name"] for row in found["formats"]] == ["nf4", "e4m3"]
    assert nibble.measure_formats(tmp_path / "x.npy")["elements"] == x.size
    assert nibble.measure_formats("uniform", ["e4m3"]) == json.loads(command("formats", "--on", "uniform", "e4m3", "--json"))
    with pytest.raises(nibble.errors.UsageError, match="abacus"):
        nibble.measure_formats(x, ["abacus"])


def test_rescales_are_tables(nibble, quantized, quantized_path, float_run, command):
    said = command("describe", quantized_path, "--tables")
    found = nibble.rescale_tables(quantized)
    for table in found:
        assert re.search(rf"^{table['name']}: {table['low']} to {table['high']}(, scale .*, zero point {table['zero']})?$", said, re.M)
    rows = [line.split() for line in said.splitlines() if line.split()[:1] and (line.split()[0] == "all" or line.split()[0].isdigit())]
    shown = [each for table in found for each in zip(table["multipliers"], table["shifts"], table["factors"], strict=True)]
    assert [(int(row[1]), int(row[2])) for row in rows] == [each[:2] for each in shown]
    assert all(f"{factor:.9g}" == row[3] for row, (*_, factor) in zip(rows, shown, strict=True))
    with pytest.raises(nibble.errors.UsageError, match="a .nib model of integers"):
        nibble.rescale_tables(float_run.model)


def test_data_sets_are_exported(nibble, pictures, command, tmp_path):
    command("data", "export", "digits", "--out", tmp_path / "a")
    assert nibble.export_data("digits", out=tmp_path / "b") == {"train": 1437, "test": 360}
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.png"))
    assert files == sorted(path.relative_to(tmp_path / "b") for path in (tmp_path / "b").rglob("*.png"))
    assert len(files) == 1797 and all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in files)
    labels = np.arange(len(pictures)) % 2
    assert nibble.export_data((pictures, labels), out=tmp_path / "c") == {"train": len(pictures), "test": 0}
    again = nibble.dataset(tmp_path / "c")
    assert np.array_equal(again["x_train"], np.concatenate([pictures[labels == 0], pictures[labels == 1]]))
    with pytest.raises(nibble.Error, match=r"\["):
        nibble.export_data("digits", out=tmp_path / "a")


def test_models_are_tuned(nibble, quantized, tmp_path):
    tuning = nibble.tune(quantized, threads=1, rounds=1, output=tmp_path / "tuning.txt")
    lines = tuning.file.read_text().splitlines()
    assert lines[0].startswith("# nibble tuning of") and tuning.has_gain == (len(tuning.cuts) > 0)
    assert [f"{cut['shape']}: pixels {cut['pixels']}, outputs {cut['outputs']}" for cut in tuning.cuts] == lines[1:]
    assert (tuning.tuned_ms is None) == (tuning.usual_ms is None) == (tuning.runs == 0)
    if tuning.runs > 0:
        assert f"{tuning.tuned_ms:.4g} ms" in tuning.words and f"{tuning.usual_ms:.4g}" in tuning.words
    with pytest.raises(nibble.Error, match="rounds"):
        nibble.tune(quantized, rounds=0)


def test_onnx_is_written(quantized, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    quantized.to_onnx(tmp_path / "q.onnx")
    session = runtime.InferenceSession(str(tmp_path / "q.onnx"), providers=["CPUExecutionProvider"])
    assert session.run(None, {session.get_inputs()[0].name: np.zeros((1, 1, 8, 8), np.float32)})[0].shape == (1, 10)


def test_quantized_onnx_is_one_of_integers(nibble, quantized, has_loadgen, tmp_path):
    path = tmp_path / "q.onnx"
    quantized.to_onnx(path)
    x = np.random.default_rng(0).integers(-127, 128, (20, 8, 8, 1)).astype(np.int8)
    expected = nibble.Engine(quantized).run(x)
    for model in (path, nibble.load(path), nibble.convert(path)):
        assert np.array_equal(nibble.Engine(model).run(x), expected)
    assert not nibble.load(path).is_float and nibble.load(path).weights_hash == nibble.convert(path).weights_hash
    assert nibble.emit(path, tmp_path / "c").macs == 84224
    assert nibble.describe(path)["multiply_accumulates"] == 84224 and nibble.rescale_tables(path)
    if has_loadgen:
        assert nibble.loadgen(path, "digits", out=tmp_path / "run", seconds=0.05, threads=1).figures
    with pytest.raises(nibble.errors.InputError, match="got a model of integers, expected floats"):
        nibble.quantize_network(path, "digits", progress=False)
    with pytest.raises(nibble.Error, match="nowhere.onnx"):
        nibble.load(tmp_path / "nowhere.onnx")


def test_floats_of_onnx_stay_floats(nibble, quantized, tmp_path):
    onnx = pytest.importorskip("onnx")
    weight = onnx.numpy_helper.from_array(np.eye(4, 8, dtype=np.float32), "weight")
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, size]) for name, size in (("x", 8), ("y", 4))]
    node = onnx.helper.make_node("Gemm", ["x", "weight"], ["y"], transB=1)
    graph = onnx.helper.make_graph([node], "line", values[:1], values[1:], [weight])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)]), tmp_path / "f.onnx")
    assert nibble.load(tmp_path / "f.onnx").is_float
    with pytest.raises(nibble.Error, match="layers in floats"):
        nibble.Engine(tmp_path / "f.onnx")
    quantized.to_onnx(tmp_path / "q.onnx")
    model = onnx.load(tmp_path / "q.onnx")
    first = next(node for node in model.graph.node if node.op_type == "QuantizeLinear")
    reader = next(node for node in model.graph.node if first.output[0] in node.input)
    for node in model.graph.node:  # the picture is read as floats
        node.input[:] = [first.input[0] if name == reader.output[0] else name for name in node.input]
    onnx.save(model, tmp_path / "part.onnx")
    assert nibble.load(tmp_path / "part.onnx").is_float
    with pytest.raises(nibble.Error) as refused:
        nibble.Engine(tmp_path / "part.onnx")
    assert "\n" not in str(refused.value) and "nibble quantize" not in str(refused.value)


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
        nibble.sweep("mlp-64-32-10", [], data=data, epochs=1, out=tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()  # before the first run


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


def test_loadgen_takes_channels_first(nibble, quantized_path, monkeypatch, tmp_path):
    """By the model's shape, a path's as well."""
    seen = []

    def refuse(verb, model, options):
        seen.append(np.load(options["data"])["images"].shape)
        raise nibble.errors.UsageError("enough")

    monkeypatch.setattr(nibble.mlperf, "run_command", refuse)
    for model in (quantized_path, nibble.load(quantized_path)):
        with pytest.raises(nibble.errors.UsageError, match="enough"):
            nibble.loadgen(model, (np.zeros((3, 1, 8, 8), np.uint8), np.arange(3)), out=tmp_path)
    assert seen == [(3, 8, 8, 1)] * 2


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


def test_what_is_placed_may_be_an_object(nibble, float_run, monkeypatch, tmp_path):
    monkeypatch.setenv("NIBBLE_PLACEMENT", str(tmp_path / "costs.json"))
    network = nibble.Network("mine", input=(6,)).add("linear", name="fc", features=2).add("softmax_cross_entropy")
    data = np.zeros((20, 6), np.uint8), np.arange(20) % 2
    (tmp_path / "mine.toml").write_text(network.toml)
    np.savez(tmp_path / "mine.npz", images=data[0], labels=data[1])
    shown = lambda plan: [(unit["node"], unit["pass"]) for unit in plan["units"]]
    for what, images in ((network, data), (tmp_path / "mine.toml", tmp_path / "mine.npz"), (network, [data])):
        plan = nibble.place(what, data=images, batch=10, threads=1)
        assert plan["batch"] == 10 and ("fc", "weight_gradient") in shown(plan)
    how = {"data": "digits", "arith": "float", "threads": 1, "policy": {"weight": "e4m3"}, "from_": float_run}
    assert shown(nibble.place(float_run.model, **how)) == shown(nibble.place("convnet-8x8", **how))


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
