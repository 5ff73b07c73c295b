#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/tour.md tells of the tree as it is: what it names exists, and no folder of src/ is left out. And that
docs/cpp.md tells of the public headers: each has a row, and the names of a row stand in its header.

usage: check_tour.py [root of the tree]

A name is a text in backquotes without spaces that has a '/' or ends as a file of the tree does; `<name>` stands for any
text, `{h,cpp}` for one after the other. It is looked for beside what the same row, item or paragraph named before, then
in the root, src/ and include/. Links are looked for from docs/.
"""

import re
import sys
from itertools import product
from pathlib import Path

TOUR = Path("docs/tour.md")
LIBRARY = Path("docs/cpp.md")
SOURCES = {".h", ".c", ".cpp", ".cu", ".cuh"}
FILES = SOURCES | {".cmake", ".inc", ".md", ".py", ".toml", ".txt"}
BLOCK = re.compile(r"^\s*(?:\||-\s|\d+\.\s|$)")  # a line that begins a row of a table, an item or a paragraph
NAME = re.compile(r"`([^`\s]+)`")
LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)")
HEADER_ROW = re.compile(r"^\| `(nibble/[^`]+)` \| (.*) \|$")
BRACES = re.compile(r"\{([^{}]*)\}")


def is_path(name):
    return not name.startswith(("/", ".")) and ("/" in name or Path(name).suffix in FILES)


def alternatives(name):
    """a.{h,cpp}: a.h and a.cpp."""
    parts = BRACES.split(name)
    choices = [part.split(",") if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]


def find(folders, name):
    """The first place that has it, or None."""
    pattern = re.sub(r"<\w+>", "*", name).rstrip("/")
    for folder in folders:
        for place in sorted(folder.glob(pattern)):
            if place.is_dir() or not name.endswith("/"):
                return place
    return None


def check_names(root, lines):
    """All names of the tour as (line, name, whether it is there)."""
    roots = [root, root / "src", root / "include"]
    beside = []  # folders of what the block has named, the latest first
    is_code = False
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            is_code = not is_code
        if is_code:
            continue
        if BLOCK.match(line):
            beside = []
        for link in LINK.findall(line):
            yield number, link, (root / TOUR.parent / link).exists()
        for name in filter(is_path, NAME.findall(line)):
            for each in alternatives(name):
                place = find(beside + roots, each)
                yield number, each, place is not None
                if place is not None:
                    beside.insert(0, place if place.is_dir() else place.parent)


def folders_to_name(folder):
    """Those with sources of their own; of others, what is in them."""
    for inside in sorted(path for path in folder.glob("*") if path.is_dir()):
        if any(path.suffix in SOURCES for path in inside.iterdir()):
            yield inside
        else:
            yield from folders_to_name(inside)


def check_library(root):
    """What is wrong with the table of public headers."""
    include = root / "include"
    left = {path.relative_to(include).as_posix() for path in include.glob("nibble/*/*.h")}
    lines = (root / LIBRARY).read_text(encoding="utf-8").splitlines() if (root / LIBRARY).is_file() else []
    for number, line in enumerate(lines, 1):
        if not (row := HEADER_ROW.match(line)):
            continue
        header, names = row.groups()
        left.discard(header)
        text = (include / header).read_text(encoding="utf-8") if (include / header).is_file() else ""
        for name in NAME.findall(names):
            if not re.search(rf"\b{re.escape(name)}\b", text):
                yield f"{LIBRARY}:{number}: there is no {name} in {header}"
    for header in sorted(left):
        yield f"{LIBRARY}: {header} has no row"


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    if not (root / TOUR).is_file():
        print(f"check_tour: no {TOUR} in {root}")
        return 1
    text = (root / TOUR).read_text(encoding="utf-8")
    names = list(check_names(root, text.splitlines()))
    problems = [f"{TOUR}:{line}: there is no {name}" for line, name, is_there in names if not is_there]
    for folder in folders_to_name(root / "src"):
        name = folder.relative_to(root).as_posix() + "/"
        if f"`{name}`" not in text:
            problems.append(f"{TOUR}: {name} is not in the table of folders")
    problems += check_library(root)
    for problem in problems:
        print(problem)
    print(f"check_tour: {len(names)} names, {len(problems)} problems")
    return 1 if problems or not names else 0


if __name__ == "__main__":
    sys.exit(main())
