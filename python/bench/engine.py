# SPDX-License-Identifier: Apache-2.0
"""What Engine.run costs from Python, beside the engine's own time in the same process.

usage: python/bench/engine.py MODEL [batch] [--check]

--check asks for at most 3 µs more than C++ (batch 1), or at least 98 % of its images a second (larger batches).
"""

import sys
import time

import numpy as np

import nibble


def median_seconds(work, seconds):
    times = []
    start = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    model, batch = words[0], int(words[1]) if len(words) > 1 else 1
    engine = nibble.Engine(model, max_batch=batch)
    info = engine.inputs[0]
    x = np.random.default_rng(0).integers(info.low, info.high + 1, (batch, *info.shape)).astype(info.dtype)
    # In turns: what else the machine does falls on both.
    rounds = [(1e-3 * engine.bench(batch, 0.5)["median_ms"], median_seconds(lambda: engine.run(x), 0.5)) for _ in range(7)]
    differences = [python - own for own, python in rounds]
    own = float(np.median([own for own, _ in rounds]))
    over = float(np.median(differences))
    share = own / (own + over)
    print(f"{engine!r} batch {batch}: C++ {1e6 * own:.2f} µs, Python {1e6 * over:+.2f} µs, {100 * share:.2f} % of its speed")
    if "--check" in sys.argv and not (over <= 3e-6 if batch == 1 else share >= 0.98):
        sys.exit("slower than asked for")


if __name__ == "__main__":
    main()
