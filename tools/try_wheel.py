#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From a fresh environment to a quantized model: what a wheel can do without a compiler, torch or a network."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import nibble


def main():
    assert nibble.quantize(np.float32([3.14159]), "e4m3")[0] == 3.25
    with tempfile.TemporaryDirectory() as folder:
        run = nibble.train("convnet-8x8", data="digits", epochs=8, out=Path(folder) / "run", progress=False)
        model = nibble.quantize_network(run.model, "digits", weights="int4", progress=False)
        shares = [each.evaluate("digits").top1 for each in (run.model, model)]
        assert min(shares) > 0.8, shares
        model.to_onnx(Path(folder) / "model.onnx")
    asked = [sys.executable, "-m", "nibble", "signature"]
    signature = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    version = sys.version.split()[0]
    print(f"Python {version}: {shares[0]:.1%} in floats, {shares[1]:.1%} in 4 bits, signature {signature}")


if __name__ == "__main__":
    main()
