"""The index lists of an epoch, which tell when nobody needs them any more."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator


class IndexLists:
    """An iterator. A loader with workers comes to its end before the last batches are trained, and
    holds it until its loop is over: then `let_go` is called."""

    def __init__(self, lists: Iterator[list[int]], let_go: Callable[[], None]) -> None:
        self._lists = lists
        weakref.finalize(self, let_go)

    def __iter__(self) -> Iterator[list[int]]:
        return self

    def __next__(self) -> list[int]:
        return next(self._lists)
