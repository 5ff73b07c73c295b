# SPDX-License-Identifier: Apache-2.0
"""A bar for what takes long, by tqdm where it is installed: in a notebook it is a widget."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Bar:
    """Counts up to a total; without tqdm, or unwanted, it shows nothing."""

    def __init__(self, label: str, total: int | None, wanted: bool) -> None:
        self._bar: Any = None
        if wanted:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=total, desc=label, leave=False)

    def tell(self, words: str, done: int | None = None) -> None:
        """How far it is; words stand beside the bar."""
        if self._bar is None:
            return
        self._bar.set_postfix_str(words, refresh=False)
        self._bar.update(1 if done is None else done - self._bar.n)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
