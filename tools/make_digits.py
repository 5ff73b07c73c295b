#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes data/digits from the digits.csv.gz of scikit-learn, which Debian's python3-sklearn carries.

usage: make_digits.py digits.csv.gz [folder]
"""

import gzip
import struct
import sys
from pathlib import Path

SIDE, MOST = 8, 16


def write_idx(path, extents, values):
    """One IDX array of bytes; no time and no name in the gzip header, so that every run gives the same file."""
    data = struct.pack(f">HBB{len(extents)}I", 0, 8, len(extents), *extents) + bytes(values)
    path.write_bytes(gzip.compress(data, 9, mtime=0))


def main():
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).resolve().parent.parent / "data" / "digits"
    with gzip.open(sys.argv[1], "rt") as lines:
        rows = [[int(float(word)) for word in line.split(",")] for line in lines]
    assert all(len(row) == SIDE * SIDE + 1 and max(row[:-1]) <= MOST and min(row) >= 0 for row in rows)
    # 0 to 16 becomes 0 to 255, halves up.
    pixels = [(value * 255 + MOST // 2) // MOST for row in rows for value in row[:-1]]
    write_idx(folder / "images.idx3.gz", (len(rows), SIDE, SIDE), pixels)
    write_idx(folder / "labels.idx1.gz", (len(rows),), [row[-1] for row in rows])


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main()
