"""How far a comparison is: one bar over all its runs, or a few lines where nobody watches."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TextIO

_BETWEEN_DRAWINGS = 0.3  # seconds
_BETWEEN_LINES = 60.0  # seconds, in a log


def human_time(seconds: float) -> str:
    """ "40 s", "12 min", "3 h 05 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


class Progress:
    """Run i of n, its epoch, the seconds so far and those that are left.

    ``costs`` are those of the runs, in any unit: what is left takes as long for each unit as what
    was done. ``begin`` goes to the next run, ``moved`` inside it, ``epoch`` to the end of an epoch.
    A terminal and a notebook see one line that changes, with tqdm a bar; a log gets a line at the
    beginning, one a minute at most, and one at the end.
    """

    def __init__(
        self,
        wanted: bool,
        costs: Sequence[float],
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._costs, self._clock = list(costs), clock
        self._stream = stream or sys.stderr
        self._out = _make_output(self._stream, sum(costs)) if wanted else _Silent()
        self._start = self._shown_at = clock()
        self._number = 0  # of the run in hand, from 1
        self._name = self._epoch = ""
        self._before = 0.0  # work of runs that are over
        self._share = 0.0  # of the run in hand
        self._found = 0.0  # work that was done before this call
        self._own = 0  # runs that this call has trained

    def begin(self, name: str, share: float = 0.0) -> None:
        """The next run; ``share`` of it was done before."""
        if self._number:
            self._before += self._costs[self._number - 1]
        self._number, self._name, self._epoch, self._share = self._number + 1, name, "", share
        self._found += share * self._costs[self._number - 1]
        self._own += share < 1
        if self._own == 1 and share < 1:
            self._out.first(self.text())
        self._show()

    def found(self, share: float) -> None:
        """So much of the run in hand was done before: it goes on from a checkpoint."""
        self._found += (share - self._share) * self._costs[self._number - 1]
        self._share = share

    def moved(self, share: float) -> None:
        """So much of the run in hand is done."""
        self._share = share
        if self._out.every is not None and self._clock() - self._shown_at >= self._out.every:
            self._show()

    def epoch(self, done: int, epochs: int, note: str = "") -> None:
        """An epoch of the run in hand is done."""
        self._share = done / epochs
        self._epoch = f"epoch {done} of {epochs}" + (f", {note}" if note else "")
        if self._clock() - self._shown_at >= self._out.between:
            self._show()

    def _show(self) -> None:
        if self._out.draw(self.text(), self._done(), self._clock() - self._shown_at):
            self._shown_at = self._clock()

    def _done(self) -> float:
        return self._before + self._share * (self._costs[self._number - 1] if self._number else 0)

    @property
    def seconds_left(self) -> float | None:
        """None before anything was done."""
        own = self._done() - self._found
        if own <= 0:
            return None
        return (self._clock() - self._start) / own * max(sum(self._costs) - self._done(), 0.0)

    def text(self) -> str:
        """run 3 of 9, skip-7ep-b20-seed0: epoch 4 of 7, top1 45.30; 80 s, 5 min left"""
        left = self.seconds_left
        times = human_time(self._clock() - self._start)
        times += f", {human_time(left)} left" if left is not None else ""
        place = f"run {self._number} of {len(self._costs)}, {self._name}"
        return f"{place}{f': {self._epoch}' if self._epoch else ''}; {times}"

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        count, used = len(self._costs), self._number - self._own
        over = f"{count} runs done" if kind is None else f"stopped in run {self._number} of {count}"
        took = f"{over} in {human_time(self._clock() - self._start)}"
        self._out.end(took + (f"; {used} finished before, used again" if used else ""))


class _Silent:
    every: float | None = None  # seconds between two drawings inside an epoch; None: there are none
    between = float("inf")  # seconds between two at the ends of epochs

    def first(self, text: str) -> None:
        """Work begins."""

    def draw(self, text: str, done: float, since: float) -> bool:
        """Shows it, or not; `since`: seconds since the last time."""
        return False

    def end(self, text: str) -> None:
        """All runs are over."""


class _Log(_Silent):
    between = _BETWEEN_LINES

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def first(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def draw(self, text: str, done: float, since: float) -> bool:
        if since < self.between:
            return False
        print(text, file=self._stream, flush=True)
        return True

    def end(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class _Line(_Silent):
    every, between = _BETWEEN_DRAWINGS, 0.0

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._width = stream, 0

    def draw(self, text: str, done: float, since: float) -> bool:
        self._width = max(self._width, len(text))
        print(f"\r{text:<{self._width}}", end="", file=self._stream, flush=True)
        return True

    def end(self, text: str) -> None:
        self.draw(text, 0.0, 0.0)
        print(file=self._stream, flush=True)


class _Bar(_Silent):
    every, between = _BETWEEN_DRAWINGS, 0.0

    def __init__(self, tqdm: Any, stream: TextIO, total: float) -> None:
        self._bar = tqdm(total=total, file=stream, dynamic_ncols=True, bar_format="{percentage:3.0f}%|{bar:20}| {desc}")

    def draw(self, text: str, done: float, since: float) -> bool:
        self._bar.n = min(done, self._bar.total)
        self._bar.set_description_str(text, refresh=True)
        return True

    def end(self, text: str) -> None:
        self._bar.set_description_str(text, refresh=True)
        self._bar.close()


def _make_output(stream: TextIO, total: float) -> _Silent:
    watched = stream.isatty()
    notebook = not watched and stream is sys.stderr and "ipykernel" in sys.modules
    if not watched and not notebook:
        return _Log(stream)
    try:
        with warnings.catch_warnings():  # that a notebook has no widgets: a line of text will do
            warnings.simplefilter("ignore")
            return _Bar(import_module("tqdm.auto").tqdm, stream, total)
    except ImportError:
        return _Line(stream) if watched else _Log(stream)
