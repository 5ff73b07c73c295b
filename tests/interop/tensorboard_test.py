# SPDX-License-Identifier: Apache-2.0
"""Reads event files of Nibble with TensorBoard's own reader.

Runs in .venv (tools/setup makes it); TENSORBOARD_WRITER names tensorboard_writer.cpp's program.
"""

import os
import subprocess
import tempfile
import unittest

import numpy as np

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as error:
    raise SystemExit(print(f"tensorboard is not in .venv ({error}): run tools/setup") or 77)

WRITER = os.environ["TENSORBOARD_WRITER"]


def values_of(step):
    return (np.arange(-500, 501, dtype=np.float32) / 64 + np.float32(step)).astype(np.float64)


class TensorBoard(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write()

    def write(self, *arguments):
        subprocess.run([WRITER, self.folder, *arguments], check=True, timeout=300)

    def events(self):
        everything = {"scalars": 0, "histograms": 0, "tensors": 0}
        return EventAccumulator(self.folder, size_guidance=everything).Reload()

    def test_scalars_are_equal(self):
        events = self.events()
        self.assertEqual(sorted(events.Tags()["scalars"]), ["rare", "sqnr/weight/größe", "train/loss"])
        self.assertEqual([(e.step, e.value) for e in events.Scalars("train/loss")],
                         [(step, float(np.float32(1 / (1 + step)))) for step in range(5)])
        self.assertEqual([e.value for e in events.Scalars("sqnr/weight/größe")], [0, -1, -2, -3, -4])
        self.assertEqual([(e.step, e.value) for e in events.Scalars("rare")], [(1 << 40, np.inf)])
        self.assertGreater(events.Scalars("rare")[0].wall_time, 1.7e9)

    def test_histograms_are_equal(self):
        histograms = self.events().Histograms("weight/conv1")
        self.assertEqual([e.step for e in histograms], list(range(5)))
        for event in histograms:
            told, values = event.histogram_value, values_of(event.step)
            self.assertEqual((told.num, told.min, told.max), (values.size, values.min(), values.max()))
            self.assertEqual(told.sum, values.sum())
            self.assertEqual(told.sum_squares, (values * values).sum())
            # Bucket i holds what is below its limit and not below the one before.
            below = np.searchsorted(np.sort(values), told.bucket_limit, side="left")
            np.testing.assert_array_equal(np.cumsum(told.bucket), below)
            self.assertEqual(sum(told.bucket), values.size)

    def test_text_is_equal(self):
        events = self.events()
        self.assertEqual(events.SummaryMetadata("settings").plugin_data.plugin_name, "text")
        tensor = events.Tensors("settings")[0].tensor_proto
        self.assertEqual(list(tensor.string_val), ["seed 1\n<b>größe</b>".encode()])

    def test_a_resumed_run_replaces_what_it_does_again(self):
        self.write("3")
        steps = [e.step for e in self.events().Scalars("train/loss")]
        self.assertEqual(steps, [0, 1, 2, 3, 4, 5, 6, 7])


if __name__ == "__main__":
    unittest.main()
