# SPDX-License-Identifier: Apache-2.0
"""What mkdocstrings needs beside docstrings: their examples as blocks of code, not as quotations of quotations."""

import re

import griffe


class FencedExamples(griffe.Extension):
    """A fence around every stretch of lines that begins with a prompt and ends before an empty line."""

    def on_object(self, *, obj, **_):
        if obj.docstring is not None:
            examples = r"^(>>> .*(?:\n.+)*)"
            obj.docstring.value = re.sub(examples, r"```pycon\n\1\n```", obj.docstring.value, flags=re.M)
