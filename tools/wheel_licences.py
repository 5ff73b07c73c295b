#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the licences of all that a wheel carries from others into its .dist-info/licenses/third-party.

    wheel_licences.py WHEEL [level of compression]    run by the Python that the wheel was built with

Texts are those that came with the code: of Debian's packages, of PyPI's, of the heads of sources; what they refer to in
Debian's common licences comes along. CONTENTS.txt says whose text is whose. A shared library or a part without a text is an
error.
"""

import base64
import hashlib
import re
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OWN = re.compile(r"(_core|_networks|libnibble)[^/]*\.so")
COMMON = Path("/usr/share/common-licenses")
CUDA = Path("/usr/local/cuda")


def of_debian(package):
    return Path(f"/usr/share/doc/{package}/copyright").read_text()


def of_head(path):
    """The first comment of a source."""
    return re.match(r"/\*.*?\*/", path.read_text(), re.DOTALL)[0]


def of_nanobind():
    files = {file.name: file.locate() for file in distribution("nanobind").files}
    return files["LICENSE"].read_text() + "\n\nrobin-map, which is part of it:\n\n" + of_head(files["robin_map.h"])


def of_loadgen():
    (source,) = ROOT.glob(".loadgen/mlcommons_loadgen-*/loadgen.cc")
    return of_head(source) + f"\n\nThe License: {COMMON}/Apache-2.0\n"


def of_cuda():
    terms = CUDA / "EULA.txt"
    return terms.read_text() if terms.exists() else of_head(CUDA / "include/cuda_runtime.h")


# Headers and sources that are compiled into Nibble's own libraries.
COMPILED_IN = {
    "CLI11": lambda: of_debian("libcli11-dev"),
    "fmt": lambda: of_debian("libfmt-dev"),
    "nanobind": of_nanobind,
    "nlohmann-json": lambda: of_debian("nlohmann-json3-dev"),
    "onnx": lambda: of_debian("libonnx-dev"),
    "toml++": lambda: of_debian("libtomlplusplus-dev"),
    "xxhash": lambda: of_debian("libxxhash-dev"),
}


def of_library(name):
    """The text of a shared library that was copied from this machine, and its name there."""
    original = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", name)  # auditwheel adds a hash
    of_pypi = Path(sys.prefix, "share/doc/onednn")
    if original.startswith("libdnnl.") and of_pypi.exists():
        return "oneDNN", "\n\n".join((of_pypi / file).read_text() for file in ("LICENSE", "THIRD-PARTY-PROGRAMS"))
    found = subprocess.run(["dpkg", "-S", f"*/{original}"], capture_output=True, text=True)
    if found.returncode:
        sys.exit(f"wheel_licences: {name}: got no package of this machine that has it, expected one with its licence")
    package = found.stdout.split(":")[0]
    return package, of_debian(package)


def texts_of(wheel):
    """(what it is of, name of the text, text) of all that is in a wheel."""
    for member in wheel.namelist():
        name = member.split("/")[-1]
        if ".so" in name and not OWN.fullmatch(name):
            yield member, *of_library(name)
    for name, text in COMPILED_IN.items():
        yield name, name, text()
    code = [wheel.read(member) for member in wheel.namelist() if ".so" in member or member.endswith("/bin/nibble")]
    if any(b"MLPerf Results Summary" in each for each in code):
        yield "LoadGen", "LoadGen", of_loadgen()
    if any(b".nv_fatbin" in each for each in code):
        yield "CUDA's run time", "CUDA", of_cuda()


def add_licences(path, level):
    with zipfile.ZipFile(path) as wheel:
        members = {member.filename: (member, wheel.read(member)) for member in wheel.infolist()}
        found = list(texts_of(wheel))
    (record,) = (name for name in members if name.endswith(".dist-info/RECORD"))
    folder = record.replace("RECORD", "licenses/third-party")
    if f"{folder}/CONTENTS.txt" in members:
        sys.exit(f"wheel_licences: {path}: got a wheel that has them, expected one without")
    added = {f"{folder}/{name}.txt": text for _, name, text in found}
    common = {name.rstrip(".") for text in added.values() for name in re.findall(rf"{COMMON}/([\w.-]+)", text)}
    added.update({f"{folder}/common-licenses/{name}.txt": (COMMON / name).read_text() for name in sorted(common)})
    added[f"{folder}/CONTENTS.txt"] = "".join(f"{what}: {name}.txt\n" for what, name, _ in found)
    rows = members.pop(record)[1].decode().splitlines()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as wheel:
        for member, data in members.values():
            wheel.writestr(member, data, zipfile.ZIP_DEFLATED, level)
        for name, text in added.items():
            wheel.writestr(name, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            rows.insert(-1, f"{name},sha256={digest},{len(text.encode())}")
        wheel.writestr(record, "\n".join(rows) + "\n")
    print(f"{Path(path).name}: licences of {', '.join(name for _, name, _ in found)}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    add_licences(sys.argv[1], int((sys.argv[2:] or [6])[0]))
