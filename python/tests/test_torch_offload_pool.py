# SPDX-License-Identifier: Apache-2.0
"""The pool computes and copies behind the host's back: nothing is read before it is there nor written to too early."""

import multiprocessing
import threading
import time

import pytest

torch = pytest.importorskip("torch")

import nibble.torch as nt
from nibble.torch.offloading import PoolBackend
from nibble.torch.offloading.pool import Lane
from torch import nn
from torch_offloaded import Far, convolution, gradients, small_network, train

WIRES = ["fp32", "fp16", "int8"]
LATE = {"products": (3e-3, 0.0), "fetches": (0.0, 3e-3)}  # seconds that the lanes wait before every work


class LateLane(Lane):
    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def _run(self, work, arguments):
        time.sleep(self.seconds)
        return super()._run(work, arguments)


class LatePool(PoolBackend):
    """Each lane waits before its works, so that the host is always ahead; memory is full of what is wrong until it is written."""

    def __init__(self, late):
        self.seconds = iter(LATE[late])
        super().__init__()

    def make_lane(self, threads=None):
        return LateLane(next(self.seconds))

    def memory(self, shape, dtype):
        return torch.full(shape, float("nan") if dtype.is_floating_point else 99, dtype=dtype)


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("wire", WIRES)
def test_the_callers_memory_is_the_callers_again(late, wire):
    """All that a pass was given is overwritten as soon as it returns."""
    x, error = torch.randn(2, 4, 9, 8), torch.randn(2, 8, 5, 4)
    geometry = dict(stride=2, padding=1, wire=wire)
    expected = gradients(convolution(accelerator=Far(), **geometry), x, error)
    layer = convolution(accelerator=LatePool(late), **geometry)
    x.requires_grad_()
    y = layer(x)
    values = y.detach().clone()
    for given in (x, y, *layer.parameters()):
        given.data.fill_(float("nan"))
    y.backward(error)
    error.fill_(float("nan"))
    found = [values, x.grad, layer.weight.grad, layer.bias.grad]
    assert all(map(torch.equal, found, expected))


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("wire", WIRES)
def test_training_on_late_threads_has_the_bits_of_a_prompt_device(late, wire):
    """The optimizer writes to the weights as soon as their gradients are there."""
    optimizer = lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)
    prompt, tardy = (train(nt.offload(small_network(), device, wire=wire), optimizer) for device in (Far(), LatePool(late)))
    assert all(map(torch.equal, prompt.state_dict().values(), tardy.state_dict().values()))


def test_the_host_goes_on():
    pool, go = PoolBackend(), threading.Event()
    waits = [pool.ask(lambda: go.wait(60))]
    there = pool.send(torch.ones(3))
    waits.append(pool.ask(lambda: pool.fetch(there + 1)))
    go.set()  # which would come too late where a call waits
    assert waits[0]() and torch.equal(waits[1]()()[0], torch.full((3,), 2.0))


def test_the_gradient_of_the_input_comes_back_while_that_of_the_weight_is_made():
    class Watching(PoolBackend):
        is_back = threading.Event()

        def _copies(self, tensors):
            found = super()._copies(tensors)
            if self.is_watching:
                self.is_back.set()
            return found

        def backward(self, product, error, x, weight, mask):
            if mask[1]:
                assert not mask[0] and self.is_back.wait(60)
            return super().backward(product, error, x, weight, mask)

    layer = convolution(accelerator=Watching(), wire="fp32")
    layer.site.backend.is_watching = False
    y = layer(torch.randn(2, 4, 8, 8, requires_grad=True))
    layer.site.backend.is_watching = True
    y.sum().backward()
    assert layer.weight.grad.abs().sum() > 0


def test_errors_of_the_threads_are_the_callers():
    layer = convolution(accelerator="pool", wire="int8")
    with pytest.raises(RuntimeError, match="channels"):
        layer(torch.randn(2, 3, 8, 8))
    assert layer(torch.randn(2, 4, 8, 8)).shape == (2, 8, 6, 6)
    pool = PoolBackend()
    there = pool.send(torch.eye(3).to_sparse())
    with pytest.raises(RuntimeError, match="sparse"):
        pool.ask(lambda: there + 1, there)()
    assert pool.ask(lambda: 1)() == 1


def test_threads_of_a_product():
    pool, usual = PoolBackend("pool:3"), torch.get_num_threads()
    assert pool.ask(torch.get_num_threads)() == 3
    later = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert later == [usual] == [torch.get_num_threads()] == [PoolBackend().ask(torch.get_num_threads)()]
    for device in ("pool:", "pool:0", "pool:-1", "pool:two"):
        with pytest.raises(ValueError, match=f"got '{device}', expected 'pool' or"):
            PoolBackend(device)


def test_a_forked_process_has_threads_of_its_own():
    layer = nt.OffloadLinear(4, 2, accelerator="pool")
    layer(torch.ones(2, 4))
    child = multiprocessing.get_context("fork").Process(target=lambda: layer(torch.ones(2, 4)))
    child.start()
    child.join(60)
    is_done = child.exitcode == 0
    child.kill()
    assert is_done


def test_threads_end_with_their_pool():
    def lanes():
        return [thread for thread in threading.enumerate() if thread.name.startswith("nibble-pool")]

    before = lanes()
    layer = nt.offload(nn.Linear(4, 2), PoolBackend())
    layer(torch.ones(2, 4))
    own = [thread for thread in lanes() if thread not in before]
    assert len(own) == 2
    del layer
    for thread in own:
        thread.join(60)
    assert not any(thread.is_alive() for thread in own)
