#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults in small sites and checks that tools/check_site.py and mkdocs name them: a blank page, one without its theme, a
search that answers nothing or something else, a name that the reference leaves out, a broken link.

Links need mkdocs, which is in the Python of `make docs` alone (build/docs-venv). Skipped (77) where chromium or Pillow is not."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

if find_spec("PIL") is None or not (shutil.which("chromium") or shutil.which("google-chrome")):
    print("check_site_test: skipped, this machine lacks chromium or Pillow")
    sys.exit(77)

import check_site
from docs_reference import anchors

BAR = '<body style="margin: 0"><div style="background: #3949ab; height: 48px"></div>'
TEXT = '<p style="font-size: 40px">' + "A page that says something. " * 20 + "</p>"
SEARCH = """<script>if (new URLSearchParams(location.search).get("q") === "quire")
document.body.innerHTML += '<a class="md-search-result__link" href="posits.html">posits</a>'</script>"""


class CheckSite(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.site = Path(scratch.name)

    def page(self, text, name="page.html"):
        (self.site / name).write_text(f"<!doctype html>{text}", encoding="utf-8")

    def looked_at(self):
        check_site.check_pages(self.site, ["page.html"], self.site / "pictures")

    def test_a_page_that_looks_like_one(self):
        self.page(BAR + TEXT)
        self.looked_at()

    def test_a_blank_page(self):
        for text in ("", BAR):
            self.page(text)
            with self.assertRaisesRegex(SystemExit, r"check_site: page.html: 0.00% of it is ink"):
                self.looked_at()

    def test_a_page_that_is_not_there(self):
        with self.assertRaisesRegex(SystemExit, "check_site: page.html: "):
            self.looked_at()

    def test_a_page_without_its_theme(self):
        self.page(TEXT)
        with self.assertRaisesRegex(SystemExit, "check_site: page.html: there is no bar"):
            self.looked_at()

    def test_searches(self):
        self.page(BAR + SEARCH, "index.html")
        with mock.patch.object(check_site, "SECONDS", 250):  # a browser beside other tests needs some
            check_site.check_search(self.site, {"quire": "posits.html"})
            with self.assertRaisesRegex(SystemExit, "search for quire: got posits.html, expected floats.html among them"):
                check_site.check_search(self.site, {"quire": "floats.html"})
        with mock.patch.object(check_site, "SECONDS", 1):
            with self.assertRaisesRegex(SystemExit, "search for NITI: got no answer"):
                check_site.check_search(self.site, {"NITI": "posits.html"})

    def test_no_browser(self):
        with mock.patch("shutil.which", return_value=None):
            with self.assertRaisesRegex(SystemExit, "there is no chromium, which tools/setup installs"):
                self.looked_at()

    def test_a_reference_that_leaves_a_name_out(self):
        names = [f'<h3 id="{name}"></h3>' for name in anchors()]
        self.page("".join(names), "reference.html")
        check_site.check_reference(self.site)
        self.page("".join(names[1:]), "reference.html")
        with self.assertRaisesRegex(SystemExit, f"reference.html leaves out {anchors()[0]}"):
            check_site.check_reference(self.site)

    def test_the_classes_of_what_functions_take_and_give_back_are_asked_for(self):
        options = re.findall(r"^class (\w+)", (ROOT / "python/nibble/keywords.py").read_text(encoding="utf-8"), re.M)
        self.assertIn("PreprocessOptions", options)
        wanted = {*(f"nibble.keywords.{name}" for name in options), "nibble.evaluation.ArenaPlan", "nibble.engine.Step"}
        self.assertLessEqual(wanted, set(anchors()))


class Links(unittest.TestCase):
    """The pages of docs/ with a line more, built by the line of tools/docs."""

    @classmethod
    def setUpClass(cls):
        if find_spec("mkdocs") is None or find_spec("mkdocstrings") is None:
            raise unittest.SkipTest("this Python has no mkdocs: make docs-test runs it")
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.tree = Path(scratch.name)
        shutil.copytree(ROOT / "docs", cls.tree / "docs")
        for name in ("mkdocs.yml", "python", "tools"):
            (cls.tree / name).symlink_to(ROOT / name)

    def built(self, line):
        text = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
        (self.tree / "docs" / "limits.md").write_text(f"{text}\n{line}\n", encoding="utf-8")
        line = re.search(r'"\$venv/bin/mkdocs" (build .*) "\$folder"', (ROOT / "tools" / "docs").read_text(encoding="utf-8"))
        command = [sys.executable, "-m", "mkdocs", *line.group(1).split(), str(self.tree / "site")]
        done = subprocess.run(command, cwd=self.tree, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_a_sound_link(self):
        code, said = self.built("[Posits](formats/posits.md#quire)")
        self.assertEqual(code, 0, said)

    def test_broken_links(self):
        for link in ("gone.md", "formats/posits.md#gone"):
            code, said = self.built(f"[Posits]({link})")
            self.assertEqual(code, 1, said)
            self.assertIn("limits.md", said)
            self.assertIn("gone", said)


if __name__ == "__main__":
    unittest.main()
