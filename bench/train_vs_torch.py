#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of Nibble and of PyTorch (fp32, channels last) on the same cores, in turns.

usage: train_vs_torch.py TRAIN_BENCH [--int8 INTEGER_BENCH] [--threads N] [--rounds R] [--json]

Float Nibble and PyTorch start from the same weights on the same batch; the losses of three steps must
agree first. Beside them runs Nibble with simulated e4m3 or, with --int8, integer-only training, which
has weights of its own: small networks have to lower the loss of the batch first, and INTEGER_BENCH step
compares every one with the portable path. "faster" is PyTorch's time by Nibble's, the median of the
rounds' ratios; --json has the least times too.
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
INT8_CASES = [("mlp-784-100-50-10", 64, 300), ("mlp-784-100-50-10", 128, 200), ("lenet", 64, 30),
              ("vgg-small-7", 64, 3)]


class Nibble:
    """One bench process that steps when told."""

    def __init__(self, words, threads):
        env = dict(os.environ, OMP_NUM_THREADS=str(threads))
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    @classmethod
    def in_floats(cls, program, network, batch, form, dropout, threads, dump=None):
        words = [program, "--serve", network, str(batch), form, "dropout" if dropout else "none", "exact"]
        return cls(words + ([dump] if dump else []), threads)

    @classmethod
    def in_integers(cls, program, network, batch, shifts, dropout, threads):
        return cls([program, "--serve", network, str(batch), shifts, "dropout" if dropout else "none"], threads)

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
        has_bias = any(name.endswith(".bias") for name in weights)
        linear = lambda i, o: nn.Linear(i, o, bias=has_bias)
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
                if has_bias:
                    module.bias.copy_(torch.from_numpy(weights[name.replace(".weight", ".bias")].copy()))
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


def check_losses(torch, flags, network, batch):
    """Three steps of both give the same losses; the weights and the batch that they began with."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        exact = Nibble.in_floats(flags.program, network, batch, "fp32", False, flags.threads, folder)
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
    return ours, weights, images, labels


def check_learning(flags, network, batch):
    """Integers learn the batch by heart: 60 steps lower its loss."""
    integers = Nibble.in_integers(flags.int8, network, batch, flags.shifts, False, flags.threads)
    losses = [integers.ask("loss") for _ in range(60)]
    integers.close()
    if not min(losses[-10:]) < 0.8 * losses[0]:
        sys.exit(f"{network}: integer training does not lower the loss: {losses}")


def compare(torch, flags, network, batch, steps):
    """Times of PyTorch and of both Nibbles, in turns."""
    ours, weights, images, labels = check_losses(torch, flags, network, batch)
    peer = TorchNetwork(torch, network, weights, dropout=True)
    peer.load(images, labels)
    mine = {"nibble": Nibble.in_floats(flags.program, network, batch, "fp32", True, flags.threads)}
    if flags.int8:
        if not network.startswith("vgg"):  # it would need hundreds of steps
            check_learning(flags, network, batch)
        mine["int8"] = Nibble.in_integers(flags.int8, network, batch, flags.shifts, True, flags.threads)
    else:
        mine["e4m3"] = Nibble.in_floats(flags.program, network, batch, "e4m3", True, flags.threads)
    peer.median_seconds(2)
    for each in mine.values():
        each.ask("time 2")
    times = {name: [] for name in ("torch", *mine)}
    for _ in range(flags.rounds):
        times["torch"].append(peer.median_seconds(steps))
        for name, each in mine.items():
            times[name].append(each.ask(f"time {steps}"))
    for each in mine.values():
        each.close()

    def ratio(one, other):
        return statistics.median(a / b for a, b in zip(times[one], times[other]))

    row = {"network": network, "batch": batch, "loss": ours[0]}
    row |= {f"{name}_ms": 1e3 * statistics.median(values) for name, values in times.items()}
    row |= {f"{name}_least_ms": 1e3 * min(values) for name, values in times.items()}
    row["faster"] = ratio("torch", "nibble")
    if flags.int8:
        row["int8_faster"] = ratio("torch", "int8")
        row["int8_faster_than_float"] = ratio("nibble", "int8")
    else:
        row["e4m3_cost"] = ratio("e4m3", "nibble")
    return row


# Title, key of the row, what follows the number.
COLUMNS = [("torch ms", "torch_ms", ""), ("nibble ms", "nibble_ms", ""), ("faster", "faster", "x")]
E4M3_COLUMNS = COLUMNS + [("e4m3 ms", "e4m3_ms", ""), ("cost", "e4m3_cost", "x")]
INT8_COLUMNS = COLUMNS + [("int8 ms", "int8_ms", ""), ("faster", "int8_faster", "x"),
                          ("than float", "int8_faster_than_float", "x")]


def text_of(row, key, unit):
    return f"{row[key]:.2f}x" if unit else f"{row[key]:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="TRAIN_BENCH")
    parser.add_argument("--int8", metavar="INTEGER_BENCH", help="integer-only training beside float training")
    parser.add_argument("--shifts", choices=["exact", "delayed"], default="exact", help="of integer training")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="one network")
    parser.add_argument("--json", action="store_true")
    flags = parser.parse_args()
    import torch

    torch.set_num_threads(flags.threads)
    columns = INT8_COLUMNS if flags.int8 else E4M3_COLUMNS
    rows = []
    if not flags.json:
        print(f"PyTorch {torch.__version__}, {flags.threads} threads; medians of {flags.rounds} rounds in turns")
        print(f"{'network':<20} {'batch':>5}" + "".join(f" {title:>10}" for title, _, _ in columns), flush=True)
    for network, batch, steps in INT8_CASES if flags.int8 else CASES:
        if flags.only and network != flags.only:
            continue
        row = compare(torch, flags, network, batch, steps)
        rows.append(row)
        if not flags.json:
            cells = "".join(f" {text_of(row, key, unit):>10}" for _, key, unit in columns)
            print(f"{network:<20} {batch:>5}{cells}", flush=True)
    if flags.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
