#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives a wheel another distribution name, so that wheels of two builds can be published beside each other.

    wheel_name.py WHEEL NAME [level of compression]    prints the path of the new wheel, which takes the place of the old one
"""

import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path


def hashed(data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={digest},{len(data)}"


def rename(path, name, level=6):
    path = Path(path)
    old, *rest = path.name.split("-")  # name, version, tags
    new = re.sub(r"[-_.]+", "_", name).lower()  # as file names have it
    made = path.with_name("-".join([new, *rest]))
    renamed = lambda member: re.sub(rf"^{re.escape(old)}-([^/]+\.(?:dist-info|data)/)", rf"{new}-\1", member)
    rows = []
    with zipfile.ZipFile(path) as wheel, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as out:
        for member in wheel.infolist():
            if member.is_dir():
                continue  # a record names files alone
            data = wheel.read(member)
            member.filename = renamed(member.filename)
            if member.filename.endswith(".dist-info/RECORD"):
                record = member.filename
                continue
            if member.filename.endswith(".dist-info/METADATA"):
                data = re.sub(rb"^Name: .*$", b"Name: " + name.encode(), data, count=1, flags=re.M)
            out.writestr(member, data, zipfile.ZIP_DEFLATED, level)
            rows.append(f"{member.filename},{hashed(data)}")
        out.writestr(record, "\n".join([*rows, f"{record},,"]) + "\n")
    path.unlink()
    return made


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    print(rename(sys.argv[1], sys.argv[2], int((sys.argv[3:] or [6])[0])))
