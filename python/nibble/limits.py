# SPDX-License-Identifier: Apache-2.0
"""What files from strangers may ask for."""

from __future__ import annotations

from nibble import _networks
from nibble.arguments import as_text


def set_limits(text: str = "") -> str:
    """Sets limits of the process: what every file that is read may ask for, as ``--limits`` does. Gives all that hold.

    Names that are not given keep what they have; an empty text sets the defaults again.

    >>> nibble.set_limits("memory=8G,nodes=1000")
    'memory=8589934592,values=268435456,macs=4398046511104,geometry=65536,nodes=1000,name=240,inflation=100'
    >>> nibble.set_limits().startswith("memory=68719476736,")
    True
    """
    return _networks.set_limits(as_text("limits", "text", text))
