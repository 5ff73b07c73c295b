# SPDX-License-Identifier: Apache-2.0
"""The commands that README and docs/ show are such that the program takes: verbs and options exist."""

import re
import shlex
import unittest
from functools import cache
from pathlib import Path

from case import run

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page):
    """The blocks without a language: commands, what they print, pictures."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    return [text for language, text in fences if not language]


def commands_of(page):
    """The words of each call of nibble in its blocks; where some lines have a prompt, the others are what was printed."""
    for block in blocks_of(page):
        lines = re.sub(r"\\\n", " ", block).splitlines()
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        for line in prompted or lines:
            if not re.match(r"([A-Z_]+=\S+ )*nibble ", line):
                continue
            words = shlex.split(line, comments=True)
            ends = [i for i, word in enumerate(words) if word in ("&&", "|")]
            yield words[words.index("nibble") + 1 : min(ends, default=len(words))]


@cache
def help_of(*verb):
    return run(*verb, "--help").stdout.decode()


def names_in(text):
    """What a help offers: verbs at the beginning of a line, options anywhere."""
    return set(re.findall(r"^  ([a-z0-9-]+) ", text, re.M)) | set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", text))


def verb_of(words):
    """`data list` of `nibble data list --json`: as many words as name a verb of the one before."""
    verb = words[:1]
    for word in words[1:]:
        if word.startswith("-") or word not in names_in(help_of(*verb)):
            break
        verb = [*verb, word]
    return verb


class Pages(unittest.TestCase):
    def test_every_command_is_one_that_the_program_takes(self):
        seen = 0
        for page in PAGES:
            for words in commands_of(page):
                where = f"{page.relative_to(ROOT)}: nibble {' '.join(words)}"
                verb = verb_of(words)
                self.assertIn(verb[0], names_in(help_of()), where)
                options = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
                self.assertLessEqual(options, names_in(help_of(*verb)), where)
                seen += 1
        self.assertGreater(seen, 80)


if __name__ == "__main__":
    unittest.main()
