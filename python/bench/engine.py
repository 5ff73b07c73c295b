# SPDX-License-Identifier: Apache-2.0
"""What Engine.run costs from Python, beside the engine's own time in the same process.

usage: python/bench/engine.py MODEL [batch] [--check]

--check asks for at most 3 µs more than C++ (batch 1), or at least 98 % of its images a second (larger batches). Beside the
integers that the network takes, which enter where they lie, stand what becomes such integers first: floats and, where the
network takes others, bytes of pictures.
"""

import sys
import time

import numpy as np

import nibble

ROUNDS = 7


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
    given = {info.dtype: x, "float32": x.astype(np.float32)}
    if info.dtype != "uint8":
        given["uint8"] = x.view(np.uint8) if x.itemsize == 1 else x.astype(np.uint8)
    # In turns: what else the machine does falls on all.
    rounds = []
    for _ in range(ROUNDS):
        own = 1e-3 * engine.bench(batch, 0.5)["median_ms"]
        rounds.append([own, *(median_seconds(lambda: engine.run(each), 0.5) - own for each in given.values())])
    own, *overs = map(float, np.median(rounds, axis=0))
    shares = [own / (own + over) for over in overs]
    for name, over, share in zip(given, overs, shares):
        print(f"{engine!r} batch {batch}, {name}: C++ {1e6 * own:.2f} µs, Python {1e6 * over:+.2f} µs, {100 * share:.2f} % of its speed")
    if "--check" in sys.argv and not (overs[0] <= 3e-6 if batch == 1 else shares[0] >= 0.98):
        sys.exit("slower than asked for")


if __name__ == "__main__":
    main()
