# SPDX-License-Identifier: Apache-2.0
"""nibble signature on every path, and nibble doctor."""

import json
import os
import re
import subprocess
import unittest
from pathlib import Path

from case import NIBBLE, Case


class Signature(Case):
    def test_every_path_and_thread_count_gives_one_signature(self):
        isas = json.loads(self.done("doctor", "--json"))["isas"]
        self.assertIn("reference", isas)
        if os.environ.get("NIBBLE_SANITIZED") == "1":
            isas = isas[-2:]
        signatures = {self.done("signature", NIBBLE_ISA=isa) for isa in isas}
        signatures |= {self.done("signature", OMP_NUM_THREADS=n) for n in ("1", "2")}
        self.assertEqual(len(signatures), 1, signatures)
        # Who changes numbers says so there.
        readme = (Path(__file__).resolve().parents[2] / "README.md").read_text()
        self.assertEqual(re.findall(r"^\$ nibble signature\n(.*\n)", readme, re.MULTILINE), [signatures.pop().decode()])

    def test_verbose_ends_with_the_same_hash(self):
        lines = self.done("signature", "--verbose").decode().splitlines()
        self.assertGreater(len(lines), 400)
        self.assertEqual(lines[-1], self.done("signature").decode().strip() + "  all")
        names = [line.split("  ", 1)[1] for line in lines]
        self.assertEqual(len(names), len(set(names)))

class Doctor(Case):
    def test_the_text_says_what_the_json_has(self):
        found = json.loads(self.done("doctor", "--json"))
        text = self.done("doctor").decode()
        lines = dict(line.split(maxsplit=1) for line in text.splitlines())
        self.assertEqual("nibble " + lines["nibble"], self.done("--version").decode().strip())
        for key, line in (("version", "nibble"), ("compiler", "compiler"), ("build_type", "build"), ("cpu", "cpu")):
            self.assertEqual(lines[line], found[key])
        self.assertEqual(lines["threads"], str(found["threads"]))
        if found["parts"]["mpi"]:
            self.assertEqual("takes device pointers" in lines["ranks"], found["mpi_takes_device_memory"])
        self.assertEqual(lines["isa"], f"{found['isa']} runs; this machine has {' '.join(found['isas'])}")
        for name, is_here in found["data"].items():
            self.assertIn(f"{name} {'yes' if is_here else 'no'}", lines["data"])

    def test_the_paths_are_those_that_the_processor_has(self):
        found = json.loads(self.done("doctor", "--json"))
        fields = dict(re.findall(r"^([^\t:]+)\t*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE))
        flags = set(fields.get("flags", "").split())
        expected = ["reference", "portable"]
        for isa, needed in (("avx2", "avx2 fma f16c"), ("avx512", "avx512f avx512bw avx512dq avx512vl"),
                            ("avx512vnni", "avx512_vnni"), ("amx", "amx_tile amx_int8")):
            if not flags.issuperset(needed.split()):
                break
            expected.append(isa)
        self.assertEqual(found["isas"], expected)
        self.assertEqual(found["isa"], expected[-1])
        if "model name" in fields:
            self.assertEqual(found["cpu"], fields["model name"].strip())

    def test_parts_are_those_that_the_command_is_linked_with(self):
        parts = json.loads(self.done("doctor", "--json"))["parts"]
        linked = subprocess.run(["ldd", NIBBLE], capture_output=True, text=True, check=True).stdout
        libraries = {"openmp": "libgomp|libomp", "onednn": "libdnnl", "onnx": "libonnx", "mpi": "libmpi",
                     "jpeg": "libjpeg", "png": "libpng", "curl": "libcurl", "zlib": "libz"}
        for part, library in libraries.items():
            is_linked = re.search(rf"\b({library})[\w.-]*\.so", linked) is not None
            self.assertEqual(parts[part] is not False, is_linked, f"{part}: doctor says {parts[part]}\n{linked}")
        has_runtime = b"cudaGetDeviceCount" in Path(NIBBLE).read_bytes()  # linked statically
        self.assertEqual(parts["cuda"] is not False, has_runtime)
        self.assertRegex(parts["onednn"] or "0.0", r"^\d+\.\d+")
        self.assertEqual(set(parts), set(libraries) | {"cuda"})

    def test_the_gpu_is_that_of_the_driver(self):
        gpu = json.loads(self.done("doctor", "--json"))["gpu"]
        folder = Path("/proc/driver/nvidia/gpus")
        count = len(list(folder.iterdir())) if folder.is_dir() else 0
        self.assertEqual(len(gpu["names"]), count)
        self.assertLessEqual(gpu["usable"], count)
        text = self.done("doctor").decode()
        self.assertIn("gpu       " + (gpu["names"][0] if count else "none found"), text)

    def test_data_sets_are_looked_for_where_told(self):
        (self.folder / "resnet20-cifar10").mkdir()
        (self.folder / "mnist").mkdir()
        found = json.loads(self.done("doctor", "--json", NIBBLE_DATA=str(self.folder), HOME=str(self.folder)))
        self.assertEqual(found["data_folder"], str(self.folder))
        self.assertTrue(found["data"]["resnet20-cifar10"])
        self.assertTrue(found["data"]["digits"])
        self.assertFalse(found["data"]["mnist"], "an empty folder is no data set")
        self.assertFalse(found["data"]["cifar10"])

    def test_a_forced_path_is_the_one_that_runs(self):
        for isa in json.loads(self.done("doctor", "--json"))["isas"]:
            self.assertEqual(json.loads(self.done("doctor", "--json", NIBBLE_ISA=isa))["isa"], isa)
        self.fails(1, "bogus", "doctor", NIBBLE_ISA="bogus")
        self.fails(1, "bogus", "signature", NIBBLE_ISA="bogus")
        self.fails(1, "bogus", "round", "--to", "e4m3", self.input, self.output, NIBBLE_ISA="bogus")

    def test_threads_come_from_the_environment(self):
        self.assertEqual(json.loads(self.done("doctor", "--json", OMP_NUM_THREADS="3"))["threads"], 3)


if __name__ == "__main__":
    unittest.main()
