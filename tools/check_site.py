#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at pages of the site in chromium and searches it there: a blank page, one without its theme or a word that is not found
is a failure, and so is an example of the reference that was taken for a quotation, or a name of the package that the
reference leaves out.

usage: check_site.py SITE [--keep FOLDER]

Needs Pillow and chromium.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

from docs_reference import anchors
from PIL import Image

PAGES = ["index.html", "torch.html", "reference.html", "formats/index.html", "headers/engine.html"]  # beside all notebooks
# What is asked of the search, and a page that has to be among its answers.
SEARCHES = {
    "quire": "formats/posits.html",
    "LoadGen": "mlperf.html",
    "SWALP": "notebooks/low_precision_training.html",
    "quantize_network": "reference.html",
    "max_batch": "headers/engine.html",
}
WIDTH, HEIGHT = 1280, 900
LEAST_INK = 0.01  # share of pixels that are neither the background nor the bar of the theme
SECONDS = 20  # for the answers to one word

# The search works in a thread of the browser's own: this page is not loaded to its end, and so not printed, until there are
# answers or SECONDS are over.
ASKING = """<!doctype html><iframe width="1280" height="900" src="/index.html?q=WORD"></iframe><img src="/wait"><script>
const look = setInterval(() => {
  const links = document.querySelector("iframe").contentDocument.querySelectorAll("a.md-search-result__link");
  if (links.length === 0) return;
  clearInterval(look);
  document.body.dataset.found = JSON.stringify([...links].map((link) => new URL(link.href).pathname));
  fetch("/found");
}, 100);
</script>"""


def fail(text):
    sys.exit(f"check_site: {text}")


def chromium():
    return shutil.which("chromium") or shutil.which("google-chrome") or fail("there is no chromium, which tools/setup installs")


def ask(browser, address, *options):
    """What chromium prints."""
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        command += ["--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}", *options, address]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


class Site(SimpleHTTPRequestHandler):
    """The files of a site, and the page that asks its search."""

    def do_GET(self):
        path, _, word = self.path.partition("?")
        if path == "/ask":
            self.send(200, ASKING.replace("WORD", word).encode())
        elif path == "/wait":
            self.server.has_found.wait(SECONDS)
            self.send(204)
        elif path == "/found":
            self.server.has_found.set()
            self.send(204)
        else:
            super().do_GET()

    def send(self, code, text=b""):
        self.send_response(code)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *arguments):
        pass


@contextmanager
def served(site):
    """The server of a site, and the address at which it can be seen meanwhile."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, directory=str(site))) as server:
        server.has_found = threading.Event()
        server.handle_error = lambda *_: None  # a browser that has seen enough hangs up
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


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


def check_pages(site, pages, folder):
    """Pictures of pages, which stay in the folder."""
    browser = chromium()
    folder.mkdir(parents=True, exist_ok=True)
    with served(site) as (_, address):
        for name in pages:
            to = folder / (name.replace("/", "-").removesuffix(".html") + ".png")
            ask(browser, f"{address}/{name}", "--virtual-time-budget=5000", f"--screenshot={to}")
            if wrong := what_is_wrong(Image.open(to)):
                fail(f"{name}: {wrong}")


def check_search(site, searches):
    browser = chromium()
    with served(site) as (server, address):
        for word, page in searches.items():
            server.has_found.clear()
            shown = re.search(r'data-found="([^"]*)"', ask(browser, f"{address}/ask?{quote(word)}", "--dump-dom"))
            found = [name.removeprefix("/") for name in json.loads(unescape(shown.group(1)))] if shown else []
            if page not in found:
                fail(f"search for {word}: got {', '.join(found[:5]) or 'no answer'}, expected {page} among them")


def check_reference(site):
    page = (site / "reference.html").read_text(encoding="utf-8")
    if re.search(r"(<blockquote>\s*){3}", page):
        fail("reference.html has examples (>>>) that are no blocks of code")
    shown = set(re.findall(r'id="(nibble[^"]*)"', page))
    if absent := [name for name in anchors() if name not in shown]:
        fail(f"reference.html leaves out {', '.join(absent)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--keep", type=Path, help="where the pictures go")
    given = parser.parse_args()
    check_reference(given.site)
    pages = PAGES + sorted(path.relative_to(given.site).as_posix() for path in given.site.glob("notebooks/*.html"))
    with tempfile.TemporaryDirectory() as scratch:
        check_pages(given.site, pages, given.keep or Path(scratch))
    check_search(given.site, SEARCHES)
    print(f"check_site: {len(pages)} pages look like pages, {len(SEARCHES)} words are found")


if __name__ == "__main__":
    main()
