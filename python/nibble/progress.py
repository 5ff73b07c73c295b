# SPDX-License-Identifier: Apache-2.0
"""How far it is, for what takes long: a bar by tqdm, in a notebook a widget; without tqdm a line for every step."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


class Bar:
    """Counts up to a total; unwanted it shows nothing."""

    def __init__(self, label: str, wanted: bool) -> None:
        self._label = label
        self._tqdm = _tqdm() if wanted else None
        self._has_lines = wanted and self._tqdm is None
        self._bar: Any = None  # of tqdm, once the total is known: a widget's cannot change

    def tell(self, words: str, done: float, total: float) -> None:
        """So much of the total is done; words stand beside the bar, or behind the numbers in a line."""
        if self._has_lines:
            print(f"{self._label} {done:g}/{total:g}: {words}", file=sys.stderr, flush=True)
        self.move(words, done, total)
        if self._bar is not None:
            self._bar.refresh()  # the next update may be far

    def move(self, words: str, done: float, total: float) -> None:
        """As tell, for less than a step: lines do not show it."""
        if self._tqdm is None:
            return
        if self._bar is None:
            self._bar = self._tqdm(total=total, desc=self._label, leave=False)
        self._bar.set_postfix_str(words, refresh=False)
        self._bar.update(round(done, 2) - self._bar.n)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
