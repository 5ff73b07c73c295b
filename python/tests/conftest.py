# SPDX-License-Identifier: Apache-2.0
"""Small models that several tests use, made once; and the same draws in every run of the tests."""

import contextlib
import os
import subprocess

import numpy as np
import pytest

with contextlib.suppress(ImportError):  # tests that need it skip themselves
    from hypothesis import settings

    settings.register_profile("same draws", derandomize=True)
    settings.load_profile("same draws")


@pytest.fixture(scope="session")
def command():
    """Runs the nibble command of this build and gives its standard output."""
    program = os.environ.get("NIBBLE_BIN")
    if program is None:
        pytest.skip("NIBBLE_BIN names no command")

    def run(*arguments):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def nibble():
    """The package with its networks; a build of formats alone has none."""
    pytest.importorskip("nibble._networks")
    import nibble

    return nibble


@pytest.fixture(scope="session")
def workspace(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def float_run(nibble, workspace):
    """A convnet on the bundled digits, in floats."""
    return nibble.train("convnet-8x8", data="digits", epochs=3, out=workspace / "float", progress=False)


@pytest.fixture(scope="session")
def quantized(nibble, float_run):
    return nibble.quantize_network(float_run.folder / "model.nib", "digits", samples=256, progress=False)


@pytest.fixture(scope="session")
def quantized_path(quantized, workspace):
    path = workspace / "quantized.nib"
    quantized.save(path)
    return path


@pytest.fixture(scope="session")
def has_loadgen(nibble, quantized, workspace):
    """Whether the command was built with it."""
    try:
        nibble.loadgen(quantized, "digits", out=workspace / "loadgen", seconds=0.01, threads=1)
    except nibble.Error as error:
        if "this build has no LoadGen" not in str(error):
            raise
        return False
    return True


@pytest.fixture(scope="session")
def pictures():
    return np.random.default_rng(3).integers(0, 17, (20, 8, 8, 1)).astype(np.uint8)
