# SPDX-License-Identifier: Apache-2.0
"""The examples of the guides give what they say."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
in_the_tree = pytest.mark.skipif(not DOCS.exists(), reason="the tests stand outside of the tree")


def run_examples(page, least):
    text = (DOCS / page).read_text(encoding="utf-8").replace("```", "\n")  # a fence would count as output
    guide = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    failed, tried = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(guide)
    assert tried > least and failed == 0


@in_the_tree
def test_examples():
    run_examples("python.md", 15)


@in_the_tree
def test_examples_of_networks(nibble):
    run_examples("python-networks.md", 20)


@in_the_tree
def test_examples_of_torch(nibble):
    pytest.importorskip("torch")
    run_examples("torch.md", 20)


def run_blocks(page, known):
    """Blocks of Python without a prompt, one after the other; `known` is what the text takes for granted."""
    blocks = re.findall(r"^```python\n(?!>>> )(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S)
    for block in blocks:
        exec(compile(block, page, "exec"), known)
    return blocks


@in_the_tree
def test_engines_in_graphs(nibble, quantized, monkeypatch, tmp_path):
    torch = pytest.importorskip("torch")
    from nibble.torch import EngineModule, ops

    if not ops.HAS_OPS:
        pytest.skip("torch before 2.5 registers no operations")
    monkeypatch.chdir(tmp_path)
    known = {"torch": torch, "nn": torch.nn, "engine": EngineModule(quantized), "x": torch.randn(4, 1, 8, 8)}
    assert len(run_blocks("torch.md", known)) == 1
    for x in (known["x"], torch.randn(7, 1, 8, 8)):
        assert all(torch.allclose(known[name](x), known["pipeline"](x)) for name in ("compiled", "loaded"))


@in_the_tree
def test_no_page_installs_by_name():
    """The name is not registered: whoever takes it would be installed."""
    pages = [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]
    pages += [each for ending in ("py", "ipynb") for each in (DOCS.parent / "python").rglob(f"*.{ending}")]
    named = re.compile(r"pip install[^`\n]* ['\"]?nibble(-nn)?(-cuda)?(\[|['\"]?\s|`)")
    assert named.search("pip install 'nibble-nn[plot]'") and len(pages) > 100
    found = [str(page) for page in pages if page != Path(__file__) and named.search(page.read_text(encoding="utf-8"))]
    assert found == []


@in_the_tree
def test_the_first_page():
    known = {}
    assert len(run_blocks("../README.md", known)) == 1
    assert known["nibble"].quantize(known["x"], "e4m3").tolist() == [0.1015625, 3.25, -448]


@in_the_tree
def test_coming_from_qpytorch():
    torch = pytest.importorskip("torch")
    from nibble import qtorch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.fc = torch.nn.Conv2d(1, 2, 3), torch.nn.Linear(2, 2)

    e5m2, e6m9 = (qtorch.quant.quantizer(forward_number=qtorch.FloatingPoint(*bits)) for bits in ((5, 2), (6, 9)))
    known = {"torch": torch, "model": Model(), "SGD": torch.optim.SGD, "OptimLP": qtorch.optim.OptimLP, "e5m2": e5m2}
    known |= {"e6m9": e6m9, "FloatingPoint": qtorch.FloatingPoint, "Quantizer": qtorch.quant.Quantizer}
    known |= {"criterion": torch.nn.MSELoss(), "output": torch.ones(2), "target": torch.zeros(2)}
    assert len(run_blocks("from-qpytorch.md", known)) == 4
    assert known["loss"] == 1000 and torch.is_tensor(known["quant"]()(torch.ones(2)))


@in_the_tree
def test_public_weights_become_arrays(monkeypatch, tmp_path):
    """Of a small file with names and kinds as those of the public one."""
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    weights = {"module.conv1.weight": torch.nn.Parameter(torch.ones(2, 3)), "module.bn1.running_mean": torch.zeros(2)}
    torch.save({"state_dict": weights}, "resnet20-12fca82f.th")
    assert len(run_blocks("integer-training.md", {})) == 1
    found = np.load("resnet20.npz")
    assert set(found) == set(weights) and (found["module.conv1.weight"] == 1).all()


@in_the_tree
def test_model_files_are_safetensors(nibble, float_run, monkeypatch, capsys):
    pytest.importorskip("safetensors")
    monkeypatch.chdir(float_run.folder)
    assert len(run_blocks("networks.md", {})) == 1 and "conv1" in capsys.readouterr().out
