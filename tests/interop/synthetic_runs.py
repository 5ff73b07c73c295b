# SPDX-License-Identifier: Apache-2.0
"""Run folders as nibble train leaves them (docs/reports.md), made up: for tests of the report."""

import csv
import json
import math
import random

ROLES = ("weight", "activation", "error", "gradient", "momentum", "update", "master")
CLASSES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")


def write_table(path, columns, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def settings(seed, formats):
    return {
        "nibble": "0.1.0", "commit": "8eacd5d", "command": f"nibble train lenet --data fashion-mnist --seed {seed}",
        "started": f"2026-03-0{seed}T09:30:00Z",
        "machine": {"cpu": "a processor", "cores": 8, "threads": 8, "isa": "avx512", "memory_gib": 32, "os": "Linux"},
        "network": "lenet", "data": "fashion-mnist", "seed": seed, "epochs": 12, "batch": 128, "slice": 16,
        "optimizer": {"name": "sgd", "momentum": 0.9, "weight_decay": 0.0005},
        "schedule": {"name": "cosine", "rate": 0.1, "warmup_epochs": 1}, "augment": {"crop": 0, "flip": False},
        "policy": [{"role": role, "layers": "*", "format": name, "rounding": "stochastic"} for role, name in formats.items()],
    }


def epoch_rows(rng, epochs, lag):
    for epoch in range(1, epochs + 1):
        loss = 1.9 * math.exp(-epoch / 3.5) + 0.22 + lag
        train = loss * (1 + 0.02 * rng.random())
        val = loss + 0.05 + 0.01 * epoch * rng.random()
        top1 = 1 - val / 3.2
        rate = 0.1 * 0.5 * (1 + math.cos(math.pi * epoch / epochs)) + 1e-4
        test = (round(val + 0.02, 5), round(top1 - 0.004, 5)) if epoch % 4 == 0 else ("", "")
        yield (epoch, 375 * epoch, round(rate, 6), round(train, 5), round(1 - train / 3.2, 5), round(val, 5),
               round(top1, 5), *test, round(6 + rng.random(), 2), 9300)


def histogram(rng, spread):
    values = [rng.gauss(0, spread) for _ in range(3000)]
    low, high = min(values), max(values)
    counts = [0] * 64
    for value in values:
        counts[min(63, int(64 * (value - low) / (high - low)))] += 1
    return low, high, " ".join(map(str, counts))


def confusion(rng, wrong):
    table = [[0] * len(CLASSES) for _ in CLASSES]
    for truth, row in enumerate(table):
        for _ in range(int(1000 * wrong * (0.3 + 2 * rng.random()))):
            other = {0: 6, 6: 0, 2: 4, 4: 2}.get(truth) if rng.random() < 0.5 else None
            row[other if other is not None else rng.randrange(len(CLASSES))] += 1
        row[truth] += 1000 - sum(row)
    return table


def write_integers(folder, epochs=12, layers=("conv1", "conv2", "fc1", "fc2")):
    """Makes a run of write_run one of integers: its table, arithmetic and mu."""
    path = folder / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "arithmetic": "int8", "mu": "5,4@7"}, indent=2))
    rows = []
    for epoch in range(1, epochs + 1):
        for depth, layer in enumerate(layers):
            rows.append((epoch, layer, "value", 10 + depth % 3, 0, "", "", 2 + depth, 375 * epoch))
            if depth:
                rows.append((epoch, layer, "error", 8 + (epoch + depth) // 4, 0, "", "", 1, 375 * epoch))
        for depth, layer in enumerate(layers):
            rows.append((epoch, layer, "weight", 12 - epoch // 3, "", 0.01 * epoch / (1 + depth), 0.9 / epoch, "", ""))
            rows.append((epoch, layer, "bias", 9, "", 0, 0.5, "", ""))
    write_table(folder / "integers.csv", ["epoch", "layer", "tensor", "shift", "share_saturated", "share_at_rails",
                                          "share_moved", "misses", "batches"], rows)
    return folder


def write_run(folder, seed=1, formats=None, layers=("conv1", "conv2", "fc1", "fc2"), epochs=12, lag=0.0, wrong=0.1,
              has_ended=True, class_names=CLASSES):
    """One run folder; `lag` lifts its loss, `wrong` is the share of images taken for others."""
    rng = random.Random(seed)
    formats = formats or {"weight": "fp32"}
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text(json.dumps(settings(seed, formats), indent=2))
    write_table(folder / "epochs.csv",
                ["epoch", "step", "learning_rate", "train_loss", "train_top1", "val_loss", "val_top1", "test_loss",
                 "test_top1", "seconds", "images_per_second"], epoch_rows(rng, epochs, lag))
    layer_rows, histogram_rows = [], []
    for epoch in (1, epochs):
        for depth, layer in enumerate(layers):
            for place, role in enumerate(ROLES):
                name = formats.get(role, "fp32")
                sqnr = "inf" if name == "fp32" else round(45 - 5 * place - 3 * depth + 4 * rng.random(), 3)
                spread = 0.3 / (1 + place) / math.sqrt(epoch)
                layer_rows.append((epoch, layer, role, name, 1000 * (depth + 1), -3 * spread, 3 * spread, 0, spread, sqnr,
                                   0.001 * depth, 0.01 * place))
                histogram_rows.append((epoch, layer, role, *histogram(rng, spread)))
    write_table(folder / "layers.csv", ["epoch", "layer", "role", "format", "elements", "min", "max", "mean", "deviation",
                                        "sqnr_db", "share_saturated", "share_flushed"], layer_rows)
    write_table(folder / "histograms.csv", ["epoch", "layer", "role", "low", "high", "counts"], histogram_rows)
    if not has_ended:
        return folder
    table = confusion(rng, wrong)
    correct = sum(row[i] for i, row in enumerate(table))
    images = 1000 * len(table)
    (folder / "summary.json").write_text(json.dumps({
        "epochs": epochs, "steps": 375 * epochs, "seconds": 81.5 + seed, "peak_memory_mib": 212,
        "weights_hash": f"{seed:016x}", "best": {"epoch": epochs - 1, "val_top1": 1 - wrong + 0.003},
        "test": {"images": images, "correct": correct, "top1": correct / images, "top5": 0.995, "loss": 0.31 + lag,
                 "confusion": table, "class_names": list(class_names)},
        "val": {"images": 5000, "correct": 4500, "top1": 0.9, "top5": 0.99, "loss": 0.3}}))
    return folder
