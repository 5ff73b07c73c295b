# SPDX-License-Identifier: Apache-2.0
"""Arrays from whatever holds them; what holds none is refused in one line."""

import numpy as np
import pytest

import nibble
from nibble.gathering import arrays_of

x = np.arange(24, dtype=np.uint8).reshape(6, 2, 2, 1)
y = np.arange(6) % 3
BATCHES = [(x[:4], y[:4]), (x[4:], y[4:])]
SAME = {"images": x, "labels": y}
SPLITS = {"train_images": x, "train_labels": y, "test_images": x[:2], "test_labels": y[:2]}


def same(found, expected):
    return sorted(found) == sorted(expected) and all(np.array_equal(found[name], expected[name]) for name in expected)


def generated(batches):
    yield from batches


@pytest.mark.parametrize(
    "data, expected",
    [
        (x, {"images": x}),
        ((x, y), SAME),
        (SAME, SAME),
        (BATCHES, SAME),
        ([list(batch) for batch in BATCHES], SAME),
        (generated(BATCHES), SAME),
        ([x[:4], x[4:]], {"images": x}),
        ([(x[:4],), (x[4:],)], {"images": x}),
        ([[x[:4]], [x[4:]]], {"images": x}),
        (((x, y), (x[:2], y[:2])), SPLITS),
        ((BATCHES, [(x[:2], y[:2])]), SPLITS),
        ((generated(BATCHES), (x[:2], y[:2])), SPLITS),
        ((x, y.astype(np.float64)), {"images": x, "targets": y.astype(np.float32)}),
    ],
)
def test_forms(data, expected):
    assert same(arrays_of(data), expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_floats_become_float32(dtype):
    assert arrays_of(np.ones(3, dtype))["images"].dtype == np.float32


def endless(read):
    while True:
        read.append(1)
        yield x[:4], y[:4]


@pytest.mark.parametrize("most, batches", [(1, 1), (4, 1), (5, 2), (8, 2)])
def test_no_more_is_read_than_is_wanted(most, batches):
    read = []
    expected = {"images": np.tile(x[:4], (2, 1, 1, 1))[:most], "labels": np.tile(y[:4], 2)[:most]}
    assert same(arrays_of(endless(read), most=most), expected) and len(read) == batches
    splits = arrays_of((endless(read), BATCHES), most=most)
    assert len(splits["train_images"]) == most and len(splits["test_images"]) == 6
    assert same(arrays_of(BATCHES, most=most), SAME)  # a list is there anyway


def test_what_has_no_end_is_refused(monkeypatch):
    monkeypatch.setattr("nibble.gathering.most_bytes", lambda: 1 << 20)
    with pytest.raises(nibble.errors.LimitError, match=r"batches: got more than half of this machine's memory, 1 MiB, expected an end"):
        arrays_of(endless([]))


def test_loaders_of_torch():
    data = pytest.importorskip("torch.utils.data")
    import torch

    loader = lambda *arrays: data.DataLoader(data.TensorDataset(*map(torch.from_numpy, arrays)), batch_size=4)
    assert same(arrays_of(loader(x, y)), SAME)
    assert same(arrays_of(loader(x)), {"images": x})
    assert same(arrays_of((loader(x, y), loader(x[:2], y[:2]))), SPLITS)
    with pytest.raises(nibble.errors.ArgumentTypeError, match="object of type TensorDataset"):
        arrays_of(loader(x).dataset)
    with pytest.raises(nibble.errors.ArgumentTypeError, match="elements torch.complex64, expected an array of numbers"):
        arrays_of(torch.ones(3, dtype=torch.complex64))
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        assert same(arrays_of(torch.full((3,), 0.5, dtype=dtype)), {"images": np.full(3, 0.5, np.float32)})


TYPES, USAGE = nibble.errors.ArgumentTypeError, nibble.errors.UsageError


@pytest.mark.parametrize(
    "data, kind, text",
    [
        (3, TYPES, r"data: got an object of type int, expected a name, a path"),
        (None, TYPES, "data: got an object of type NoneType"),
        ((x, [0, 1]), TYPES, r"data: got a tuple of 2 \(ndarray, list\)"),
        ((x, y, x, y), TYPES, r"data: got a tuple of 4 \(ndarray, ndarray, ndarray, ndarray\)"),
        ((x,), TYPES, r"data: got a tuple of 1 \(ndarray\)"),
        (("digits", "mnist"), TYPES, r"data: got a tuple of 2 \(str, str\)"),
        ({"images": [[1], [2, 3]]}, TYPES, r"'images': got a list of 2 \(list, list\), expected an array of numbers"),
        ({"images": np.array([None])}, TYPES, "'images': got an object of type ndarray with elements object"),
        ((x, np.array(["cat"])), TYPES, "y: got an object of type ndarray with elements <U3"),
        ([], USAGE, "batches: got none, expected x or"),
        (generated([]), USAGE, "batches: got none.*a generator can be read once"),
        ([(x, y, y)], TYPES, r"batch 1: got a tuple of 3 \(ndarray, ndarray, ndarray\), expected x, \(x,\) or \(x, y\)"),
        ([(x, [0] * 6)], TYPES, r"batch 1: got a tuple of 2 \(ndarray, list\)"),
        ([[1, 2], [3, 4]], TYPES, r"batch 1: got a list of 2 \(int, int\)"),
        ([x, {"image": x}], TYPES, "batch 2: got an object of type dict"),
        ([x, y], USAGE, r"batch 2: got int64 \(6,\), expected the kind of the first, uint8 \(6, 2, 2, 1\)"),
        ([(x, y), (x,)], USAGE, "batch 2: got uint8 .*, expected the kind of the first, uint8 .* with int64"),
        ([x, x.astype(np.float32)], USAGE, r"batch 2: got float32 \(6, 2, 2, 1\), expected the kind of the first"),
        ([(x, y[:5])], USAGE, r"batch 1: got uint8 \(6, 2, 2, 1\) with int64 \(5,\), expected examples, and as many"),
        ([np.float32(3)], USAGE, r"batch 1: got float32 \(\), expected examples"),
    ],
)
def test_all_else_is_refused(data, kind, text):
    with pytest.raises(kind, match=r"^\[data\] " + text) as caught:
        arrays_of(data)
    assert "\n" not in str(caught.value)


def test_junk_is_refused_in_one_line():
    hypothesis = pytest.importorskip("hypothesis")
    from junk import arrays, junk

    some = hypothesis.strategies.one_of(junk, arrays)
    inside = some | hypothesis.strategies.lists(some, max_size=3) | hypothesis.strategies.tuples(some, some)

    @hypothesis.settings(max_examples=1000, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(inside | hypothesis.strategies.tuples(inside, inside), hypothesis.strategies.sampled_from([None, (2, 2, 1)]))
    def try_one(data, shape):
        try:
            found = arrays_of(data, shape)
        except nibble.Error as error:
            assert "\n" not in str(error), error
        else:
            assert all(isinstance(each, np.ndarray) and each.dtype.kind in "biuf" for each in found.values())

    try_one()
