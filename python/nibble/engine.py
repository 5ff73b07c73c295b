# SPDX-License-Identifier: Apache-2.0
"""The integer engine: load a model once, run batches from any number of threads."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
from collections.abc import Generator, Iterable
from concurrent.futures import Future
from typing import Any, NamedTuple

from nibble import _networks
from nibble.arguments import as_count, as_file, as_flag, as_list, as_number, as_text
from nibble.model import Model, Path, opened_to_run

MOST_THREADS = (1 << 31) - 1
atexit.register(_networks.wait_for_submitted)


class Value(NamedTuple):
    """One example of what enters or leaves an engine, dense, row-major."""

    name: str  # of the layer
    shape: tuple[int, ...]
    dtype: str  # int8, uint8 or int32: the smallest that holds every possible value
    low: int  # of all values, proven
    high: int
    zero: int  # what lies in memory is value + zero


class Step(NamedTuple):
    """What an engine runs as one."""

    name: str  # of the layer whose value it gives
    kind: str  # "conv2d 3x3/2 + add + rescale", "max_pool", …
    shape: str  # of a product: what its speed depends on
    macs: int  # multiply-accumulates of one example
    is_wide: bool  # 64 bits where 32 cannot be proven enough


class Pending(Future[Any]):
    """A batch on its way: a future for threads, and what ``await`` takes in asyncio."""

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.wrap_future(self).__await__()


class Engine(_networks.Engine):
    """Runs a model of integers.

    device: "cpu", "cuda" or "cuda:1" (a GPU), "reference" (the definitions) or "check(cpu,reference)" (both, an error at the
    first difference).
    threads: of one run; None: all cores. max_batch: examples that run at a time, larger batches in pieces; None: the
    engine grows by fours: the first larger batch waits until it is made anew, up to where its device gains no more (256 on a
    GPU; on a CPU four, or two a thread). lanes: submitted batches that run at a time. unpacked: 4-bit weights and values lie
    in bytes, twice as large (True), or in halves of bytes (False); None: whichever is faster on this CPU, bytes where AMX
    multiplies. On a GPU they lie in bytes.

    ``run(x, out=None)`` gives the integers that the network answers with, ``answers(x)`` the real numbers that they
    stand for. x is a NumPy array, a torch tensor or anything with ``__dlpack__``: one example or a batch, with channels
    last (or first, where only that fits). Integers of the input's type enter as they lie in memory, without a copy;
    other integers are checked and copied; uint8 are bytes of pictures unless the network takes uint8; floats of any width are
    real numbers, rounded as the network says. The result is of x's kind. While an engine runs, other Python threads go on.
    Engines on a GPU take arrays of the host and of that GPU; tensors there get their answers there.

    >>> engine = nibble.Engine(digits_model)
    >>> engine.inputs[0].shape, engine.outputs[0].shape
    ((8, 8, 1), (10,))
    >>> engine.run(np.zeros((3, 8, 8, 1), np.uint8)).shape
    (3, 10)
    """

    def __init__(
        self,
        model: Model | Path,
        *,
        device: str = "cpu",
        threads: int | None = None,
        max_batch: int | None = None,
        lanes: int = 1,
        unpacked: bool | None = None,
    ) -> None:
        where = as_text("engine", "device", device)
        count = as_count("engine", "threads", 0 if threads is None else threads, MOST_THREADS)
        at_once = as_count("engine", "lanes", lanes, MOST_THREADS)
        in_bytes = None if unpacked is None else as_flag("engine", "unpacked", unpacked)
        most = None if max_batch is None else as_count("engine", "max_batch", max_batch)
        self._usual_batch = most or 1
        self._model = opened_to_run(model)
        super().__init__(self._model._core, where, count, most, False, at_once, in_bytes)

    @property
    def inputs(self) -> tuple[Value, ...]:
        """What enters; networks have one input."""
        return (Value(*self.input),)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """What leaves; networks have one output."""
        return (Value(*self.output),)

    @property
    def classes(self) -> list[str]:
        """Names of the answers; empty where they have none."""
        return self._model.classes

    def layers(self) -> list[Step]:
        """The steps that run.

        >>> nibble.Engine(digits_model).layers()[-1].macs
        1280
        """
        return [Step(*row) for row in self.steps()]

    def values(self, x: Any) -> dict[str, Any]:
        """The integers of every layer by its name, as an engine that fuses nothing has them.

        Of an array that does not say its shape, at most max_batch examples; one, where it is None.

        >>> values = nibble.Engine(digits_model).values(np.zeros((2, 8, 8, 1), np.uint8))
        >>> values["conv1"].shape
        (2, 8, 8, 16)
        """
        shape = getattr(x, "shape", ())
        batch = max(1, shape[0]) if isinstance(shape, tuple) and len(shape) > 0 else self._usual_batch
        return _networks.Engine(self._model._core, self.device, self.threads, batch, True, 1, None).layer_values(x)

    def read(self, paths: Path | Iterable[Path], *, skip_broken: bool = False) -> tuple[list[str], Any]:
        """Files as ``nibble run --input`` reads them: names, and what ``run`` and all else take, a NumPy array.

        A file is a picture, of which the middle is cut out, a ``.npy`` of examples or a tensor of MLPerf's harness; a folder
        and a ``.tar`` stand for their pictures. skip_broken: of those, pictures that cannot be read are left out.

        >>> engine = nibble.Engine(digits_model)
        >>> names, x = engine.read(pictures_folder)
        >>> len(names), x.shape, engine.run(x).shape
        (2, (2, 8, 8, 1), (2, 10))
        """
        one = isinstance(paths, (str, bytes, os.PathLike))
        several = [paths] if one else as_list("read", "paths", paths, "a path or a list of paths")
        files = [as_file("read", "paths", each) for each in several]
        files = [os.path.join(os.curdir, each) if each == "-" else each for each in files]  # not the standard input
        return self.read_files(files, as_flag("read", "skip_broken", skip_broken))

    def submit(self, x: Any) -> Pending:
        """As run, without waiting: any number of batches may be on their way, x unchanged until they end.

        >>> engine = nibble.Engine(digits_model)
        >>> futures = [engine.submit(np.zeros((8, 8, 1), np.uint8)) for _ in range(3)]
        >>> [future.result().shape for future in futures]
        [(10,), (10,), (10,)]
        """
        future = Pending()
        future.set_running_or_notify_cancel()
        self.submit_into(x, future)
        return future

    def bench(self, batch: int = 1, seconds: float = 3.0) -> dict[str, Any]:
        """What ``nibble bench --json`` prints: images_per_second, median_ms, peak_gops, answers, steps …

        Of an engine with several lanes also throughput, with as many batches on their way.

        >>> found = nibble.Engine(digits_model, threads=1, lanes=2).bench(batch=4, seconds=0.01)
        >>> found["batch"], found["throughput"]["lanes"], found["throughput"]["from_host"] > 0
        (4, 2, True)
        """
        found: dict[str, Any] = json.loads(self.bench_json(as_count("bench", "batch", batch), as_number("bench", "seconds", seconds)))
        return found

    def __repr__(self) -> str:
        return f"<nibble.Engine {self._model.name!r} on {self.device}, {self.threads} threads>"
