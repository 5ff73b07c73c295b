#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of Nibble and of PyTorch (fp32, channels last) on the same cores, in turns.

usage: train_vs_torch.py TRAIN_BENCH [--threads N] [--rounds R] [--json]

Both start from the same weights on the same batch; the losses of three steps must agree first.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

RATE = 0.001
CASES = [("mlp-784-128-64-10", 128, 200), ("convnet-16-16", 128, 50), ("lenet", 64, 30), ("vgg-small-7", 64, 3)]


class Nibble:
    """One bench process that steps when told."""

    def __init__(self, program, network, batch, form, dropout, threads, dump=None, fast=False):
        words = [program, "--serve", network, str(batch), form, "dropout" if dropout else "none",
                 "fast" if fast else "exact"]
        if dump:
            words.append(dump)
        env = dict(os.environ, OMP_NUM_THREADS=str(threads))
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def read_safetensors(path):
    """Names and arrays; the format is simple enough to need no package."""
    import numpy as np

    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = file.read()
    return {
        name: np.frombuffer(data[slice(*info["data_offsets"])], dtype="<f4").reshape(info["shape"])
        for name, info in header.items()
        if name != "__metadata__"
    }


class TorchNetwork:
    """The same network, its weights taken from the .nib file."""

    def __init__(self, torch, network, weights, dropout):
        nn = torch.nn
        conv = lambda i, o, k, p=0: nn.Conv2d(i, o, k, padding=p, bias=False)
        linear = lambda i, o: nn.Linear(i, o, bias=False)
        relu, pool = nn.ReLU, lambda: nn.MaxPool2d(2)
        self.torch = torch
        if network.startswith("mlp"):
            sizes = [int(x) for x in network.split("-")[1:]]
            layers = [nn.Flatten()]
            for i, o in zip(sizes, sizes[1:]):
                layers += [linear(i, o), relu()]
            layers.pop()
        elif network == "convnet-16-16":
            layers = [conv(1, 16, 3), pool(), relu(), conv(16, 16, 3), pool(), relu(), nn.Flatten(), linear(400, 10)]
        elif network == "lenet":
            layers = [conv(1, 20, 5), relu(), pool(), conv(20, 50, 5), relu(), pool(), nn.Flatten(),
                      linear(800, 500), relu(), linear(500, 10)]
        else:  # vgg-small-7
            layers, before = [], 3
            for width in (128, 128, "M", 256, 256, "M", 512, 512, "M"):
                if width == "M":
                    layers.append(pool())
                else:
                    layers += [conv(before, width, 3, 1), relu()]
                    before = width
            layers += [nn.Flatten(), nn.Dropout(0.5 if dropout else 0.0), linear(8192, 10)]
        self.model = nn.Sequential(*layers).to(memory_format=torch.channels_last)
        names = [name for name in weights if name.endswith(".weight")]
        taken = [m for m in self.model if hasattr(m, "weight") and m.weight is not None]
        assert len(names) == len(taken), (names, taken)
        shape = None
        with torch.no_grad():
            for name, module in zip(names, taken):
                value = torch.from_numpy(weights[name].copy())
                if value.dim() == 4:
                    shape = value.shape[0]
                    value = value.permute(0, 3, 1, 2)
                elif shape:  # rows of the first linear layer are (height, width, channels) here
                    side = int((value.shape[1] // shape) ** 0.5)
                    value = value.reshape(-1, side, side, shape).permute(0, 3, 1, 2).reshape(value.shape)
                    shape = None
                module.weight.copy_(value)
        self.model.train()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=RATE, momentum=0.9)
        self.loss = nn.CrossEntropyLoss()

    def load(self, images, labels):
        value = self.torch.from_numpy(images)
        if value.dim() == 4:
            value = value.permute(0, 3, 1, 2).contiguous(memory_format=self.torch.channels_last)
        self.images, self.labels = value, self.torch.from_numpy(labels).long()

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.model(self.images), self.labels)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def median_seconds(self, steps):
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            self.step()
            times.append(time.perf_counter() - start)
        return statistics.median(times)


def compare(torch, program, network, batch, steps, threads, rounds):
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        exact = Nibble(program, network, batch, "fp32", False, threads, folder)
        ours = [exact.ask("loss") for _ in range(3)]
        exact.close()
        weights = read_safetensors(os.path.join(folder, "model.nib"))
        images = np.load(os.path.join(folder, "images.npy"))
        labels = np.load(os.path.join(folder, "labels.npy"))
    checked = TorchNetwork(torch, network, weights, dropout=False)
    checked.load(images, labels)
    theirs = [checked.step() for _ in range(3)]
    for a, b in zip(ours, theirs):
        if not abs(a - b) <= 1e-4 * max(1.0, abs(b)):
            sys.exit(f"{network}: losses differ: Nibble {ours}, PyTorch {theirs}")

    peer = TorchNetwork(torch, network, weights, dropout=True)
    peer.load(images, labels)
    mine = {form: Nibble(program, network, batch, form, True, threads) for form in ("fp32", "e4m3")}
    peer.median_seconds(2)
    for each in mine.values():
        each.ask("time 2")
    times = {"torch": [], "fp32": [], "e4m3": []}
    for _ in range(rounds):
        times["torch"].append(peer.median_seconds(steps))
        for form, each in mine.items():
            times[form].append(each.ask(f"time {steps}"))
    for each in mine.values():
        each.close()
    median = {name: statistics.median(values) for name, values in times.items()}
    return {
        "network": network, "batch": batch, "loss": ours[0],
        "torch_ms": 1e3 * median["torch"], "nibble_ms": 1e3 * median["fp32"], "e4m3_ms": 1e3 * median["e4m3"],
        "faster": median["torch"] / median["fp32"], "e4m3_cost": median["e4m3"] / median["fp32"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="TRAIN_BENCH")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="one network")
    parser.add_argument("--json", action="store_true")
    flags = parser.parse_args()
    import torch

    torch.set_num_threads(flags.threads)
    rows = []
    if not flags.json:
        print(f"PyTorch {torch.__version__}, {flags.threads} threads; medians of {flags.rounds} rounds in turns")
        print(f"{'network':<20} {'batch':>5} {'torch ms':>9} {'nibble ms':>9} {'faster':>7} {'e4m3 ms':>9} {'cost':>6}")
    for network, batch, steps in CASES:
        if flags.only and network != flags.only:
            continue
        row = compare(torch, flags.program, network, batch, steps, flags.threads, flags.rounds)
        rows.append(row)
        if not flags.json:
            print(f"{network:<20} {batch:>5} {row['torch_ms']:>9.3f} {row['nibble_ms']:>9.3f} {row['faster']:>6.2f}x "
                  f"{row['e4m3_ms']:>9.3f} {row['e4m3_cost']:>5.2f}x", flush=True)
    if flags.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
