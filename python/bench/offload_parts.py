# SPDX-License-Identifier: Apache-2.0
"""Where the time of a step goes, for `offload.py --parts`: what the host does for offloaded layers, part by part.

A step stands twice: as it runs, where a part is what asking for it takes and "wait" all that the device makes the host wait
for; and with every part waited for, where its own time shows. What is left is the model's: batch norms, rectifiers, the loss
and the optimizer.
"""

from __future__ import annotations

import functools
import statistics
import threading
import time
from collections import defaultdict
from contextlib import contextmanager

import torch

from nibble.torch.offloading import passes, wire
from nibble.torch.offloading.backend import backend_of

REST = "python"  # of the passes: all that no part is
PARTS = ("pack", "send", "operands", "products", "pack there", "fetch", "wait", "unpack", REST)
WARM = 3


class PartsClock:
    """Seconds by part; one that is called inside another is not the other's. Other threads' are not the host's."""

    def __init__(self) -> None:
        self.seconds: dict = defaultdict(float)
        self.open = []  # since when each has run, without those inside
        self.waits = False

    @contextmanager
    def part(self, name: str):
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        now = self._now()
        if self.open:
            outer, since = self.open[-1]
            self.seconds[outer] += now - since
        self.open.append((name, now))
        try:
            yield
        finally:
            now = self._now()
            _, since = self.open.pop()
            self.seconds[name] += now - since
            if self.open:
                self.open[-1] = (self.open[-1][0], now)

    def _now(self) -> float:
        if self.waits:
            torch.cuda.synchronize()
        return time.perf_counter()

    def timed(self, function, name):
        """`name`: of the part, or a function of the arguments that tells it."""

        @functools.wraps(function)
        def run(*arguments, **words):
            with self.part(name if isinstance(name, str) else name(*arguments)):
                return function(*arguments, **words)

        return run


@contextmanager
def clocked(device: str, clock: PartsClock):
    """The layers' own functions, with a clock around them."""
    backend = backend_of(device)

    def begins(name, part):
        def begin(*arguments):
            with clock.part(part):
                wait = getattr(type(backend), name)(backend, *arguments)
            return clock.timed(wait, "wait")

        return begin

    where = lambda self, x, *rest: "pack" if x.device.type == "cpu" else "pack there"
    parts = [(wire.Wire, "pack", where), (wire.Parcel, "operand", "operands"), (wire.Parcel, "unpacked", "unpack")]
    parts += [(backend, "send", "send"), (backend, "forward", "products"), (backend, "backward", "products")]
    kept = [(owner, name, vars(owner).get(name)) for owner, name, _ in parts]
    functions = passes._PlainPass, passes._PackedPass
    directions = [(function, name, vars(function)[name]) for function in functions for name in ("forward", "backward")]
    for owner, name, part in parts:
        setattr(owner, name, clock.timed(getattr(owner, name), part))
    for function, name, own in directions:
        setattr(function, name, staticmethod(clock.timed(own.__func__, REST)))
    backend.fetch, backend.ask = begins("fetch", "fetch"), begins("ask", REST)
    try:
        yield
    finally:
        del backend.fetch, backend.ask
        for function, name, own in directions:
            setattr(function, name, own)
        for owner, name, own in kept:
            if own is None:
                delattr(owner, name)
            else:
                setattr(owner, name, own)


def print_parts(device: str, turns: int, steps: dict) -> None:
    """`steps` by name, each of which gives the seconds that one takes."""
    print(f"milliseconds of a step, means of {turns}; products on {device}")
    print(f"{'wire':8}{'':8}{'step':>8}{'model':>8}" + "".join(f"{part:>11}" for part in PARTS))
    for name, step in steps.items():
        for waits in (False, True) if backend_of(device).device.type == "cuda" and name != "plain" else (False,):
            clock = PartsClock()
            with clocked(device, clock):
                for _ in range(WARM):
                    step()
                clock.seconds.clear()
                clock.waits = waits
                whole = statistics.fmean(step() for _ in range(turns))
            means = {part: clock.seconds[part] / turns for part in PARTS}
            row = [whole, whole - sum(means.values())]
            shown = "".join(f"{1e3 * value:8.2f}" for value in row) + "".join(f"{1e3 * means[p]:11.3f}" for p in PARTS)
            print(f"{name:8}{'waited' if waits else 'as is':8}{shown}", flush=True)
