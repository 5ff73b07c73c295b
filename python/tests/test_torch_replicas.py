# SPDX-License-Identifier: Apache-2.0
"""Modules on several threads, as DataParallel runs them: draws do not depend on which thread is first."""

import copy
import threading
import time

import pytest

torch = pytest.importorskip("torch")

import nibble.torch as nt
from torch import nn
from torch_devices import same_bits


def replicas_of(model, count):
    """What torch.nn.parallel.replicate does to modules, which it offers for GPUs alone; parameters are shared."""
    modules = list(model.modules())
    copies = [{m: m._replicate_for_data_parallel() for m in modules} for _ in range(count)]
    for made in copies:
        for module, replica in made.items():
            for name, child in module._modules.items():
                replica._modules[name] = made.get(child)
                setattr(replica, name, made.get(child))
            for name, parameter in module._parameters.items():
                setattr(replica, name, None if parameter is None else parameter.view_as(parameter))
    return [made[model] for made in copies]


def in_threads(works):
    results = [None] * len(works)

    def run(i):
        results[i] = works[i]()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Late(nn.Module):
    """Changes which thread comes first."""

    def __init__(self):
        super().__init__()
        self.seconds = 0

    def forward(self, x):
        time.sleep(self.seconds)
        return x


def model(**options):
    torch.manual_seed(1)
    layers = nn.Sequential(Late(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8))
    layers.append(nt.Quantizer("fixed(8,5)", "fixed(8,5)", "stochastic", "stochastic", seed=9, stream=77))
    return nt.lower(layers, "fixed(8,4)", "fixed(8,4)", "fixed(8,6)", "fixed(8,6)", rounding="stochastic", **options)


@pytest.mark.parametrize("late", [0, 1, 2])
def test_replicas_draw_what_the_module_would(late):
    network = model(seed=3)
    parts = torch.randn(3, 4, 16)
    for _ in range(3):
        expected = [copy.deepcopy(network)(part) for part in parts]
        copies = replicas_of(network, 3)
        copies[late][0].seconds = 0.05
        results = in_threads([lambda i=i: copies[i](parts[i]) for i in range(3)])
        assert all(map(same_bits, results, expected))
    assert network.state_dict()["4.step"].item() == 3  # one more a batch, as on one device


def test_gradients_are_those_of_the_parts():
    network = model(seed=3)
    alone = copy.deepcopy(network)
    parts = torch.randn(2, 4, 16)
    copies = replicas_of(network, 2)
    torch.cat(in_threads([lambda i=i: copies[i](parts[i]) for i in range(2)])).sum().backward()
    for one, other in zip((copy.deepcopy(alone), copy.deepcopy(alone)), parts):
        one(other).sum().backward()
        for expected, parameter in zip(one.parameters(), alone.parameters()):
            parameter.grad = expected.grad if parameter.grad is None else parameter.grad + expected.grad
    for expected, parameter in zip(alone.parameters(), network.parameters()):
        assert torch.equal(expected.grad, parameter.grad)


def test_torchs_generator_repeats_them():
    network = model(seed=None)
    parts = torch.randn(2, 4, 16)

    def run(late):
        torch.manual_seed(7)
        copies = replicas_of(network, 2)
        copies[late][0].seconds = 0.05
        return in_threads([lambda i=i: copies[i](parts[i]) for i in range(2)])

    assert all(map(same_bits, run(0), run(1)))


def test_nothing_is_drawn_for_nearest_rounding():
    network = nn.Sequential(nt.Quantizer("e4m3", seed=None))
    torch.manual_seed(7)
    before = torch.get_rng_state()
    replicas_of(network, 4)
    assert torch.equal(torch.get_rng_state(), before)


def test_no_step_is_used_twice():
    q = nt.Quantizer("fixed(8,4)", forward_rounding="stochastic")
    steps = in_threads([lambda: [q.draws.next().step for _ in range(2000)] for _ in range(8)])
    assert sorted(sum(steps, [])) == list(range(16000))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_torch_replicates_so():
    network = model(seed=3).cuda()
    parts = torch.randn(2, 4, 16, device="cuda")
    expected = [copy.deepcopy(network)(part) for part in parts]
    devices = list(range(torch.cuda.device_count()))[:2]
    copies = torch.nn.parallel.replicate(network, devices)
    inputs = [part.to(f"cuda:{device}") for part, device in zip(parts, devices)]
    results = torch.nn.parallel.parallel_apply(copies, [(x,) for x in inputs], devices=devices)
    assert all(map(same_bits, results, expected))
