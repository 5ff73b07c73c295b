#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes python/nibble/keywords.py: the command's options as typed keywords of the package's functions, from the help of its verbs.

usage: make_keywords.py COMMAND > python/nibble/keywords.py
"""

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "python" / "nibble"

# Function by verb: module, and the options of the command that it has otherwise or not at all, `--help` aside.
FUNCTIONS = {
    "train": ("training", "resume overwrite continue no-layer-statistics quiet limits"),
    "sweep": ("sweeping", "json limits"),
    "place": ("placement", "json"),
    "quantize": (
        "quantization",
        "output fake report calib no-equalize no-bias-correction plan scan-plot json limits",
    ),
    "loadgen": ("mlperf", ""),
    "tune": ("inspection", "json"),
    "eval": ("evaluation", "data confusion json limits"),
    "emit": ("evaluation", "output json"),
    "data preprocess": ("catalog", "data out"),
}
NAMES = {"quantize": "quantize_network", "eval": "evaluate", "data preprocess": "preprocess"}  # of functions that are not called as the verb
CLASSES = {"loadgen": "LoadGenOptions", "emit": "EmitTrainingOptions", "data preprocess": "PreprocessOptions"}  # the same
METHODS = {"eval": "EvaluateOptions", "emit": "EmitOptions"}  # that take the function's own keywords, too

# By the kind of value that the help tells, where it is no text, and by the option, where Python takes more than the command.
KINDS = {"FLOAT": "float", "INT": "int", "UINT": "int", "SIZE": "str | float"}
KINDS |= {"FILE": "str | PathLike[str]", "DIR": "str | PathLike[str]"}
OPTIONS = {"data": "Any", "from": "Any", "mu": "str | float", "bias-mu": "str | float"}

HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""The options of the command that functions take as keywords: what they are called, which values they take, what they mean.

from nibble.keywords import TrainOptions

Written by tools/make_keywords.py from the help of the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal, TypedDict
'''


def options_of(text):
    """(name, kind of value, meaning) of what a help lists."""
    lines = text.partition("\nOptions:\n")[2].partition("\n\n")[0].splitlines()
    option = re.compile(r"  (?:-\w,)?--([\w-]+)(?: (\S+(?: \S+)*))?(?:  +(.*))?")
    found = []
    for line in lines:
        if match := option.fullmatch(line):
            found.append([match[1], match[2] or "", match[3] or ""])
        else:
            found[-1][2] += " " + line.strip()
    return [(name, kind, meaning.strip()) for name, kind, meaning in found if name != "help"]


def help_of(command, verb):
    return subprocess.run([command, *verb.split(), "--help"], capture_output=True, text=True, check=True).stdout


def parameters(module, function):
    """The names of a function's own parameters, and their types."""
    tree = ast.parse((SOURCES / f"{module}.py").read_text(encoding="utf-8"))
    found = next(each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == function)
    types = {each.arg: ast.unparse(each.annotation) for each in found.args.args + found.args.kwonlyargs}
    return {name: re.sub(r"\bPath\b", "str | PathLike[str]", text) for name, text in types.items()}


def keyword(name):
    """An option's name in Python."""
    return "from_" if name == "from" else name.replace("-", "_")


def type_of(name, kind):
    """`TEXT:{a,b}` is one of two words, `RULE ...` may be given several times, no kind is a flag."""
    if name in OPTIONS:
        return OPTIONS[name] if OPTIONS[name] == "Any" else f"{OPTIONS[name]} | None"
    kind = re.sub(r" ?(Excludes:.*|REQUIRED)$", "", kind)
    if not kind:
        return "bool"
    value = KINDS.get(re.match(r"\w*", kind)[0], "str")
    if choices := re.search(r"\{([^}]*)\}", kind):
        words = ", ".join(f'"{each}"' for each in choices[1].split(","))
        value = f"Literal[{words}]"
    return f"{value} | list[{value}] | None" if kind.endswith(" ...") else f"{value} | None"


def meaning_of(text):
    """With options as keywords, and what stands in quotes as code."""
    text = re.sub(r"--([a-z][\w-]*)", lambda match: f"`{keyword(match[1])}`", text)
    return re.sub(r"(?<!\w)'([^']+)'(?!\w)", r"`\1`", text)


def class_of(name, base, said, fields):
    """A class with a field for each keyword."""
    lines = ["", "", f"class {name}({base}, total=False):", f'    """{said}"""']
    for field, kind, meaning in fields:
        lines += ["", f"    {field}: {kind}"]
        text = textwrap.TextWrapper(118, initial_indent="    ", subsequent_indent="    ")
        text.break_on_hyphens = text.break_long_words = False
        lines += text.wrap(f'"""{meaning_of(meaning)}"""')
    return lines


def written(helps):
    """The module, by the help of every verb. What takes all that nibble.train does has it from there."""
    lines, of_train = [], []
    for verb, (module, elsewhere) in FUNCTIONS.items():
        function = NAMES.get(verb, verb)
        has = parameters(module, function)
        listed = [each for each in options_of(helps[verb]) if each[0] not in elsewhere.split()]
        own = [(keyword(name), type_of(name, kind), text) for name, kind, text in listed if keyword(name) not in has]
        name, base, told = CLASSES.get(verb, f"{verb.capitalize()}Options"), "TypedDict", f"what ``nibble {verb} --help`` lists."
        if verb == "train":
            of_train = own
        elif all(each in own for each in of_train):
            base, own = "TrainOptions", [each for each in own if each not in of_train]
        if own:
            lines += class_of(name, base, f"Keywords of nibble.{function} beside its own: {told}", own)
        if verb in METHODS:
            all_else = [(keyword(name), has[keyword(name)], text) for name, _, text in listed if keyword(name) in has]
            lines += class_of(METHODS[verb], name if own else "TypedDict", f"All keywords of nibble.{function}: {told}", all_else)
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(written({verb: help_of(sys.argv[1], verb) for verb in FUNCTIONS}), end="")
