# SPDX-License-Identifier: Apache-2.0
"""Whatever can be thrown at a function, as strategies of hypothesis."""

import math

import numpy as np
from hypothesis import strategies as st

import nibble


class Lying:
    """An object whose attributes promise an array."""

    shape = (3,)
    dtype = np.dtype(np.float32)
    is_cuda = "yes"

    def __init__(self, answer, device=(1, 0)):
        self.answer, self.device = answer, device

    def __dlpack__(self, **_):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def __dlpack_device__(self):
        return self.device

    def __len__(self):
        return -1

    def __index__(self):
        return "no"


arrays = st.sampled_from(
    [
        np.ones(4, np.float32),
        np.ones((2, 3), np.float32).T,
        np.ones((4, 4), np.float16)[::2],
        np.array(1, np.float32),
        np.empty((0, 2), np.float32),
        np.ones(3),
        np.arange(5, dtype=np.uint8),
        np.array([None, "x"], dtype=object),
        np.zeros(2, dtype=[("a", "f4")]),
        np.ones((1,) * 12, np.float32),
        np.full(4, np.nan, np.float32),
        np.ma.masked_array([1.0, 2.0], mask=[0, 1], dtype=np.float32),
        np.float32(3),
    ]
)
words = st.sampled_from(
    ["e4m3", "mxfp4", "nvfp4", "int8(axis=0)", "posit(32,2)", "nf4", "stochastic", "stochastic(99)", "up", "saturate", "nan"]
    + ["qtorch", "none", "native", "separate", "a\nb", "\0", "\ud800", ""]
)
objects = st.sampled_from(
    [Lying(None, device) for device in ((1, 0), (2, 0), (2, 99), (2**40, 0), "no", None)]
    + [Lying(ValueError("x\ny")), Lying(3), object(), int, nibble, print, np.ndarray, ..., NotImplemented]
    + [nibble.Format("e4m3"), nibble.Accumulator("fp16"), nibble.Accumulator(3, method=[]), b"e4m3", memoryview(b"abcd")]
    + [nibble.encode(np.ones(4, np.float32), "mxfp4"), nibble.Encoded(1, 2, 3, 4, nibble.Format("e4m3"), (2,), True)]
    + [nibble.Encoded(np.zeros(3, np.uint8), None, None, None, "zz", "abc", "yes"), range(3), {1: 2}, {3}]
)
numbers = st.one_of(st.integers(), st.floats(), st.booleans(), st.complex_numbers(), st.sampled_from([2**64, -1, math.inf]))
junk = st.recursive(
    st.one_of(st.none(), numbers, words, st.text(max_size=8), st.binary(max_size=8), arrays, objects),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
