# SPDX-License-Identifier: Apache-2.0
"""Columns and rows are what pandas takes."""

import numpy as np
import pytest


def test_columns_and_rows_are_frames(nibble, float_run, quantized, tmp_path):
    pandas = pytest.importorskip("pandas")
    tuned = nibble.quantize_network(float_run, "digits", finetune=2, samples=64, scan=True, progress=False)
    table = nibble.sweep("mlp-64-32-10", ["e4m3"], data="digits", epochs=1, out=tmp_path)
    for columns in (float_run.history, float_run.layers, tuned.history, table):
        frame = pandas.DataFrame(columns)
        assert list(frame.columns) == list(columns) and len(frame) == len(next(iter(columns.values()))) > 0
    for rows in (tuned.errors, tuned.scan, nibble.datasets(), nibble.describe(quantized)["layers"], quantized.emit(tmp_path / "c").plan):
        frame = pandas.DataFrame(rows)
        assert len(frame) == len(rows) > 0 and {*rows[0]} <= {*frame.columns}
    frame = pandas.DataFrame(tuned.errors)
    assert frame["sqnr_db"].dtype == np.float64 and (frame["sqnr_db"] > 0).all()
    assert pandas.DataFrame(float_run.history)["train_loss"].is_monotonic_decreasing
