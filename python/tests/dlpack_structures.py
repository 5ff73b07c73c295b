# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays lent by DLPack's structures as another package might: of some version, on some device."""

import ctypes


class DlTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DlManaged(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", Deleter), ("flags", ctypes.c_uint64), ("tensor", DlTensor)]


CODES = {"i": 0, "u": 1, "f": 2}
GPU = 2, 0  # a device: its type and its index


class LentAs:
    """A dense array in a structure that says its version and its device; counts how often it was given back."""

    def __init__(self, array, version=(1, 0), device=(1, 0)):
        self.array, self.device, self.given_back = array, device, 0
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.deleter = Deleter(self.take_back)
        dtype = CODES[array.dtype.kind], 8 * array.itemsize, 1
        tensor = DlTensor(array.ctypes.data, *device, array.ndim, *dtype, self.shape, None, 0)
        self.managed = DlManaged(*version, None, self.deleter, 0, tensor)

    def take_back(self, _):
        self.given_back += 1

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor_versioned", None)

    def __dlpack_device__(self):
        return self.device
