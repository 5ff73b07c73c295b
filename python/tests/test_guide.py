# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python.md give what they say."""

import doctest
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


@pytest.mark.skipif(not GUIDE.exists(), reason="the tests stand outside of the tree")
def test_examples():
    text = GUIDE.read_text(encoding="utf-8").replace("```", "\n")  # a fence would count as output
    guide = doctest.DocTestParser().get_doctest(text, {}, GUIDE.name, str(GUIDE), 0)
    failed, tried = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(guide)
    assert tried > 15 and failed == 0
