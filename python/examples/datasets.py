# SPDX-License-Identifier: Apache-2.0
"""Reads MNIST's idx files and CIFAR-10's binary batches, wherever they lie under a folder."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import torch


def data_folder(argument: str | None) -> Path:
    """--data, or NIBBLE_DATA."""
    folder = argument or os.environ.get("NIBBLE_DATA")
    if not folder:
        raise SystemExit("where is the data? Give --data FOLDER or set NIBBLE_DATA")
    return Path(folder)


def _find(folder: Path, part: str, name: str) -> Path:
    """A file below folder/part, or below folder where there is no such part."""
    start = folder / part if (folder / part).is_dir() else folder
    found = sorted(start.rglob(name))
    if not found:
        raise SystemExit(f"no {name} under {start}")
    return found[0]


def _idx(path: Path) -> np.ndarray:
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        data = file.read()
    shape = np.frombuffer(data, ">i4", count=data[3], offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def mnist(folder: Path, part: str) -> tuple[torch.Tensor, torch.Tensor]:
    """part: "train" or "t10k". Pictures (n, 1, 28, 28) from -0.5 to 0.5 and their digits."""
    pictures = _idx(_find(folder, "mnist", f"{part}-images-idx3-ubyte*"))
    labels = _idx(_find(folder, "mnist", f"{part}-labels-idx1-ubyte*"))
    return torch.from_numpy(pictures.astype(np.float32) / 255 - 0.5).unsqueeze(1), torch.from_numpy(
        labels.astype(np.int64)
    )


def cifar10(folder: Path, files: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Pictures (n, 3, 32, 32), normalized by channel, and their classes."""
    raw = np.concatenate([np.fromfile(_find(folder, "cifar10", name), np.uint8).reshape(-1, 3073) for name in files])
    pictures = raw[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255
    mean = np.array([0.4914, 0.4822, 0.4465], np.float32).reshape(3, 1, 1)
    deviation = np.array([0.2470, 0.2435, 0.2616], np.float32).reshape(3, 1, 1)
    return torch.from_numpy((pictures - mean) / deviation), torch.from_numpy(raw[:, 0].astype(np.int64))
