# SPDX-License-Identifier: Apache-2.0
"""nibble report and nibble compare, on run folders made up."""

import json
import shutil
import sys
import unittest
from pathlib import Path

from case import Case

sys.path.insert(0, str(Path(__file__).parent.parent / "interop"))
from synthetic_runs import write_run  # noqa: E402


class Runs(Case):
    def setUp(self):
        super().setUp()
        self.a = write_run(self.folder / "a", 1, epochs=3)
        self.b = write_run(self.folder / "b", 2, {"weight": "fixed(8,4)"}, epochs=3)


class Report(Runs):
    def test_the_page_is_written_whole(self):
        path = self.folder / "r.html"
        self.assertEqual(self.done("report", self.a, self.b, "-o", path), f"{path}\n".encode())
        page = path.read_text()
        self.assertTrue(page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n"))
        self.assertEqual(self.done("report", self.a, self.b, "-o", "-").decode(), page)

    def test_damage_is_one_line_and_leaves_the_old_page(self):
        path = self.folder / "r.html"
        path.write_text("old")
        with open(self.b / "epochs.csv", "a") as file:
            file.write("4,x\n")
        line = self.fails(1, "epochs.csv line 5: got 2 fields, expected 11", "report", self.a, self.b, "-o", path)
        self.assertIn(str(self.b), line)
        self.assertEqual(path.read_text(), "old")

    def test_wrong_requests_are_refused(self):
        self.fails(1, "expected a run folder", "report", self.folder / "none")
        self.fails(1, "no settings.json", "report", self.folder)
        self.fails(1, "nowhere", "report", self.a, "-o", self.folder / "nowhere" / "r.html")
        self.fails(2, "RUN", "report")


class Compare(Runs):
    def test_the_table_says_what_differs(self):
        text = self.done("compare", self.a, self.b).decode()
        self.assertRegex(text, r"\n *seed +1 +2\n")
        self.assertRegex(text, r"\nweights hash +0000000000000001 +0000000000000002\n")
        self.assertIn("the weights are different", text)
        self.assertNotIn("optimizer", text)

    def test_json_says_the_same(self):
        told = json.loads(self.done("compare", self.a, self.b, "--json"))
        self.assertEqual(told["runs"], ["a", "b"])
        self.assertEqual(told["different"]["seed"], ["1", "2"])
        self.assertEqual(told["equal"]["network"], "lenet")
        self.assertEqual(told["weights_equal"], False)
        self.assertEqual(told["results"]["epochs"], [3, 3])
        self.assertEqual(len(told["results"]["test_top1"]), 2)

    def test_equal_weights_and_runs_that_go_on(self):
        shutil.copytree(self.a, self.folder / "again")
        self.assertIn(b"equal, bit for bit", self.done("compare", self.a, self.folder / "again"))
        (self.b / "summary.json").unlink()
        told = json.loads(self.done("compare", self.a, self.b, "--json"))
        self.assertEqual((told["weights_equal"], told["weights_hashes"][1]), (None, None))

    def test_one_run_is_no_comparison(self):
        self.fails(2, "RUN", "compare", self.a)


if __name__ == "__main__":
    unittest.main()
