#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles an emitted folder for a target, runs its self-tests there and says whether every answer was the engine's.

usage: run_target.py FOLDER TARGET [--json] [--seconds N]

The program is every C file of the folder but PREFIX_main.c, with a main of board/. Exit codes: 0 equal (or compiled,
where the target has no emulator), 1 different or failed, 77 the target's programs are not installed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from targets import BOARDS, TARGETS

FIND_BOARDS = ("-iquote", BOARDS.parents[2])  # their includes begin at the root
TOO_LARGE = "overflowed|will not fit|is not within region|is too large"


class Failure(Exception):
    pass


class TooLarge(Failure):
    """The program does not fit the memory of the target."""


def prefix_of(folder):
    """The name that all files of an emitted folder begin with."""
    found = [path.name[: -len("_check.c")].removesuffix("_train") for path in Path(folder).glob("*_check.c")]
    if not found:
        raise Failure(f"{folder}: no PREFIX_check.c: not an emitted folder")
    return min(found, key=len)


def sources_of(folder, prefix):
    hosted = (f"{prefix}_main.c", f"{prefix}_train_main.c")
    return sorted(path for path in Path(folder).glob("*.c") if path.name not in hosted)


def missing_programs(target):
    return [name for name in (target.compiler, *target.emulator[:1]) if shutil.which(name) is None]


def checks_of(folder, prefix):
    """Which self-tests the folder has: check, train_check or both."""
    return [name for name in ("check", "train_check") if (Path(folder) / f"{prefix}_{name}.c").exists()]


def call(command, seconds, **more):
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace",
                              timeout=seconds, stdin=subprocess.DEVNULL, **more)
    except subprocess.TimeoutExpired:
        raise Failure(f"{Path(command[0]).name} took longer than {seconds} s") from None


def memory_flags(target, prefix):
    """Where there is no C library the folder's own memcpy and memset."""
    return [f"-D{prefix.upper()}_SUPPLY_MEMORY"] if "-nostdlib" in target.flags else []


def compile_program(target, folder, program, machine=None):
    """Every C file of the folder, linked with the target's board; a target without one gets objects only."""
    prefix = prefix_of(folder)
    command = [target.compiler, *target.flags, f"-I{folder}", *memory_flags(target, prefix)]
    sources = sources_of(folder, prefix)
    if not target.board:
        for source in sources:
            finish_compiling(call([*command, source, "-o", program.with_suffix(".o")], 300))
        return
    command += [f"-D{name.upper()}={prefix}_{name}" for name in checks_of(folder, prefix)]
    command += [*FIND_BOARDS, *sources, BOARDS / "checks.c", BOARDS / f"{target.board}.c"]
    if machine:
        command += [f"-T{BOARDS / 'cortex_m.ld'}", *machine.link_flags()]
    finish_compiling(call([*command, "-o", program, *target.libraries], 300))


def finish_compiling(process):
    if process.returncode != 0:
        lines = process.stderr.splitlines() or ["?"]
        errors = [line for line in lines if re.search(rf"error|undefined|{TOO_LARGE}", line)]
        kind = TooLarge if re.search(TOO_LARGE, process.stderr) else Failure
        raise kind(f"compilation failed: {(errors or lines)[0].strip()}")


def run_program(target, program, seconds, machine=None, options=()):
    command = [*target.emulator, *options]
    if machine:
        command += ["-M", machine.name, "-kernel"]
    return call([*command, program], seconds, env={**os.environ, **target.environment})


def numbers_in(output):
    """What board_report wrote; simavr puts colours around it."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", output)
    return {name: int(number) for name, number in re.findall(r"^(\w+) (\d+)\b", plain, re.MULTILINE)}


def build_for_machine(target, folder, program):
    """The machine whose memory is enough, and None where the target has no choice of machines."""
    if not target.machines:
        compile_program(target, folder, program)
        return None
    for machine in target.machines:
        try:
            compile_program(target, folder, program, machine)
            return machine
        except TooLarge:
            if machine is target.machines[-1]:
                raise


def check(folder, name, seconds):
    """The answer as a dictionary: "result" is equal, different, compiled, absent, too-large or failed."""
    target = TARGETS[name]
    answer = {"target": name, "folder": str(folder)}
    missing = missing_programs(target)
    if missing:
        return {**answer, "result": "absent", "message": f"{' and '.join(missing)} not installed"}
    begin = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as work:
            program = Path(work) / "program"
            machine = build_for_machine(target, folder, program)
            if machine:
                answer["machine"] = machine.name
            if not target.board:
                return {**answer, "result": "compiled"}
            process = run_program(target, program, seconds, machine)
        expected = checks_of(folder, prefix_of(folder))
        found = numbers_in(process.stdout + process.stderr)
        answer["differences"] = {name: found[name] for name in expected if name in found}
        if len(answer["differences"]) < len(expected):
            last = (process.stdout + process.stderr).strip().splitlines()[-1:]
            raise Failure(f"no answer, exit code {process.returncode}: {' '.join(last)}")
        answer["result"] = "different" if any(answer["differences"].values()) else "equal"
    except TooLarge as failure:
        return {**answer, "result": "too-large", "message": str(failure)}
    except Failure as failure:
        return {**answer, "result": "failed", "message": str(failure)}
    return {**answer, "seconds": round(time.monotonic() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("target", choices=TARGETS, metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=int, default=120, help="the longest that the program may run")
    options = parser.parse_args()
    answer = check(options.folder, options.target, options.seconds)
    if options.json:
        print(json.dumps(answer))
    else:
        words = [answer.get("message", ""), *(f"{k} {v}" for k, v in answer.get("differences", {}).items())]
        print(f"{options.target}: {answer['result']}", *filter(None, words), sep="  ")
    return {"equal": 0, "compiled": 0, "absent": 77}.get(answer["result"], 1)


if __name__ == "__main__":
    sys.exit(main())
