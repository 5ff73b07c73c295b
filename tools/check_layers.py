#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom, and the few rules about files that a compiler does not know.

usage: check_layers.py [root of the tree]
"""

import re
import sys
from pathlib import Path

# A file may include its own module and modules of lower rows, never a higher row or a sibling.
ROWS = [
    ["core"],
    ["numerics", "laws", "cuda"],
    ["kernels", "graph", "data", "run_folder", "cluster"],
    ["epoch_loop", "foreign", "backend"],
    ["float_training", "integer_step", "engine"],
    ["quantization", "integer_training"],
    ["report", "emit", "inference", "placement"],
    ["loadgen", "tasks"],
    ["apps", "python", "bench", "tests", "examples"],
]
ROW_OF = {module: row for row, modules in enumerate(ROWS) for module in modules}
FRONT_DOORS = ROWS[-1]

# Both follow `laws`, and a test shows that they agree; sharing code would make that test empty.
FORBIDDEN = {("emit", "engine")}

C_HEADER = Path("include/nibble.h")
UMBRELLA = Path("include/nibble/nibble.hpp")

CODE = {".h", ".hpp", ".inc", ".c", ".cpp", ".cu", ".cuh"}
SPDX = "SPDX-License-Identifier: Apache-2.0"
MAX_LINES = 500
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def module_of_file(path):
    """The module of a file, from its path relative to the root; None where the table has none."""
    parts = path.parts
    if parts[0] in FRONT_DOORS:
        return parts[0]
    if parts[0] == "src" and len(parts) > 2:
        return parts[1] if parts[1] in ROW_OF else None
    if path == C_HEADER:
        return "engine"
    if parts[:2] == ("include", "nibble"):
        return module_of_public(parts[2:])
    return None


def module_of_public(parts):
    """The module of a public header, from its path below include/nibble."""
    if len(parts) == 1:  # version.h is made by the build; any other is an umbrella over everything
        return "core" if parts[0] == "version.h" else FRONT_DOORS[0]
    return parts[0] if parts[0] in ROW_OF else None


def check_include(path, module, quote, target):
    """What is wrong with one include line, or None."""
    parts = target.split("/")
    if ".." in parts:
        return f'include path with "..": {target}'
    is_public_file = path.parts[0] == "include"
    if target == C_HEADER.name:
        return None if module == "engine" or module in FRONT_DOORS else f"{module} includes the header for C: {target}"
    is_public_target = parts[0] == "nibble" and len(parts) > 1
    is_ours = is_public_target or (parts[0] in ROW_OF and len(parts) > 1 and quote == '"')
    if not is_ours:
        if quote == '"':
            return f"quoted include that does not start at include/, src/ or the root: {target}"
        is_of_c = target in ("stddef.h", "stdint.h")  # for headers that C reads too
        if is_public_file and ("/" in target or "." in target) and not is_of_c:
            return f"public header includes a header outside the standard library: <{target}>"
        return None
    if is_public_file and not is_public_target:
        return f"public header includes a private one: {target}"
    if target == UMBRELLA.relative_to("include").as_posix() and module in FRONT_DOORS:
        return None
    other = module_of_public(parts[1:]) if is_public_target else parts[0]
    if other is None:
        return f"include of a module that is not in the table: {target}"
    if other == module:
        return None
    if (module, other) in FORBIDDEN:
        return f"{module} must not include {other}: {target}"
    if ROW_OF[other] > ROW_OF[module]:
        return f"{module} (row {ROW_OF[module]}) includes the higher {other} (row {ROW_OF[other]}): {target}"
    if ROW_OF[other] == ROW_OF[module]:
        return f"{module} includes its sibling {other} (row {ROW_OF[other]}): {target}"
    return None


def check_file(root, path):
    """All problems of one file, as (line, text)."""
    lines = (root / path).read_text(encoding="utf-8", errors="replace").splitlines()
    if not any(SPDX in line for line in lines[:3]):
        yield 1, f"no '{SPDX}' in the first lines"
    if path.suffix not in CODE:
        return
    if path.parts[0] == "src" and path.suffix == ".cpp" and len(lines) > MAX_LINES:
        yield len(lines), f"{len(lines)} lines: split it, the limit is {MAX_LINES}"
    module = module_of_file(path)
    if module is None:
        yield 1, "the folder is not in the table of modules"
        return
    for number, line in enumerate(lines, 1):
        if match := INCLUDE.match(line):
            if problem := check_include(path, module, *match.groups()):
                yield number, problem


def check_umbrella(root):
    """All problems of the header that includes all public ones, as (line, text)."""
    folder = root / "include"
    public = {path.relative_to(folder).as_posix() for path in folder.glob("nibble/*/*.h")}
    if not public:
        return
    text = (root / UMBRELLA).read_text(encoding="utf-8") if (root / UMBRELLA).is_file() else ""
    included = {match.group(2) for line in text.splitlines() if (match := INCLUDE.match(line))}
    for header in sorted(public - included):
        yield 1, f"does not include {header}"


def is_for_tests(path):
    """Tests, fuzzers and benches, and what is named as theirs."""
    return path.parts[0] in ("tests", "bench") or re.search(r"(^(test|bench)_|_(test|fuzz|bench|test_support)\.\w+$)", path.name)


def check_test_headers(root, files):
    """Headers that tests alone include and that are not named so, as (path, text)."""
    users = {}
    for path in files:
        if path.suffix not in CODE:
            continue
        for line in (root / path).read_text(encoding="utf-8", errors="replace").splitlines():
            if (match := INCLUDE.match(line)) and match.group(1) == '"':
                users.setdefault(match.group(2), []).append(path)
    for path in files:
        if path.parts[0] != "src" or path.suffix not in (".h", ".cuh") or is_for_tests(path):
            continue
        readers = users.get(path.relative_to("src").as_posix(), [])
        if readers and all(is_for_tests(reader) for reader in readers):
            yield path, "tests alone include it: name it test_CONCEPT.h or MODULE_test_support.h"


def source_files(root):
    for folder in ("include", "src", "tools", *FRONT_DOORS):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.suffix in CODE | {".py"}:
                yield path.relative_to(root)


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    files = list(source_files(root))
    problems = [f"{path}:{line}: {text}" for path in files for line, text in check_file(root, path)]
    problems += [f"{UMBRELLA}:{line}: {text}" for line, text in check_umbrella(root)]
    problems += [f"{path}:1: {text}" for path, text in check_test_headers(root, files)]
    for problem in problems:
        print(problem)
    print(f"check_layers: {len(files)} files, {len(problems)} problems")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
