# SPDX-License-Identifier: Apache-2.0
"""The examples of the guides give what they say."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def run_examples(page, least):
    text = (DOCS / page).read_text(encoding="utf-8").replace("```", "\n")  # a fence would count as output
    guide = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    failed, tried = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(guide)
    assert tried > least and failed == 0


@pytest.mark.skipif(not DOCS.exists(), reason="the tests stand outside of the tree")
def test_examples():
    run_examples("python.md", 15)


@pytest.mark.skipif(not DOCS.exists(), reason="the tests stand outside of the tree")
def test_examples_of_networks(nibble):
    run_examples("python-networks.md", 20)
