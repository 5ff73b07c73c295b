# SPDX-License-Identifier: Apache-2.0
"""What nibble train --arith int8 tells of its integers: tables, TensorBoard's histograms, the report."""

import struct

from train_case import IntegerCase, main


def fields_of(message):
    """(number, value) of a protocol buffer's fields: integers, 8 bytes, or bytes of a length."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, message[at:at + size]
        at += size


def histograms_of(events):
    """(tag, step, (least, most, count)) of the histograms of a TensorBoard file: Event.summary.value.histo."""
    at = 0
    while at < len(events):
        (size,) = struct.unpack_from("<Q", events, at)
        event = dict(fields_of(events[at + 12:at + 12 + size]))
        at += 16 + size
        for _, value in fields_of(event.get(5, b"")):
            fields = dict(fields_of(value))
            if 5 in fields:
                histogram = dict(fields_of(fields[5]))
                numbers = (struct.unpack("<d", histogram.get(key, bytes(8)))[0] for key in (1, 2, 3))
                yield fields[1].decode(), event.get(2, 0), tuple(numbers)


class Tables(IntegerCase):
    @staticmethod
    def told(folder):
        return list(histograms_of(next(folder.glob("events.out.tfevents.*")).read_bytes()))

    def test_the_table_of_integers_has_shifts_rails_and_moves(self):
        folder, _, _ = self.integers("run", "--epochs", "2")
        header = (folder / "integers.csv").read_text().splitlines()[0]
        self.assertEqual(header, "epoch,layer,tensor,shift,share_saturated,share_at_rails,share_moved,misses,batches")
        rows = self.rows(folder, "integers.csv")
        kinds = {(row[1], row[2]) for row in rows}
        for layer in ("conv1", "conv2"):
            self.assertLessEqual({(layer, "value"), (layer, "weight"), (layer, "bias")}, kinds)
        self.assertIn(("conv2", "error"), kinds)
        self.assertNotIn(("conv1", "error"), kinds)  # nobody asks for it
        for row in rows:
            self.assertTrue(row[4] or row[5], row)
            for share in filter(None, row[4:7]):
                self.assertTrue(0 <= float(share) <= 1, row)
            if row[2] in ("value", "error"):
                self.assertEqual(int(row[8]), 23 * int(row[0]))
                self.assertLessEqual(int(row[7]), int(row[8]))

    def test_batch_norms_have_no_shift_of_a_whole_tensor_and_no_mantissas(self):
        folder, _, _ = self.normed("run", "--epochs", "1")
        rows = {tuple(row[1:3]): row[3:] for row in self.rows(folder, "integers.csv")}
        told = {tag: histogram for tag, _, histogram in self.told(folder)}
        self.assertTrue(all(int(row[0]) >= 0 for (_, tensor), row in rows.items() if tensor in ("value", "error", "errors")), rows)
        self.assertGreaterEqual(min(told["shifts/value"][0], told["shifts/error"][0]), 0)
        for layer in ("norm1", "b"):
            self.assertEqual([tensor for name, tensor in rows if name == layer], ["scale", "shift"])
            self.assertIn(f"value/{layer}", told)
            for tensor, start in (("scale", 1), ("shift", 0)):
                shift, *others = rows[layer, tensor]
                self.assertGreater(int(shift), 0)
                self.assertEqual(set(others), {""})
                least, most, count = told[f"{tensor}/{layer}"]
                self.assertEqual(count, 8)
                self.assertTrue(start - 0.5 < least < most < start + 0.5, (least, most))
                self.assertFalse(least.is_integer() and most.is_integer(), (least, most))
                self.assertTrue((least * 2**16).is_integer() and (most * 2**16).is_integer(), (least, most))

    def test_tensorboard_gets_histograms_of_weights(self):
        folder, _, _ = self.integers("run", "--epochs", "2")
        told = {(tag, step): histogram for tag, step, histogram in self.told(folder)}
        layers = {row[1] for row in self.rows(folder, "layers.csv")}
        self.assertEqual({tag for tag, _ in told if tag.startswith("weight/")}, {f"weight/{name}" for name in layers})
        self.assertIn(("bias/conv1", 46), told)
        self.assertLessEqual({"value/conv1", "value/conv2", "error/conv2", "shifts/value", "shifts/weight"},
                             {tag for tag, _ in told})
        self.assertNotIn("error/conv1", {tag for tag, _ in told})  # nobody asks for it
        self.assertEqual(told["shifts/weight", 23][2], len(layers))
        header = (folder / "layers.csv").read_text().splitlines()[0].split(",")
        for row in (dict(zip(header, row)) for row in self.rows(folder, "layers.csv")):
            least, most, count = told["weight/" + row["layer"], 23 * int(row["epoch"])]
            self.assertEqual((least, most, count), (float(row["min"]), float(row["max"]), float(row["elements"])))

    def test_tables_and_report_have_histograms_of_values_and_errors(self):
        folder, _, _ = self.integers("run", "--epochs", "2")
        rows = [dict(zip(("epoch", "layer", "role", "low", "high", "counts"), row))
                for row in self.rows(folder, "histograms.csv")]
        self.assertLessEqual({("conv1", "value"), ("conv2", "value"), ("conv2", "error"), ("conv2", "weight")},
                             {(row["layer"], row["role"]) for row in rows})
        value = next(row for row in rows if (row["layer"], row["role"]) == ("conv1", "value"))
        counts = [int(count) for count in value["counts"].split()]
        self.assertEqual(len(counts), 64)
        self.assertEqual(sum(counts) % 64, 0)  # pixels, and all of them from whole pictures
        page = self.folder / "r.html"
        self.done("report", folder, "-o", page)
        for words in ("Shifts of all epochs", "conv2, error: epoch 2", "conv1, value: "):
            self.assertIn(words, page.read_text())


if __name__ == "__main__":
    main(needs_floats=False)
