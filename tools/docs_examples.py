# SPDX-License-Identifier: Apache-2.0
"""What mkdocstrings needs beside docstrings: their examples as blocks of code, not as quotations of quotations, and what stands
behind a field of a class as its text."""

import re

import griffe


class FencedExamples(griffe.Extension):
    """A fence around every stretch of lines that begins with a prompt and ends before an empty line."""

    def on_object(self, *, obj, **_):
        if obj.docstring is not None:
            examples = r"^(>>> .*(?:\n.+)*)"
            obj.docstring.value = re.sub(examples, r"```pycon\n\1\n```", obj.docstring.value, flags=re.M)


class Fields(griffe.Extension):
    """`low: int  # of all values, proven` is what that field says of itself."""

    def on_object(self, *, obj, **_):
        if not (obj.is_attribute and obj.parent is not None and obj.parent.is_class and obj.docstring is None and obj.lineno):
            return
        behind = re.search(r"  # (.+)$", obj.source)
        if behind and not behind.group(1).startswith(("noqa", "type:")):
            obj.docstring = griffe.Docstring(behind.group(1), parent=obj)
