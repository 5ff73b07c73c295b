# SPDX-License-Identifier: Apache-2.0
# Of nibble._networks: what users call of the class that nibble.Engine extends.
from typing import Any

class Engine:
    def run(self, x: Any, out: Any = None) -> Any:
        """
        The integers that the network answers with, for one example or a batch; into out, where it is given.

        >>> engine = nibble.Engine(digits_model)
        >>> out = np.empty((3, 10), np.int32)
        >>> engine.run(np.zeros((3, 8, 8, 1), np.uint8), out) is out
        True
        """

    def answers(self, x: Any) -> Any:
        """
        As run, but the real numbers that the integers stand for, as float32.

        >>> answers = nibble.Engine(digits_model).answers(np.zeros((3, 8, 8, 1), np.uint8))
        >>> answers.shape, answers.dtype
        ((3, 10), dtype('float32'))
        """

    @property
    def weight_bytes(self) -> int:
        """Of the weights, as they lie in memory."""

    @property
    def arena_bytes(self) -> int:
        """Of all values of one run, for max_batch examples."""

    @property
    def threads(self) -> int:
        """Of one run."""

    @property
    def device(self) -> str:
        """As it was asked for."""
