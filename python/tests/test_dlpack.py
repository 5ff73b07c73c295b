# SPDX-License-Identifier: Apache-2.0
"""Objects of other packages, by DLPack alone."""

import sys

import numpy as np
import pytest
from arrays import mixed_values, same_bits
from dlpack_structures import LentAs

import nibble


class Lent:
    """An array that shows nothing but DLPack."""

    def __init__(self, array, knows_versions=True):
        self.array = array
        self.knows_versions = knows_versions

    def __dlpack__(self, *, max_version=None, **_):
        if not self.knows_versions and max_version is not None:
            raise TypeError("unexpected keyword argument 'max_version'")
        try:
            return self.array.__dlpack__(max_version=max_version)
        except TypeError:  # an older NumPy
            return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("knows_versions", [True, False])
def test_input_and_output(knows_versions):
    x = mixed_values(300).reshape(10, -1)
    lent = Lent(x.T, knows_versions)
    expected = nibble.quantize(x.T.copy(), "mxfp4")
    got = nibble.quantize(lent, "mxfp4")
    assert type(got) is np.ndarray and same_bits(np.ascontiguousarray(got), expected)
    out = Lent(np.empty_like(x), knows_versions)
    assert nibble.quantize(x, "e4m3", out=out) is out and same_bits(out.array, nibble.quantize(x, "e4m3"))


def test_other_functions():
    x = mixed_values(64).reshape(8, -1)[:, :8]
    x = np.where(np.isfinite(x), x, 1).astype(np.float32)
    lent = Lent(x)
    assert same_bits(nibble.encode(lent, "e4m3").decode(), nibble.quantize(x, "e4m3"))
    assert nibble.stats(lent, "e4m3") == nibble.stats(x, "e4m3")
    assert same_bits(nibble.matmul(lent, lent, accumulator="fp16"), nibble.matmul(x, x, accumulator="fp16"))


def test_memory_goes_back():
    x = mixed_values(10)
    before = sys.getrefcount(x)
    for _ in range(100):
        nibble.quantize(Lent(x), "e4m3")
        with pytest.raises(TypeError):
            nibble.quantize(Lent(np.ones(10, np.int64)), "e4m3")
    assert sys.getrefcount(x) == before


def test_read_only_output():
    x = mixed_values(10)
    frozen = x.copy()
    frozen.flags.writeable = False
    with pytest.raises((ValueError, BufferError, TypeError)):  # older NumPy refuses to lend it
        nibble.quantize(x, "e4m3", out=Lent(frozen))
    assert same_bits(frozen, x)


FLOATS = np.float32([0.1, 3.14159, -1000])


@pytest.mark.parametrize("minor", [0, 7])
def test_a_version_that_is_known(minor):
    lent = LentAs(FLOATS, version=(1, minor))
    assert nibble.quantize(lent, "e4m3").tolist() == [0.1015625, 3.25, -448]
    assert lent.given_back == 1


@pytest.mark.parametrize("major", [0, 2, 1000])
def test_another_major_version_is_refused(major):
    lent = LentAs(FLOATS, version=(major, 3))
    with pytest.raises(TypeError, match=rf"^\[quantize\] x's version of DLPack: got {major}\.3, expected 1\.x$"):
        nibble.quantize(lent, "e4m3")
    assert lent.given_back == 1
