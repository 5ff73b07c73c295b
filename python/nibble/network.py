# SPDX-License-Identifier: Apache-2.0
"""Networks as data: those that come with Nibble, from text, or built layer by layer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from nibble import _networks
from nibble.arguments import as_count, as_list, as_text, mistaken


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    if not isinstance(value, str):
        raise mistaken("network", "a key", value, "a text, a number, True, False or a list of them")
    return json.dumps(as_text("network", "a key", value), ensure_ascii=False)


def _reals(**lists: Any) -> dict[str, Any]:
    """Lists of numbers, as far as they are given."""
    expected = "a list of numbers"
    return {name: as_list("network", name, each, expected) for name, each in lists.items() if each is not None}


class Network:
    """A network without numbers; layers have the names and keys of the text form (docs/networks.md).

    >>> network = nibble.Network("tiny", input=(8, 8, 1))
    >>> network.add("conv2d", channels=4, kernel=3).add("relu").add("flatten")
    Network('tiny', 3 layers)
    >>> network.add("linear", name="fc", features=10, bias=True).add("softmax_cross_entropy")
    Network('tiny', 5 layers)
    >>> nibble.Network.from_toml(network.toml).input_shape
    (8, 8, 1)
    """

    def __init__(
        self,
        name: str,
        *,
        input: tuple[int, ...],
        classes: list[str] | None = None,
        mean: list[float] | None = None,
        deviation: list[float] | None = None,
    ) -> None:
        extents = as_list("network", "input", input, "integers, as (height, width, channels)")
        shape = [as_count("network", "input", extent) for extent in extents]
        names = None if classes is None else as_list("network", "classes", classes, "a list of names")
        keys = {"name": as_text("network", "name", name), "input": shape, "classes": names, **_reals(mean=mean, deviation=deviation)}
        self.name = name
        self._head = "".join(f"{key} = {_toml(value)}\n" for key, value in keys.items() if value is not None)
        self._layers: list[str] = []
        self._text: str | None = None

    @classmethod
    def from_toml(cls, text: str, source: str = "network") -> Network:
        """A network from its text form.

        >>> nibble.Network.from_toml("input = [8]\\nlayers = [{ op = 'linear', features = 2 }]", "two").input_shape
        (8,)
        """
        name, toml, shape = _networks.checked_network(as_text("network", "text", text), as_text("network", "source", source))
        network = cls(name, input=shape)
        network._text = toml
        return network

    def add(self, op: str, **settings: Any) -> Network:
        """Adds a layer; ``from_=…`` names what it takes, where that is not the layer before it. Gives the network.

        >>> nibble.Network("residual", input=(8,)).add("linear", name="fc", features=8).add("add", from_=["fc", "input"])
        Network('residual', 2 layers)
        """
        if self._text is not None:
            raise _frozen()
        keys = {"op": as_text("network", "op", op), **{key.rstrip("_"): value for key, value in settings.items()}}
        self._layers.append("{ " + ", ".join(f"{key} = {_toml(value)}" for key, value in keys.items()) + " }")
        return self

    @property
    def toml(self) -> str:
        """The text form, checked."""
        if self._text is not None:
            return self._text
        text = self._head + "layers = [\n" + "".join(f"  {layer},\n" for layer in self._layers) + "]\n"
        return _networks.checked_network(text, self.name)[1]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Of one example: height, width, channels, or features."""
        return _networks.checked_network(self.toml, self.name)[2]

    def __repr__(self) -> str:
        layers = self.toml.count("op =") if self._text is not None else len(self._layers)
        return f"Network({self.name!r}, {layers} layers)"


def _frozen() -> Exception:
    from nibble.errors import StateError

    return StateError("[network] add: got a network from text, expected one that is being built")


class _Named(Mapping[str, Network]):
    """The networks that come with Nibble, by name."""

    def __init__(self) -> None:
        self._texts = dict(_networks.named_networks())

    def __getitem__(self, name: str) -> Network:
        return Network.from_toml(self._texts[name], name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __repr__(self) -> str:
        return f"nibble.networks({', '.join(self)})"


networks = _Named()
"""The networks that come with Nibble: a mapping of names to ``nibble.Network``."""
