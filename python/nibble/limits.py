# SPDX-License-Identifier: Apache-2.0
"""What files from strangers may ask for."""

from __future__ import annotations

from nibble import _networks


def set_limits(text: str = "") -> str:
    """Sets limits of the process: what every file that is read may ask for, as ``--limits`` does. Gives all that hold.

    Names that are not given keep what they have; an empty text sets the defaults again.

    >>> nibble.set_limits("memory=8G,nodes=1000")
    'memory=8G,values=256M,macs=4T,geometry=64K,nodes=1000,name=240,inflation=100'
    >>> nibble.set_limits()
    'memory=64G,values=256M,macs=4T,geometry=64K,nodes=64K,name=240,inflation=100'
    """
    return _networks.set_limits(text)
