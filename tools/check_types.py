#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds types of one qualified name that two files define.

Linked into one program they share inline members, destructors among them: the linker keeps those of
one and throws the others away, and no compiler says so. Types of unnamed namespaces and of function
bodies are nobody else's, and are not looked at; nor are files X_absent.cpp, which are compiled where
X.cpp is not.

usage: check_types.py [root of the tree]
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

FOLDERS = ("include", "src", "apps", "python/src", "bench", "tests")
CODE = {".h", ".hpp", ".inc", ".cpp", ".cu", ".cuh"}
KEYWORDS = ("class", "struct", "union", "enum")

# Raw strings first: what looks like a comment or a string within them is neither.
NOT_CODE = re.compile(
    r'R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"'
    r"|//[^\n]*|/\*.*?\*/"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|\[\[|\]\]|[^\s\w]")


def tokens_of(text):
    """(token, line) of what is left without comments, literals and directives."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    text = DIRECTIVE.sub(blank, NOT_CODE.sub(blank, text))
    line, at = 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        yield match.group(), line


def after_brackets(tokens, at, opening, closing):
    """The index behind the bracket that closes the one at `at`."""
    depth = 0
    while at < len(tokens):
        depth += (tokens[at] == opening) - (tokens[at] == closing)
        at += 1
        if depth == 0:
            break
    return at


def type_name(tokens):
    """The name that a head, all that stands before '{', gives to a type; None: it defines none."""
    at = 0
    while at < len(tokens) and tokens[at] not in KEYWORDS:
        if tokens[at] == "template":
            at = after_brackets(tokens, at + 1, "<", ">")
        elif tokens[at] in ("typedef", "static", "constexpr", "inline", "const"):
            at += 1
        else:
            return None
    at += 1
    name = ""
    while at < len(tokens) and tokens[at] not in (":", "final"):
        if tokens[at] == "alignas":
            at = after_brackets(tokens, at + 1, "(", ")")
        elif tokens[at] == "[[":
            at = after_brackets(tokens, at, "[[", "]]")
        elif tokens[at] in ("(", "="):
            return None  # a function that returns one, or a variable
        else:
            name += "" if tokens[at] in KEYWORDS else tokens[at]
            at += 1
    return name or None


def types_of(text):
    """(qualified name, line) of the types that a text defines for all the program."""
    scopes = []  # a name, "" for one that adds none, None for one whose inside is its own
    head, first_line = [], 1
    for token, line in tokens_of(text):
        if token == "{":
            scope = None
            if "namespace" in head[:2]:
                scope = "".join(head[head.index("namespace") + 1 :]) or None
            elif head == ["extern"]:
                scope = ""
            elif name := type_name(head):
                scope = name
                if None not in scopes:
                    yield "::".join([outer for outer in scopes if outer] + [name]), first_line
            scopes.append(scope)
        elif token == "}" and scopes:
            scopes.pop()
        if token in "{};":
            head = []
        elif token == ":" and head[-1:] and head[-1] in ("public", "private", "protected"):
            head = []
        else:
            if not head:
                first_line = line
            head.append(token)


def source_files(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.suffix in CODE and not path.stem.endswith("_absent"):
                yield path.relative_to(root)


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    places = defaultdict(dict)  # of every name: the line in every file
    for path in source_files(root):
        for name, line in types_of((root / path).read_text(encoding="utf-8", errors="replace")):
            places[name].setdefault(path, line)
    problems = 0
    for name, files in sorted(places.items()):
        if len(files) > 1:
            problems += 1
            where = ", ".join(f"{path}:{line}" for path, line in files.items())
            print(f"{name} is defined more than once: {where}")
    print(f"check_types: {len(places)} types, {problems} problems")
    return 1 if problems or not places else 0


if __name__ == "__main__":
    sys.exit(main())
