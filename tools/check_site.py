#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at pages of the site in chromium: a blank page, one without its theme or without search is a failure, and so is an
example of the reference that was taken for a quotation, or a name of the package that the reference leaves out.

usage: check_site.py SITE [--keep FOLDER]

Needs Pillow. Skipped, and says so, where there is no chromium.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from docs_reference import anchors
from PIL import Image

PAGES = ["index.html", "torch.html", "reference.html", "formats/index.html"]
PAGES += ["headers/engine.html", "notebooks/formats.html"]
WIDTH, HEIGHT = 1280, 900
LEAST_INK = 0.01  # share of pixels that are neither the background nor the bar of the theme


def ask(browser, address, *options):
    """What chromium prints."""
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        command += [
            "--hide-scrollbars",
            f"--window-size={WIDTH},{HEIGHT}",
            "--virtual-time-budget=5000",
            *options,
            address,
        ]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


@contextmanager
def served(site):
    """The address at which a folder can be seen meanwhile."""
    handler = partial(QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def what_is_wrong(image):
    """None, or why the picture is not that of a page."""
    colours = image.convert("RGB").getcolors(WIDTH * HEIGHT)
    by_count = sorted(colours, reverse=True)
    ink = 1 - sum(count for count, _ in by_count[:2]) / (image.width * image.height)
    if ink < LEAST_INK:
        return f"{ink:.2%} of it is ink, expected at least {LEAST_INK:.0%}"
    bar = image.convert("RGB").getpixel((image.width // 2, 3))
    if bar == (255, 255, 255):
        return "there is no bar at its top, expected that of the theme"
    return None


def check_reference(page):
    if re.search(r"(<blockquote>\s*){3}", page):
        sys.exit("check_site: reference.html has examples (>>>) that are no blocks of code")
    shown = set(re.findall(r'id="(nibble[^"]*)"', page))
    if absent := [name for name in anchors() if name not in shown]:
        sys.exit(f"check_site: reference.html leaves out {', '.join(absent)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--keep", type=Path, help="where the pictures go")
    given = parser.parse_args()
    check_reference((given.site / "reference.html").read_text(encoding="utf-8"))
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("check_site: skipped, there is no chromium")
        return
    with tempfile.TemporaryDirectory() as scratch, served(given.site) as address:
        folder = given.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in PAGES:
            to = folder / (name.replace("/", "-").removesuffix(".html") + ".png")
            ask(browser, f"{address}/{name}", f"--screenshot={to}")
            if wrong := what_is_wrong(Image.open(to)):
                sys.exit(f"check_site: {name}: {wrong}")
        search = re.search(r'class="md-search"[^>]*', ask(browser, f"{address}/index.html", "--dump-dom"))
        if search is None or "hidden" in search.group(0):
            sys.exit("check_site: index.html has no search that can be used")
    print(f"check_site: {len(PAGES)} pages look like pages, and can be searched")


if __name__ == "__main__":
    main()
