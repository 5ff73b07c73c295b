# SPDX-License-Identifier: Apache-2.0
"""Threads of the CPU in the place of an accelerator: they have memory of their own and work while the host goes on, as a GPU does,
so that tests on them find what would go wrong on a GPU.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Optional, Sequence, Tuple

import torch

from ...errors import UsageError
from .backend import Backend, register_backend


class Lane:
    """A thread that does one work after the other in the order in which they are asked for, as a stream of a GPU does."""

    def __init__(self, threads: Optional[int] = None) -> None:
        self._thread = ThreadPoolExecutor(1, "nibble-pool", _compute_by, (threads,))

    def do(self, work: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
        """Returns at once; the result waits for what the work gives, a given number of seconds or until it is there, and
        raises what the work raised.
        """
        return self._thread.submit(self._run, work, arguments).result

    def _run(self, work: Callable[..., Any], arguments: Tuple[Any, ...]) -> Any:
        return work(*arguments)


def _compute_by(threads: Optional[int]) -> None:
    """Torch's threads for products of the calling thread. Threads that start later would get this number as well, so that
    another thread sets theirs back.
    """
    usual = torch.get_num_threads()  # without this call a new thread has as many as there are cores
    if threads is not None:
        torch.set_num_threads(threads)
        restoring = threading.Thread(target=torch.set_num_threads, args=(usual,))
        restoring.start()
        restoring.join()


class PoolBackend(Backend):
    """A lane for what is sent and for products, one for what is fetched; "pool:4" has four of torch's threads for a product."""

    runs_ahead = True
    make_lane = Lane

    def __init__(self, device: str = "pool") -> None:
        threads = device.partition(":")[2]
        if ":" in device and not (threads.isdecimal() and int(threads) > 0):
            raise UsageError(f"device: got {device!r}, expected 'pool' or, for four threads, 'pool:4'")
        self.threads = int(threads) if threads else None
        self._begin()
        os.register_at_fork(after_in_child=functools.partial(_begin_again, weakref.ref(self)))

    def _begin(self) -> None:
        self._computing, self._outward = self.make_lane(self.threads), self.make_lane(1)

    def send(self, tensor: torch.Tensor) -> torch.Tensor:
        """Memory that is written to before anything that is asked for later."""
        with torch.inference_mode(False):  # in which another thread could not write there
            there: Any = self.memory(tensor.shape, tensor.dtype)
        there.written = self._computing.do(_write, there, tensor)  # raises for those alone who compute with this memory
        return there

    def ask(self, work: Callable[[], Any], *sent: Optional[torch.Tensor]) -> Callable[[], Any]:
        return self._computing.do(_compute_with, work, sent)

    def fetch(self, *tensors: Optional[torch.Tensor]) -> Callable[[], Tuple[Any, ...]]:
        return self._outward.do(self._copies, tensors)

    def _copies(self, tensors: Tuple[Optional[torch.Tensor], ...]) -> Tuple[Any, ...]:
        return tuple(None if each is None else self.memory(each.shape, each.dtype).copy_(each) for each in tensors)


def _write(there: torch.Tensor, tensor: torch.Tensor) -> None:
    there.copy_(tensor)


def _compute_with(work: Callable[[], Any], sent: Sequence[Any]) -> Any:
    for tensor in sent:
        if tensor is not None:
            tensor.written(0)  # which had its turn before
    return work()


def _begin_again(pool: Callable[[], Optional[PoolBackend]]) -> None:
    """A forked process has no thread but the one that forked."""
    found = pool()
    if found is not None:
        found._begin()


register_backend("pool", PoolBackend)
