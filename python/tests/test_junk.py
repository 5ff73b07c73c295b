# SPDX-License-Identifier: Apache-2.0
"""Whatever is thrown at a function, it answers with an exception of the fitting class in one line."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from junk import arrays, junk, words

import nibble

EXPECTED = (TypeError, ValueError, RuntimeError, OverflowError)

FUNCTIONS = {
    nibble.quantize: (2, "rounding overflow seed step stream compat scales zeros out".split()),
    nibble.encode: (2, "packed rounding overflow seed step stream scales zeros".split()),
    nibble.decode: (2, "scales zeros tensor_scale packed shape".split()),
    nibble.stats: (2, "quantized rounding overflow seed step stream compat scales zeros".split()),
    nibble.matmul: (2, "accumulator seed step stream out".split()),
    nibble.Format: (1, []),
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_junk_never_crashes(function, data):
    count, names = FUNCTIONS[function]
    first = data.draw(st.one_of(arrays, arrays, junk))
    second = data.draw(st.one_of(words, words, arrays, junk))
    options = data.draw(st.dictionaries(st.sampled_from(names), junk, max_size=3)) if names else {}
    try:
        function(*(first, second)[:count], **options)
    except EXPECTED as error:
        assert "\n" not in str(error) or "x\ny" in str(error), error


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_wrong_calls(function):
    for arguments, options in [((), {}), ((1,) * 9, {}), ((), {"unknown": 1})]:
        with pytest.raises(TypeError) as caught:
            function(*arguments, **options)
        assert "\n" not in str(caught.value)


@settings(max_examples=300, deadline=None)
@given(junk)
def test_formats_compare_with_anything(other):
    assert isinstance(nibble.Format("e4m3") == other, bool)
