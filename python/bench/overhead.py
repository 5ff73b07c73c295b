# SPDX-License-Identifier: Apache-2.0
"""What a call costs on 1,000 elements, the new array included; beside it what the array alone costs.

usage: overhead.py [--check]    --check: exit 1 where quantize takes more than 5 µs on the CPU, 10 µs on a GPU
"""

import sys
import timeit

import numpy as np

import nibble

try:
    import torch
except ImportError:
    torch = None

COUNT = 5000


def microseconds(statement, names):
    """The fastest of several averages."""
    return min(timeit.repeat(statement, globals=names, number=COUNT, repeat=7)) / COUNT * 1e6


def kinds():
    x = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    yield "numpy float32", x, np.empty_like, 5
    yield "numpy float16", x.astype(np.float16), np.empty_like, None
    if torch is not None:
        yield "torch float32", torch.from_numpy(x), torch.empty_like, 5
        yield "torch bfloat16", torch.from_numpy(x).bfloat16(), torch.empty_like, None
        if torch.cuda.is_available() and nibble.has_cuda:
            yield "cuda float32", torch.from_numpy(x).cuda(), torch.empty_like, 10


def main():
    is_slow = False
    calls = {
        "e4m3": "quantize(x, 'e4m3')",
        "Format": "quantize(x, fmt)",
        "out=": "quantize(x, 'e4m3', out=out)",
        "stochastic": "quantize(x, 'e4m3', rounding='stochastic(16)', seed=1)",
        "mxfp4": "quantize(x[:992], 'mxfp4')",
        "posit(8,1)": "quantize(x, 'posit(8,1)')",
    }
    print(f"{'µs a call':16}{'empty_like':>12}" + "".join(f"{name:>12}" for name in calls))
    for kind, x, empty_like, limit in kinds():
        names = {"x": x, "out": empty_like(x), "quantize": nibble.quantize, "fmt": nibble.Format("e4m3"), "like": empty_like}
        times = [microseconds(call, names) for call in calls.values()]
        print(f"{kind:16}{microseconds('like(x)', names):12.2f}" + "".join(f"{t:12.2f}" for t in times))
        is_slow = is_slow or (limit is not None and times[0] > limit)
    return 1 if is_slow and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
