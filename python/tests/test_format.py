# SPDX-License-Identifier: Apache-2.0
"""nibble.Format and the list of formats."""

import copy
import pickle

import numpy as np
import pytest

import nibble


def test_text_is_canonical():
    assert str(nibble.Format("float( 5 , 10 )")) == "fp16"
    assert repr(nibble.Format("e4m3")) == 'nibble.Format("e4m3")'
    assert eval(repr(nibble.Format("int4(scale=absmax,block=64)"))) == nibble.Format("int4(block=64,scale=absmax)")


def test_equal_formats_are_one_key():
    texts = {nibble.Format("fp16"): 1}
    texts[nibble.Format("float(5,10)")] = 2
    assert texts == {nibble.Format("fp16"): 2}
    assert nibble.Format("e4m3") != nibble.Format("e5m2") and nibble.Format("e4m3") != "e4m3"


@pytest.mark.parametrize("name", [row.name for row in nibble.formats()])
def test_every_named_format_travels(name):
    one = nibble.Format(name)
    for other in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one), nibble.Format(str(one))):
        assert other == one and hash(other) == hash(one) and str(other) == str(one)


def test_properties_of_a_float():
    e4m3 = nibble.Format("e4m3")
    assert (e4m3.bits, e4m3.max, e4m3.lowest, e4m3.min_positive, e4m3.min_normal) == (8, 448, -448, 2**-9, 2**-6)
    assert (e4m3.has_nan, e4m3.has_infinity, e4m3.has_zero, e4m3.has_negative_zero) == (True, False, True, True)
    assert (e4m3.family, e4m3.is_scaled, e4m3.precision_bits) == ("float", False, 4)


def test_families_and_scaling():
    found = {text: nibble.Format(text).family for text in ("mxfp4", "int8", "posit(16,1)", "nf4", "bfp(8)")}
    assert found == {"mxfp4": "float", "int8": "grid", "posit(16,1)": "posit", "nf4": "codebook", "bfp(8)": "grid"}
    assert nibble.Format("mxfp4").is_scaled and nibble.Format("mxfp4").element == nibble.Format("e2m1")


def test_values_are_all_that_exist():
    assert nibble.Format("e2m1").values().tolist() == sorted({s * v for s in (1, -1) for v in (0, 0.5, 1, 1.5, 2, 3, 4, 6)})
    fp16 = nibble.Format("fp16").values()
    every = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float64)
    assert np.array_equal(fp16, np.unique(every[~np.isnan(every)]))
    assert len(nibble.Format("nf4").values()) == 16 and len(nibble.Format("codebook([1,2,4])").values()) == 3
    with pytest.raises(ValueError, match="at most 16"):
        nibble.Format("fp32").values()


def test_list_of_formats():
    names = [row.name for row in nibble.formats()]
    assert {"fp32", "e4m3", "mxfp4", "nvfp4", "nf4"} <= set(names)
    assert all(row.family and row.summary for row in nibble.formats())


def test_formats_do_not_change():
    with pytest.raises(AttributeError):
        nibble.Format("e4m3").bits = 3
    with pytest.raises(TypeError):
        type("Mine", (nibble.Format,), {})


@pytest.mark.parametrize("arguments", [(), ("e4m3", "e5m2"), (4,), (None,), (b"e4m3",)])
def test_wrong_arguments(arguments):
    with pytest.raises(TypeError) as caught:
        nibble.Format(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "e4m", "float(9,2)", "e4m3\n", "mxfp4(block=0)", "\ud800", "ä" * 1000])
def test_unknown_texts(text):
    with pytest.raises(ValueError) as caught:
        nibble.Format(text)
    assert "\n" not in str(caught.value)
