# SPDX-License-Identifier: Apache-2.0
"""What a call costs on 1,000 elements, the new array included; beside it what the machine asks for any call.

usage: overhead.py [--check]    --check: exit 1 where quantize takes more than 5 µs on the CPU, 10 µs on a GPU

The last column is the median of the turns' ratios to the package's own add, which on a slow machine says more.
"""

import statistics
import sys
import timeit

import numpy as np

import nibble

try:
    import torch
except ImportError:
    torch = None

COUNT = 500  # a GPU queues more than that without making the caller wait
TURNS = 40


def wait():
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()


def microseconds(statements, names):
    """What each statement takes, turn by turn, for a machine's clock may change meanwhile."""
    names = {**names, "wait": wait}
    timers = {name: timeit.Timer(text, setup="wait()", globals=names) for name, text in statements.items()}
    return [{name: timer.timeit(COUNT) / COUNT * 1e6 for name, timer in timers.items()} for _ in range(TURNS)]


def kinds():
    """The name of a row, its array, the package to compare with."""
    x = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    yield "numpy float32", x, np
    yield "numpy float16", x.astype(np.float16), np
    if torch is None:
        return
    tensor = torch.from_numpy(x)
    yield "torch float32", tensor, torch
    yield "torch float16", tensor.half(), torch
    yield "torch bfloat16", tensor.bfloat16(), torch
    if torch.cuda.is_available() and nibble.has_cuda:
        yield "cuda float32", tensor.cuda(), torch
        yield "cuda bfloat16", tensor.cuda().bfloat16(), torch


OTHERS = {"empty_like": "like(x)", "add(x, 1)": "add(x, 1)", "launch": "launch(0)"}
CALLS = {
    "e4m3": "quantize(x, 'e4m3')",
    "Format": "quantize(x, fmt)",
    "out=": "quantize(x, 'e4m3', out=out)",
    "stochastic": "quantize(x, 'e4m3', rounding='stochastic(16)', seed=1)",
    "mxfp4": "quantize(x, 'mxfp4')",
    "posit(8,1)": "quantize(x, 'posit(8,1)')",
}


def main():
    is_slow = False
    print(f"{'µs a call':16}" + "".join(f"{name:>12}" for name in [*OTHERS, *CALLS, "e4m3 / add"]))
    for kind, x, package in kinds():
        names = {"x": x, "out": package.empty_like(x), "like": package.empty_like, "add": package.add}
        names.update(quantize=nibble.quantize, fmt=nibble.Format("e4m3"))
        is_on_gpu = kind.startswith("cuda")
        if is_on_gpu:
            names["launch"] = torch.cuda._sleep  # a kernel of one thread that does nothing
        statements = {name: text for name, text in {**OTHERS, **CALLS}.items() if is_on_gpu or name != "launch"}
        turns = microseconds(statements, names)
        best = {name: min(turn[name] for turn in turns) for name in statements}
        cells = (f"{best[name]:12.2f}" if name in best else f"{'':12}" for name in [*OTHERS, *CALLS])
        share = statistics.median(turn["e4m3"] / turn["add(x, 1)"] for turn in turns)
        print(f"{kind:16}" + "".join(cells) + f"{share:12.2f}")
        is_slow = is_slow or best["e4m3"] > (10 if is_on_gpu else 5)
    return 1 if is_slow and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
