# SPDX-License-Identifier: Apache-2.0
"""What a process of its own says is what a call in this one would say: classes of errors, and the command beside them."""

import os
import subprocess

import numpy as np
import pytest

NO_GPU = "cuda:99"  # wherever the tests run


def test_a_gpu_that_is_not_there_is_one_class_of_error(nibble, quantized, quantized_path, tmp_path):
    integers = {"data": "digits", "arith": "int8", "epochs": 1, "progress": False, "out": tmp_path / "run"}
    for call in (lambda: nibble.Engine(quantized, device=NO_GPU),  # in this process
                 lambda: nibble.evaluate(quantized, "digits", device=NO_GPU),
                 lambda: nibble.train("mlp-64-32-10", device=NO_GPU, **integers),
                 lambda: nibble.signature(NO_GPU),  # by the command
                 lambda: nibble.signatures(NO_GPU),
                 lambda: nibble.tune(quantized_path, device=NO_GPU),
                 lambda: nibble.place("mlp-64-32-10", data="digits", place=f"auto(cpu,{NO_GPU})"),
                 lambda: nibble.train("mlp-64-32-10", ranks=2, device=NO_GPU, **integers)):
        with pytest.raises(nibble.errors.DeviceError, match=r"^\[\w+\] .*: got .*, expected ") as caught:
            call()
        assert "\n" not in str(caught.value)


def test_loadgen_without_its_gpu(nibble, has_loadgen, quantized, tmp_path):
    if not has_loadgen:
        pytest.skip("this build has no LoadGen")
    with pytest.raises(nibble.errors.DeviceError):
        nibble.loadgen(quantized, "digits", out=tmp_path / "gpu", device=NO_GPU)
    how = {"out": tmp_path / "run", "seconds": 0.01, "threads": 1}
    nibble.loadgen(quantized, "digits", **how)
    with pytest.raises(nibble.errors.UsageError, match="holds a run"):  # not the figures of the run before
        nibble.loadgen(quantized, "digits", **how)


def test_the_command_fails_in_the_class_of_the_call(nibble, quantized_path, tmp_path):
    (tmp_path / "broken.nib").write_bytes(quantized_path.read_bytes()[:100])
    (tmp_path / "text.toml").write_text("layers = 3\n")
    integers = {"data": "nowhere", "arith": "int8", "out": tmp_path / "run", "progress": False}
    known = []
    for here, there in [
        (lambda: nibble.load(tmp_path / "broken.nib"), lambda: nibble.describe(tmp_path / "broken.nib")),
        (lambda: nibble.load(tmp_path / "none.nib"), lambda: nibble.describe(tmp_path / "none.nib")),
        (lambda: nibble.load(tmp_path / "none.nib"), lambda: nibble.tune(tmp_path / "none.nib")),
        (lambda: nibble.Network.from_toml("layers = 3\n"), lambda: nibble.describe(tmp_path / "text.toml")),
        (lambda: nibble.train("mlp-64-32-10", **integers), lambda: nibble.train("mlp-64-32-10", ranks=2, **integers)),
    ]:
        with pytest.raises(nibble.Error) as caught:
            here()
        with pytest.raises(nibble.Error) as said:
            there()
        assert type(caught.value) is type(said.value), (caught.value, said.value)
        known.append(type(said.value).__name__)
    assert {"InputError", "PlatformError"} <= set(known)


def test_other_kinds(nibble, quantized_path):
    from nibble.command import error_of

    errors = nibble.errors
    with pytest.raises(errors.LimitError, match="limit 'nodes'"):
        nibble.tune(quantized_path, limits="nodes=1")
    with pytest.raises(errors.UsageError, match=r"\[data\] data set: got 'nowhere'"):
        nibble.check_data("nowhere")
    with pytest.raises(errors.UsageError, match="rounds"):
        nibble.tune(quantized_path, rounds=0)
    with pytest.raises(errors.PlatformError, match="end by signal 9"):
        raise error_of(-9, "")
    with pytest.raises(errors.InternalError, match="terminate called"):
        raise error_of(1, "terminate called after an exception\n")
    with pytest.raises(KeyboardInterrupt, match="interrupted"):
        raise error_of(130, "nibble: interrupted\n")


def test_the_kind_is_told_to_those_who_ask(nibble):
    from nibble.program import PROGRAM

    def complaint(**variables):
        words = [PROGRAM, "signature", "--device", NO_GPU]
        environment = {name: value for name, value in os.environ.items() if name != "NIBBLE_ERRORS"}
        done = subprocess.run(words, capture_output=True, text=True, env={**environment, **variables})
        assert done.returncode == 1 and done.stdout == ""
        return done.stderr

    plain = complaint()
    assert plain.startswith("nibble: [") and plain.count("\n") == 1
    assert complaint(NIBBLE_ERRORS="no") == plain
    assert complaint(NIBBLE_ERRORS="kind") == plain.replace("nibble: [", "nibble: device: [")


def test_options_are_words(nibble, pictures, tmp_path):
    """An object whose text says nothing is no option."""
    from nibble.options import as_words

    for call in (lambda: nibble.place("mlp-64-32-10", data="digits", batch=pictures),
                 lambda: nibble.train("mlp-64-32-10", data="digits", lr=[pictures], out=tmp_path / "run", progress=False),
                 lambda: nibble.tune(object()),
                 lambda: nibble.place({"layers": []}, data="digits"),
                 lambda: nibble.place("mlp-64-32-10", data=object())):
        with pytest.raises(nibble.errors.ArgumentTypeError, match="got an object of type"):
            call()
    assert as_words({"lr": np.float32(0.5), "epochs": np.int64(3), "to": nibble.Format("e4m3")}) == [
        "--lr", "0.5", "--epochs", "3", "--to", "e4m3"]  # fmt: skip
