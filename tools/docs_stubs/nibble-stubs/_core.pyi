# SPDX-License-Identifier: Apache-2.0
# Of nibble._core: what users call.
import numpy
import numpy.typing

version: str
"""Of Nibble, as ``nibble --version`` has it."""

has_cuda: bool
"""Whether this build has kernels for GPUs."""

class Format:
    """A number format: element times scaling, from its text form."""

    def __init__(self, text: str) -> None: ...
    @property
    def bits(self) -> int:
        """Bits of a code, without its share of the scales."""

    @property
    def max(self) -> float:
        """Largest finite value of the element."""

    @property
    def lowest(self) -> float:
        """Smallest finite value of the element."""

    @property
    def min_positive(self) -> float:
        """Smallest value above zero."""

    @property
    def min_normal(self) -> float:
        """Smallest value with full precision; min_positive unless a float."""

    @property
    def precision_bits(self) -> int:
        """Significant bits at most, the hidden one included; 0 for codebooks."""

    @property
    def has_infinity(self) -> bool:
        """Whether a code stands for infinity."""

    @property
    def has_nan(self) -> bool:
        """Whether a code stands for NaN."""

    @property
    def has_zero(self) -> bool:
        """Whether a code stands for 0."""

    @property
    def has_negative_zero(self) -> bool:
        """Whether -0 has a code of its own."""

    @property
    def is_scaled(self) -> bool:
        """Whether values are elements times a scale."""

    @property
    def family(self) -> str:
        """ "float", "grid", "posit" or "codebook"."""

    @property
    def element(self) -> Format:
        """The format without its scaling."""

    def values(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        All values of the element but NaN, ascending; formats of at most 16 bits.

        >>> nibble.Format("e2m1").values()[-3:]
        array([3., 4., 6.])
        """
