# SPDX-License-Identifier: Apache-2.0
"""The annotations and the stubs of the extension, checked by mypy."""

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import nibble

SETTINGS = Path(__file__).resolve().parents[2] / "pyproject.toml"
FOLDER = Path(nibble.__file__).parent
NETWORKS = (
    "catalog command conversion data engine evaluation exporting inspection limits mlperf model network options paths placement plot progress quantization ranks sweeping training"
).split()


def run(*arguments, folder):
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module", autouse=True)
def mypy():
    mypy = pytest.importorskip("mypy.version")
    if tuple(int(part) for part in mypy.__version__.split(".")[:2]) < (1, 8):
        pytest.skip("an old mypy")


def test_annotations_are_sound(tmp_path):
    has_networks = find_spec("nibble._networks") is not None
    modules = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", *(() if has_networks else NETWORKS)}
    names = [part for name in sorted(modules) for part in ("-m", f"nibble.{name}")] + ["-m", "nibble"]
    checked = run("mypy", "--config-file", str(SETTINGS), "--cache-dir", str(tmp_path), *names, folder=tmp_path)
    assert checked.returncode == 0, checked.stdout


def test_annotations_beside_torch_are_sound(tmp_path):
    version = ".".join(map(str, sys.version_info[:2]))
    options = ["--config-file", str(SETTINGS), "--python-version", version, "--cache-dir", str(tmp_path)]
    checked = run("mypy", *options, "-p", "nibble.torch", "-p", "nibble.qtorch", folder=tmp_path)
    assert checked.returncode == 0, checked.stdout


def names_of(body):
    """The functions, attributes and classes of a stub, members as Class.member."""
    for item in body:
        if isinstance(item, ast.ClassDef):
            yield item.name
            yield from (f"{item.name}.{member}" for member in names_of(item.body))
        elif isinstance(item, ast.FunctionDef):
            yield item.name
        elif isinstance(item, ast.AnnAssign):
            yield item.target.id


@pytest.mark.parametrize("name", ["_core", "_networks"])
def test_stubs_say_what_the_extension_has(name):
    module = pytest.importorskip(f"nibble.{name}")
    stub = Path(module.__file__).with_name(f"{name}.pyi")
    said = {name for name in names_of(ast.parse(stub.read_text()).body) if "__" not in name}
    had = {name for name in vars(module) if "__" not in name}
    for owner in [each for each in vars(module).values() if isinstance(each, type)]:
        had |= {f"{owner.__name__}.{name}" for name in vars(owner) if "__" not in name}
    assert said == had


def test_users_are_told_what_they_get(tmp_path):
    (tmp_path / "user.py").write_text(
        "import numpy as np\nimport nibble\n"
        "reveal_type(nibble.quantize(np.ones(3, np.float32), 'e4m3'))\n"
        "reveal_type(nibble.stats(1, 'e4m3').sqnr_db)\n"
        "nibble.quantize(1, 'e4m3', rounding=3)\n"
        "reveal_type(nibble.integers.SAFE_DEPTH)\n"
        "import nibble.torch as nt\n"
        "nt.quantizer('e4m3', hooks=3)\n"
        "nt.quantizer(['e4m3'])\n"
        "nibble.train('lenet', data='digits', lr='fast')\n"
        "nibble.train('lenet', data='digits', learning_rate=0.1)\n"
        "nibble.train('lenet', data='digits', lr=1, schedule='cosine', crop=4, flip=True, mu='5,4@100', round=['error=e5m2'])\n"
        "nibble.loadgen('model.nib', 'digits', out='run', scenario='Serve')\n"
        "nibble.tune('model.nib', threads='all')\n"
    )
    checked = run("mypy", "--cache-dir", str(tmp_path / "cache"), "user.py", folder=tmp_path)
    assert "ndarray" in checked.stdout and "float" in checked.stdout and 'type is "int"' in checked.stdout, checked.stdout
    assert 'Argument "rounding" to "quantize" has incompatible type' in checked.stdout, checked.stdout
    assert 'Argument "hooks" to "quantizer" has incompatible type' in checked.stdout, checked.stdout
    assert 'Argument 1 to "quantizer" has incompatible type' in checked.stdout, checked.stdout
    assert 'Argument "lr" to "train" has incompatible type "str"' in checked.stdout, checked.stdout
    assert 'Unexpected keyword argument "learning_rate" for "train"' in checked.stdout, checked.stdout
    assert 'Argument "scenario" to "loadgen" has incompatible type' in checked.stdout, checked.stdout
    assert 'Argument "threads" to "tune" has incompatible type "str"' in checked.stdout, checked.stdout
    assert "user.py:12" not in checked.stdout, checked.stdout  # the call of train that is right


MISSPELT = [
    "nibble.quantize_network('m.nib', 'digits', finetunes=1)",
    "nibble.sweep('lenet', ['e4m3'], out='sweep', epoch=1)",
    "nibble.load('m.nib').evaluate('digits', splits='test')",
    "nibble.load('m.nib').emit('c', prefixes='net')",
    "nibble.Run('run').evaluate('digits', thread=1)",
    "nibble.emit('lenet', 'c', train=True, train_step=2)",
    "nibble.preprocess('m.nib', 'pictures', out='tensors', skip_brokens=True)",
]
RIGHT = [
    "nibble.quantize_network('m.nib', 'digits', finetune=1, lr=0.1, flip=True)",
    "nibble.sweep('lenet', ['e4m3'], out='sweep', epochs=1, lr=0.1, data='digits')",
    "nibble.load('m.nib').evaluate('digits', split='test', policy={'activation': 'e2m1'})",
    "nibble.load('m.nib').emit('c', prefix='net', train=True, train_steps=2)",
    "nibble.Run('run').evaluate('digits', threads=1)",
    "nibble.emit('lenet', 'c', train=True, train_steps=2)",
    "nibble.preprocess('m.nib', 'pictures', out='tensors', skip_broken=True)",
]


def test_misspelt_options_are_refused(tmp_path):
    pytest.importorskip("nibble._networks")
    (tmp_path / "user.py").write_text("\n".join(["import nibble", *MISSPELT, *RIGHT, ""]))
    checked = run("mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "user.py", folder=tmp_path)
    complaints = [line for line in checked.stdout.splitlines() if ": error: " in line]
    assert [line.split(":")[1] for line in complaints] == [str(2 + i) for i in range(len(MISSPELT))], checked.stdout
    assert all("Unexpected keyword argument" in line for line in complaints), checked.stdout


def test_the_marker_is_there():
    assert (FOLDER / "py.typed").exists()


def test_every_error_is_nibbles():
    """KeyError of mappings, AttributeError of the module and what subclasses must write aside."""
    bare = {"Exception", "OSError", "RuntimeError", "TypeError", "ValueError"}
    for file in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            raised = node.exc.func if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) else None
            assert not (isinstance(raised, ast.Name) and raised.id in bare), f"{file.name}, line {node.lineno}: {raised.id}"
