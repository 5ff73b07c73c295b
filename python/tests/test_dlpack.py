# SPDX-License-Identifier: Apache-2.0
"""Objects of other packages, by DLPack alone."""

import ctypes
import sys

import numpy as np
import pytest
from arrays import mixed_values, same_bits

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


class DlTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DlManaged(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", Deleter), ("flags", ctypes.c_uint64), ("tensor", DlTensor)]


class OfVersion:
    """Three floats in a structure of some version of DLPack; counts how often they were given back."""

    def __init__(self, major, minor):
        self.array, self.shape, self.given_back = np.float32([0.1, 3.14159, -1000]), ctypes.c_int64(3), 0
        self.deleter = Deleter(self.take_back)
        tensor = DlTensor(self.array.ctypes.data, 1, 0, 1, 2, 32, 1, ctypes.pointer(self.shape), None, 0)
        self.managed = DlManaged(major, minor, None, self.deleter, 0, tensor)

    def take_back(self, _):
        self.given_back += 1

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor_versioned", None)

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize("minor", [0, 7])
def test_a_version_that_is_known(minor):
    lent = OfVersion(1, minor)
    assert nibble.quantize(lent, "e4m3").tolist() == [0.1015625, 3.25, -448]
    assert lent.given_back == 1


@pytest.mark.parametrize("major", [0, 2, 1000])
def test_another_major_version_is_refused(major):
    lent = OfVersion(major, 3)
    with pytest.raises(TypeError, match=rf"^\[quantize\] x's version of DLPack: got {major}\.3, expected 1\.x$"):
        nibble.quantize(lent, "e4m3")
    assert lent.given_back == 1
