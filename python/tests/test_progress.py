"""Does one line say which run, which epoch and how long, and is a log spared?"""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from adagp._impl.progress import Progress, human_time


class Clock:
    """Seconds pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def go(progress: Progress, clock: Clock, runs: int, epochs: int, seconds: float) -> None:
    """Runs of so many epochs, each of ten batches that take `seconds`."""
    for number in range(runs):
        progress.begin(f"bp-{epochs}ep-seed{number}")
        for epoch in range(epochs):
            for batch in range(10):
                clock.now += seconds
                progress.moved((epoch + (batch + 1) / 10) / epochs)
            progress.epoch(epoch + 1, epochs, "top1 50.00")


def test_the_text_names_run_epoch_and_times() -> None:
    clock = Clock()
    with Progress(False, [2.0, 2.0, 6.0], clock=clock) as progress:
        progress.begin("a")
        assert progress.text() == "run 1 of 3, a; 0 s" and progress.seconds_left is None
        progress.epoch(2, 2)
        progress.begin("b")
        clock.now += 30
        progress.epoch(1, 4, "top1 45.30")
        # 2.5 of 10 units took 30 seconds, so 7.5 take 90.
        assert progress.seconds_left == pytest.approx(90)
        assert progress.text() == "run 2 of 3, b: epoch 1 of 4, top1 45.30; 30 s, 2 min left"


def test_what_was_done_before_does_not_count_as_speed() -> None:
    clock = Clock()
    with Progress(False, [4.0, 4.0, 4.0], clock=clock) as progress:
        progress.begin("finished", 1.0)
        progress.begin("half")
        progress.found(0.5)
        clock.now += 10
        progress.moved(1.0)
        assert progress.seconds_left == pytest.approx(20)  # 2 units took 10 seconds, 4 are left


def test_a_log_gets_few_lines() -> None:
    log, clock = io.StringIO(), Clock()
    with Progress(True, [1.0] * 20, log, clock) as progress:
        go(progress, clock, runs=20, epochs=10, seconds=0.01)
    lines = log.getvalue().splitlines()
    assert lines == ["run 1 of 20, bp-10ep-seed0; 0 s", "20 runs done in 20 s"]


def test_a_long_run_in_a_log_shows_that_it_lives() -> None:
    log, clock = io.StringIO(), Clock()
    with Progress(True, [1.0], log, clock) as progress:
        go(progress, clock, runs=1, epochs=10, seconds=3.0)  # 30 s an epoch
    lines = log.getvalue().splitlines()
    assert len(lines) == 2 + 5 and "epoch 2 of 10, top1 50.00; 60 s, 4 min left" in lines[1]


@pytest.mark.parametrize("tqdm", [True, False])
def test_a_terminal_has_one_line_that_moves_inside_an_epoch(tqdm: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if tqdm:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    terminal, clock = Terminal(), Clock()
    with Progress(True, [1.0], terminal, clock) as progress:
        go(progress, clock, runs=1, epochs=1, seconds=1.0)
    text = terminal.getvalue()
    assert text.count("\n") == 1 and text.count("\r") >= 10
    assert "run 1 of 1, bp-1ep-seed0; 5 s, 5 s left" in text  # in the middle of the epoch
    assert ("50%|" in text) == tqdm
    assert "1 runs done in 10 s" in text


def test_unwanted_progress_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Progress(False, [1.0, 1.0], clock=clock) as progress:
        go(progress, clock, runs=2, epochs=2, seconds=100.0)
    assert capsys.readouterr() == ("", "")


def test_a_stop_says_where() -> None:
    log: Any = io.StringIO()
    with pytest.raises(KeyboardInterrupt), Progress(True, [1.0, 1.0], log, Clock()) as progress:
        progress.begin("a")
        raise KeyboardInterrupt
    assert "stopped in run 1 of 2" in log.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (89, "89 s"),
        (100, "2 min"),
        (3600, "60 min"),
        (11100, "3 h 05 min"),
    ],
)
def test_human_times(seconds: float, text: str) -> None:
    assert human_time(seconds) == text
