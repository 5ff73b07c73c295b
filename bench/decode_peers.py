#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decoding pictures for ImageNet's networks: `nibble data check` against Pillow with torchvision, in turns.

Both read the same JPEG files, resize the shorter side to 256, cut out the middle 224×224, have its bytes and use as many
processes or threads as --workers says; neither normalizes them, which nibble does by a table where it runs a network.
Pictures are made here, of the size that ImageNet's have on average (500×375) and of some others, from noise of
several scales at quality 90. Every round gives each a turn; the table has the medians, and how busy the cores were.

Needs torchvision and Pillow.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

SIZES = [(500, 375), (500, 375), (500, 333), (375, 500), (640, 480), (400, 300)]


def make_pictures(folder, count):
    rng = np.random.default_rng(1)
    for i in range(count):
        width, height = SIZES[i % len(SIZES)]
        picture = np.zeros((height, width, 3), np.float32)
        for scale, weight in ((80, 90), (20, 40), (5, 18), (1, 6)):
            small = rng.integers(0, 256, (height // scale + 2, width // scale + 2, 3), dtype=np.uint8)
            large = Image.fromarray(small).resize((width, height), Image.BICUBIC)
            picture += weight / 128 * (np.asarray(large, np.float32) - 128)
        (folder / str(i % 10)).mkdir(exist_ok=True)
        Image.fromarray(np.clip(picture + 128, 0, 255).astype(np.uint8)).save(folder / str(i % 10) / f"{i:05}.jpg", quality=90)


def read_with_torchvision(paths):
    import torch
    from torchvision import transforms

    torch.set_num_threads(1)
    chain = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224)])
    for path in paths:
        assert np.asarray(chain(Image.open(path).convert("RGB"))).shape == (224, 224, 3)


def torchvision_turn(pool, paths, workers):
    pieces = [paths[i::8 * workers] for i in range(8 * workers)]
    start = time.perf_counter()
    pool.map(read_with_torchvision, pieces, chunksize=1)
    return len(paths) / (time.perf_counter() - start)


def nibble_turn(nibble, folder, workers):
    text = subprocess.run([nibble, "data", "check", folder, "--json"], check=True, capture_output=True,
                          env={**os.environ, "OMP_NUM_THREADS": str(workers)}).stdout
    found = json.loads(text)[0]
    assert not found["broken"], found["broken"]
    return found["pictures_per_second"], found["busy"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nibble", default="build/release/bin/nibble")
    parser.add_argument("--pictures", type=int, default=1200)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_pictures(folder, options.pictures)
        paths = sorted(str(path) for path in folder.rglob("*.jpg"))
        ours, theirs, busy, ratios = [], [], [], []
        with multiprocessing.Pool(options.workers) as pool:
            torchvision_turn(pool, paths[:64], options.workers)  # imports
            for _ in range(options.rounds):
                theirs.append(torchvision_turn(pool, paths, options.workers))
                speed, share = nibble_turn(options.nibble, folder, options.workers)
                ours.append(speed)
                busy.append(share)
                ratios.append(ours[-1] / theirs[-1])
    print(f"{options.pictures} pictures, {options.workers} workers, {options.rounds} rounds, pictures/s, medians")
    print(f"nibble                {statistics.median(ours):8.0f}   threads {100 * statistics.median(busy):.0f} % busy")
    print(f"Pillow + torchvision  {statistics.median(theirs):8.0f}")
    print(f"ratio                 {statistics.median(ratios):8.2f}   ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
