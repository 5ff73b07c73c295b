# SPDX-License-Identifier: Apache-2.0
"""nibble data."""

import functools
import gzip
import http.server
import io
import json
import os
import shutil
import tarfile
import threading
import unittest
from pathlib import Path

from case import Case, run


def idx(*extents, data):
    return bytes([0, 0, 8, len(extents)]) + b"".join(n.to_bytes(4, "big") for n in extents) + data


NOBODY = "http://127.0.0.1:1/"  # a port without a server


class DataCase(Case):
    def data(self, *arguments, code=0, mirror=NOBODY):
        """Standard output of a data verb that sees the temporary folder alone, and its error line."""
        variables = {"NIBBLE_DATA": str(self.folder), "HOME": str(self.folder), "NIBBLE_DATA_MIRROR": mirror}
        process = run("data", *arguments, **variables)
        self.assertEqual(process.returncode, code, process.stderr.decode())
        self.assertEqual(len(process.stderr.splitlines()), code)
        return process.stdout.decode(), process.stderr.decode()


class Data(DataCase):
    def put_mnist(self, labels):
        folder = self.folder / "mnist"
        folder.mkdir(exist_ok=True)
        for part in ("train", "t10k"):
            (folder / f"{part}-images-idx3-ubyte").write_bytes(idx(2, 28, 28, data=bytes(2 * 28 * 28)))
            (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(2, data=bytes(labels))))

    def test_the_list_says_what_is_where(self):
        sets = {entry["name"]: entry for entry in json.loads(self.data("list", "--json")[0])}
        self.assertEqual(list(sets), ["digits", "mnist", "fashion-mnist", "cifar10"])
        self.assertEqual((sets["digits"]["train"], sets["digits"]["test"], sets["digits"]["image"]), (1437, 360, [8, 8, 1]))
        self.assertTrue((Path(sets["digits"]["path"]) / "images.idx3.gz").exists())
        self.assertEqual((sets["cifar10"]["path"], sets["cifar10"]["classes"][3]), (None, "cat"))
        self.put_mnist([1, 2])
        text = self.data("list")[0]
        self.assertRegex(text, rf"\nmnist +60000 +10000 +28x28x1 +10  {self.folder}/mnist\n")
        self.assertRegex(text, r"\ncifar10 .* absent: looked in ")

    def test_packed_pictures_are_explained(self):
        (self.folder / "cifar10").mkdir()
        (self.folder / "cifar10" / "cifar10.medpack.xz").write_bytes(b"")
        command = f"{self.folder}/cifar10/unpack {self.folder}/.cache/nibble/cifar10"
        self.assertIn(f"run '{command}'", self.data("list")[0])
        text, error = self.data("get", "cifar10", code=1)
        self.assertIn(f"or run  {command}\n", text)
        self.assertIn("unpacked", error)

    def test_check_knows_the_digits(self):
        text = self.data("check")[0]
        self.assertRegex(text, r"digits +train +ok +[0-9a-f]{16}\ndigits +test +ok ")
        self.assertRegex(text, r"cifar10 +test +absent")
        states = {(e["name"], e["split"]): e["state"] for e in json.loads(self.data("check", "--json")[0])}
        self.assertEqual((states["digits", "train"], states["mnist", "test"]), ("ok", "absent"))

    def test_check_fails_on_other_bytes(self):
        self.put_mnist([1, 2])
        text, error = self.data("check", code=1)
        self.assertRegex(text, r"mnist +train +mismatch +got [0-9a-f]{16}, expected ec7ac742f8ee5ad2\n")
        self.assertIn("mnist train: mismatch, mnist test: mismatch", error)
        self.put_mnist([1, 10])
        text, error = self.data("check", "mnist", code=1)
        self.assertRegex(text, r"mnist +train +broken .*train-labels-idx1-ubyte.gz: label 1: got 10, expected 0 to 9\n")
        self.assertIn("absent", self.data("check", "cifar10", code=1)[1])

    def test_get_says_what_to_put_where(self):
        self.assertIn("digits is in ", self.data("get", "digits")[0])
        text, error = self.data("get", "mnist", code=1)
        for words in ("train-images-idx3-ubyte.gz", f"put in  {self.folder}/mnist\n", "ec7ac742f8ee5ad2", "https://"):
            self.assertIn(words, text)
        self.assertRegex(error, "does not download|127.0.0.1:1/mnist/train-images-idx3-ubyte.gz: ")

    def test_wrong_requests_are_refused(self):
        self.fails(1, "'imagenet'", "data", "check", "imagenet")
        self.fails(1, "'imagenet'", "data", "get", "imagenet")
        self.fails(2, "a verb is required", "data")
        self.fails(2, "NAME", "data", "get")

    def test_real_data_is_right_where_it_is(self):
        process = run("data", "check", **{k: v for k, v in os.environ.items() if k == "NIBBLE_DATA"})
        self.assertEqual(process.returncode, 0, process.stdout.decode())


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Cut(Quiet):
    """Promises more bytes than it sends."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"short")


class Elsewhere(Quiet):
    """Sends its visitors to another server."""

    def do_GET(self):
        self.send_response(302)
        self.send_header("Location", "http://example.org/")
        self.end_headers()


class Download(DataCase):
    """`get` from a server on this machine."""

    def setUp(self):
        super().setUp()
        if "does not download" in self.data("get", "mnist", code=1)[1]:
            self.skipTest("this build has no libcurl")
        self.site = self.folder / "site"
        self.site.mkdir()

    def serve(self, folder=None, handler=Quiet):
        """The address of a server of a folder, which ends with the test."""
        directory = str(folder or self.site)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=directory))
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    def refused(self, name, words, mirror):
        """Fails with these words and leaves nothing behind."""
        before = sorted(self.folder.rglob("*"))
        text, error = self.data("get", name, code=1, mirror=mirror)
        self.assertIn(words, error)
        self.assertIn(f"put in  {self.folder}/{name}\n", text)
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def put_site(self, images=bytes(2 * 28 * 28)):
        folder = self.site / "mnist"
        folder.mkdir(exist_ok=True)
        for part in ("train", "t10k"):
            (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(2, 28, 28, data=images)))
            (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(2, data=bytes(2))))

    def put_archive(self, names):
        (self.site / "cifar10").mkdir(exist_ok=True)
        with tarfile.open(self.site / "cifar10/cifar-10-binary.tar.gz", "w:gz") as archive:
            for name in names:
                member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
                member.size = 3073
                archive.addfile(member, io.BytesIO(bytes(3073)))

    def test_what_is_right_is_written(self):
        real = Path(os.environ.get("NIBBLE_DATA", "/nowhere")) / "mnist"
        names = [f"{part}-ubyte.gz" for part in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")]
        if not all((real / name).exists() for name in names):
            self.skipTest("MNIST is not here")
        shutil.copytree(real, self.site / "mnist")
        text, _ = self.data("get", "mnist", mirror=self.serve() + "/")
        self.assertEqual(text, f"mnist is in {self.folder}/mnist\n")
        self.assertEqual(sorted(path.name for path in (self.folder / "mnist").iterdir()), sorted(names))
        self.assertRegex(self.data("check", "mnist")[0], r"mnist +train +ok .*\nmnist +test +ok ")
        self.assertIn("is in", self.data("get", "mnist")[0], "what is here is not asked for again")

    def test_what_is_wrong_leaves_no_trace(self):
        self.put_site()
        address = self.serve()
        self.refused("mnist", "SHA-256 of the train split: got ", address)
        (self.site / "mnist/t10k-labels-idx1-ubyte.gz").write_bytes(b"no gzip")
        self.refused("mnist", "SHA-256 of the train split: got ", address)
        (self.site / "mnist/train-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"no idx"))
        self.refused("mnist", "train-images-idx3-ubyte.gz: magic number", address)
        (self.site / "mnist/train-images-idx3-ubyte.gz").unlink()
        self.refused("mnist", "404", address)

    def test_servers_that_misbehave_are_refused(self):
        self.refused("mnist", "train-images-idx3-ubyte.gz: ", self.serve(handler=Cut))
        self.refused("mnist", "the server answers 302", self.serve(handler=Elsewhere))
        self.refused("mnist", "127.0.0.1:1/mnist/", NOBODY)
        self.refused("mnist", "protocol: got http, expected https", "http://example.org/")

    def test_an_archive_is_unpacked_and_checked(self):
        batches = [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
        address = self.serve()
        self.put_archive(batches)
        self.refused("cifar10", "SHA-256 of the train split: got ", address)
        self.put_archive(batches[:-1])
        self.refused("cifar10", "cifar-10-binary.tar.gz: no test_batch.bin in it", address)
        (self.site / "cifar10/cifar-10-binary.tar.gz").write_bytes(gzip.compress(bytes(511)))
        self.refused("cifar10", "header at 0: got 511 bytes, expected 512", address)
        (self.site / "cifar10/cifar-10-binary.tar.gz").write_bytes(b"no gzip")
        self.refused("cifar10", "cifar-10-binary.tar.gz", address)


if __name__ == "__main__":
    unittest.main()
