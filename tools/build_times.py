#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a build goes: ninja's log by kind of work and by slowest step, then the compiler's own report.

usage: build_times.py BUILD_DIR [--steps N] [--report N]

  --steps N    the N slowest steps (15)
  --report N   compiles the N slowest objects again with -ftime-report and prints its phases (1)

A step that waits for a core counts its waiting, so figures of a busy machine are too large.
"""

import argparse
import collections
import re
import subprocess
import sys
from pathlib import Path

# The first that matches; the last takes the rest.
KINDS = [
    ("GPU kernels", re.compile(r"\.cu\.o$")),
    ("instruction sets", re.compile(r"/(x86|arm)_\w+\.cpp\.o$")),
    ("short fuzz tests", re.compile(r"fuzz_test\.dir/.*\.o$")),
    ("tests", re.compile(r"_test\.dir/.*\.o$")),
    ("the command", re.compile(r"/nibble\.dir/.*\.o$")),
    ("libraries", re.compile(r"/nibble_\w+\.dir/.*\.o$")),
    ("other objects", re.compile(r"\.o$")),
    ("linking", re.compile(r"^(bin/|lib/)")),
    ("the rest", re.compile("")),
]
PHASE = re.compile(r"^ (phase [\w. ]+?|template instantiation|callgraph functions expansion)\s*:\s*([\d.]+)")


def steps_of(log):
    """{output: seconds} of a .ninja_log, the last entry of an output."""
    steps = {}
    for line in log.read_text().splitlines():
        fields = line.split("\t")
        if len(fields) >= 4:
            steps[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return steps


def kind_of(output):
    return next(name for name, pattern in KINDS if pattern.search(output))


def print_report(build, output):
    """The phases of the compiler for one object; the object itself is not touched."""
    listing = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "-s", output],
                             capture_output=True, text=True, check=True).stdout
    command = next(line for line in listing.splitlines() if output in line)
    command = re.sub(r"^\S*ccache ", "", command)
    command = re.sub(r" -o \S+", " -o /dev/null", command)
    command = re.sub(r" -M[DFT]\S*( \S+\.(o|d))?", "", command)
    done = subprocess.run(f"{command} -ftime-report", shell=True, cwd=build, capture_output=True, text=True)
    print(f"\n{output}, seconds of the compiler:")
    for line in done.stderr.splitlines():
        if match := PHASE.match(line):
            print(f"{float(match.group(2)):8.1f}  {match.group(1)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--report", type=int, default=1)
    flags = parser.parse_args()
    log = flags.build / ".ninja_log"
    if not log.exists():
        print(f"build_times: {log}: no such file, expected a folder that ninja has built in", file=sys.stderr)
        return 1
    steps = steps_of(log)
    seconds = collections.Counter()
    counts = collections.Counter()
    for output, time in steps.items():
        seconds[kind_of(output)] += time
        counts[kind_of(output)] += 1
    print(f"{sum(seconds.values()):8.1f} s in {len(steps)} steps of {flags.build}")
    for kind, time in seconds.most_common():
        print(f"{time:8.1f} s  {counts[kind]:4} {kind}")
    print("\nThe slowest steps:")
    slowest = sorted(steps, key=lambda output: -steps[output])
    for output in slowest[:flags.steps]:
        print(f"{steps[output]:8.1f} s  {output}")
    objects = [output for output in slowest if output.endswith((".cpp.o", ".cxx.o"))]
    for output in objects[:flags.report]:
        print_report(flags.build, output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
