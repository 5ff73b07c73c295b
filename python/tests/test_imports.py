# SPDX-License-Identifier: Apache-2.0
"""The extensions get along with those of other packages, whichever is loaded first."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import nibble

EXTENSIONS = sorted(Path(nibble.__file__).parent.glob("_*.so"))
USE = "x = torch.full((1000,), 1.3); assert nibble.quantize(x, 'e4m3')[0] == 1.25"


def run(program):
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
@pytest.mark.parametrize("imports", ["nibble, torch", "torch, nibble", "nibble.torch"])
def test_any_package_may_come_first(imports):
    run(f"import {imports}; import nibble, torch; {USE}; print(torch.ops.aten.add)")


def test_modules_come_when_they_are_asked_for():
    run("import nibble, sys; nibble.integers.matmul; assert not {'torch', 'nibble._networks'} & {*sys.modules}")


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_modules_beside_torch_come_when_they_are_asked_for():
    run("import nibble, sys; dir(nibble); assert 'torch' not in sys.modules; nibble.torch.lower; nibble.qtorch.quant")


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs binutils")
@pytest.mark.parametrize("path", EXTENSIONS, ids=lambda path: path.name.split(".")[0])
def test_an_extension_shows_its_entry_alone(path):
    told = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in told.splitlines()] == [f"PyInit_{path.name.split('.')[0]}"]
