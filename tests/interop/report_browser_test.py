# SPDX-License-Identifier: Apache-2.0
"""Opens an HTML report in headless chromium: it renders, says nothing on the console, asks for nothing.

NIBBLE_BIN names the command; skipped (77) without chromium.
"""

import html.parser
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from synthetic_runs import CLASSES, write_integers, write_run  # noqa: E402

NIBBLE = os.environ["NIBBLE_BIN"]
CHROMIUM = shutil.which("chromium")
HOSTILE = "</style><script>console.error('hostile')</script><img src=\"http://127.0.0.1:65333/x\" onerror=\"console.error(1)\">"


class Page(html.parser.HTMLParser):
    """Counts tags, classes and tooltips, collects addresses and text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.classes, self.tooltips, self.addresses, self.text = {}, {}, 0, [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        for name, value in attributes:
            if name in ("src", "href", "xlink:href"):
                self.addresses.append(value)
            if name == "title":
                self.tooltips += 1
            if name == "class":
                self.classes[value] = self.classes.get(value, 0) + 1

    def handle_data(self, data):
        self.text += data


class ReportInBrowser(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.page = self.folder / "report.html"

    def report(self, *runs):
        done = subprocess.run([NIBBLE, "report", *runs, "-o", self.page], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"{self.page}\n")

    def browse(self, *options):
        """Standard output of the browser; what the page says on the console fails the test."""
        log = self.folder / "net.json"
        done = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             f"--user-data-dir={self.folder / 'profile'}", f"--log-net-log={log}", "--enable-logging=stderr", "--v=0",
             "--window-size=1280,1000", *options, self.page.as_uri()],
            capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("127.0.0.1", log.read_text(), "a request")
        self.assertNotIn("CONSOLE", done.stderr)
        return done.stdout

    def two_runs(self):
        formats = {"weight": "e4m3", "activation": "e4m3", "error": "e5m2", "gradient": "fixed(16,8)"}
        return write_run(self.folder / "fp32", 1), write_run(self.folder / "fp8", 2, formats, lag=0.05, wrong=0.14)

    def test_two_runs_are_drawn_over_each_other(self):
        self.report(*self.two_runs())
        page = Page(self.browse("--dump-dom"))
        # A run has train, val and test of loss and top-1, and the learning rate.
        self.assertEqual(page.classes.get("curve"), 2 * 7)
        self.assertEqual(page.classes.get("histogram"), 2 * 4 * 7)
        self.assertEqual(page.tooltips, 2 * (4 * 7 + len(CLASSES) ** 2))
        self.assertEqual(page.classes.get("bar"), 2 * len(CLASSES))
        self.assertEqual(page.tags.get("script"), None)
        self.assertEqual(page.addresses, ["data:,"])
        for words in ("fp32", "fp8", "Ankle boot", "fixed(16,8)", "settings agree"):
            self.assertIn(words, page.text)

    def test_it_can_be_looked_at(self):
        self.report(*self.two_runs())
        for mode in ([], ["--blink-settings=preferredColorScheme=0"]):
            picture = self.folder / "shot.png"
            self.browse(f"--screenshot={picture}", *mode)
            data = picture.read_bytes()
            self.assertEqual(struct.unpack(">II", data[16:24]), (1280, 1000))
            self.assertGreater(len(data), 50_000, "an empty page is smaller")
            picture.unlink()

    def test_integers_are_drawn(self):
        self.report(write_integers(write_run(self.folder / "int8")))
        page = Page(self.browse("--dump-dom"))
        # 7 of the epochs; shifts of 4 values and 3 errors, 4 weights at the rails, 4 that moved.
        self.assertEqual(page.classes.get("curve"), 7 + 4 + 3 + 4 + 4)
        self.assertEqual(page.classes.get("integer"), 4 + 3 + 4 + 4)
        for words in ("Integers", "arithmetic", "5,4@7", "μ, bits", "2 of 4500"):
            self.assertIn(words, page.text)

    def test_an_unfinished_run_is_drawn(self):
        self.report(write_run(self.folder / "going", epochs=1, has_ended=False))
        page = Page(self.browse("--dump-dom"))
        self.assertEqual(page.classes.get("curve"), 5)  # no test in the first epoch
        self.assertIn("not ended", page.text)

    def test_hostile_names_stay_text(self):
        run = write_run(self.folder / HOSTILE.replace("/", "⁄"), layers=(HOSTILE, HOSTILE + "2"),
                        formats={"weight": HOSTILE}, class_names=[HOSTILE + str(i) for i in range(10)])
        self.report(run)
        page = Page(self.browse("--dump-dom"))
        self.assertEqual((page.tags.get("script"), page.tags.get("img")), (None, None))
        self.assertIn("<script>console.error", page.text)

    def test_errors_and_requests_would_be_noticed(self):
        for page, words in (("<script>console.error('x')</script>", "CONSOLE"),
                            ("<img src='http://127.0.0.1:65333/x'>", "a request")):
            self.page.write_text(page)
            with self.assertRaisesRegex(AssertionError, words):
                self.browse("--dump-dom")


if __name__ == "__main__":
    if CHROMIUM is None:
        print("no chromium: tools/setup installs it")
        sys.exit(77)
    unittest.main()
