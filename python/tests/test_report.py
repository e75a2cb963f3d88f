"""Statistics, comparisons and budgets are the program's, bound."""

from __future__ import annotations

import doctest
import importlib
import json
import math
import os
import statistics
from pathlib import Path
from typing import Any

import pytest
from run_folders import TINY, call, full_program, write_run

from adagp import _core
from adagp.errors import DataError, Error, UsageError
from adagp.results import runs


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `adagp compare` wrote."""
    folder = tmp_path_factory.mktemp("compare") / "out"
    done = call(
        full_program(), "compare", *TINY, "--epochs", "2", "--methods", "skip,bp,adagp", "--seeds", "3", "-o", folder
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def budget(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `adagp compare --budget` wrote."""
    folder = tmp_path_factory.mktemp("budget") / "out"
    done = call(
        full_program(),
        "compare",
        "--budget",
        *TINY,
        "--methods",
        "bp@1/2/3,skip@2/3",
        "--seeds",
        "2",
        "-o",
        folder,
        "--budget-batches",
        "10",
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_statistics_against_the_standard_library_and_a_table() -> None:
    values = [1.0, 2.5, 4.0, -1.0]
    assert _core.mean(values) == pytest.approx(statistics.mean(values))
    assert _core.standard_deviation(values) == pytest.approx(statistics.stdev(values))
    assert math.isnan(_core.mean([])) and math.isnan(_core.standard_deviation([1]))
    found = _core.paired_difference(values)
    half = 3.182446 * statistics.stdev(values) / 2  # t of 3 degrees at 97.5 %, from a table
    assert (found.n, found.mean) == (4, pytest.approx(1.625))
    assert found.high - found.mean == pytest.approx(half, rel=1e-6)
    assert not found.excludes_zero
    assert _core.paired_difference([1, 1.1, 0.9]).excludes_zero


def test_comparison_equals_the_programs_files(compared: Path) -> None:
    result = runs(compared).compare()
    assert result.to_json() == (compared / "compare.json").read_text()
    assert result.to_markdown() == (compared / "compare.md").read_text()
    assert result.to_csv() == (compared / "compare.csv").read_text()
    said = json.loads((compared / "compare.json").read_text())
    assert result.verdict == said["verdict"]
    assert result.plain_words in (compared / "compare.md").read_text()
    frame = result.to_pandas()
    assert list(frame["method"]) == ["skip", "bp", "adagp"]
    assert list(frame["n"]) == [3, 3, 3]
    assert frame["top1_mean"][1] == said["methods"]["bp"]["top1_mean"]
    assert result.pairs().to_dict("records") == said["pairs"]
    assert result.plain_words in result.details() and "bp" in repr(result)


def test_methods_can_be_chosen_and_ordered(compared: Path) -> None:
    result = runs(compared).compare(methods=["bp", "skip"])
    assert [row.method for row in result.table.methods] == ["bp", "skip"]
    assert len(result.runs) == 6
    with pytest.raises(UsageError, match="methods: no finished run of 'zero'; there are"):
        runs(compared).compare(methods=["zero"])


def test_budget_equals_the_programs_files(budget: Path) -> None:
    result = runs(budget).budget(batch=20)
    ours, theirs = json.loads(result.to_json()), json.loads((budget / "budget.json").read_text())

    def by_run(row: dict[str, Any]) -> list[Any]:
        return [row[key] for key in ("method", "batch", "epochs", "seed")]

    # The program trains all methods of a seed before the next one; we read folders by name.
    ours["runs"].sort(key=by_run)
    theirs["runs"].sort(key=by_run)
    assert ours == theirs
    assert result.verdict == theirs["verdict"]
    assert result.to_svg() == (budget / "budget.svg").read_text()
    assert result.to_csv() == (budget / "budget.csv").read_text()
    assert result.to_markdown() == (budget / "budget.md").read_text()
    assert len(result.to_pandas()) == len(theirs["rows"])
    with pytest.raises(UsageError, match="no finished run of bp of batch=7"):
        runs(budget).budget(batch=7)


def test_runs_of_ours_are_compared_without_the_unfinished(tmp_path: Path) -> None:
    for seed in range(11):
        write_run(tmp_path / f"bp-seed{seed}", seed=seed, figures={"top1": 50.0 + seed})
        write_run(tmp_path / f"a-seed{seed}", seed=seed, method="a", figures={"top1": 51.0 + seed + seed % 2})
    (tmp_path / "a-seed10/summary.json").unlink()
    (tmp_path / "other").mkdir()
    found = runs(tmp_path)
    assert len(found) == 22 and len(found.finished) == 21
    assert [run.name for run in found[8:12]] == ["a-seed8", "a-seed9", "a-seed10", "bp-seed0"]
    result = found.compare()
    assert [(row.method, row.n) for row in result.table.methods] == [("bp", 11), ("a", 10)]
    pair = result.table.pairs[0]
    assert pair.points.mean == pytest.approx(1.5) and pair.points.excludes_zero
    assert "a is higher by 1.50 points" in result.verdict
    result.save(tmp_path)
    assert (tmp_path / "compare.md").read_text() == result.to_markdown()


def test_runs_of_several_lengths_are_for_a_budget(tmp_path: Path) -> None:
    for epochs in (1, 2, 4):
        write_run(tmp_path / f"bp-{epochs}ep", epochs=epochs)
    with pytest.raises(UsageError, match=r"of 1, 2 and 4 epochs; .*call \.budget\(\)"):
        runs(tmp_path).compare()


def test_plot_has_a_point_for_each_method(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    write_run(tmp_path / "x", train_seconds=3.0)
    axes = runs(tmp_path).compare().plot()
    line = axes.containers[0].lines[0]
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([3.0], [50.0])
    assert axes.get_ylabel() == "top-1 %"


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"model": "other"}, "model other, not mine"),
        ({"device": "cuda"}, "device cuda, not cpu"),
        ({"test_examples": 10}, "of 80 training and 10 test examples of 8x8, not of 80 training"),
        ({"metric": "top5"}, "metric top5, not top1"),
    ],
)
def test_scores_of_other_conditions_are_refused(tmp_path: Path, changes: dict[str, Any], what: str) -> None:
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", seed=1, **changes)
    with pytest.raises(UsageError, match=what):
        runs(tmp_path).compare()


def test_bad_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="absent: no such folder"):
        runs(tmp_path / "absent")
    with pytest.raises(DataError, match="holds no run folders"):
        runs(tmp_path)
    write_run(tmp_path / "a")
    with pytest.raises(DataError, match=r"it is a run itself: adagp\.Run"):
        runs(tmp_path / "a")
    with pytest.raises(UsageError, match="cost was not counted"):
        runs(tmp_path).budget()
    write_run(tmp_path / "b")
    with pytest.raises(Error, match="'bp' has seed 0 twice"):
        runs(tmp_path).compare()
    for name in "ab":
        (tmp_path / name / "summary.json").unlink()
    with pytest.raises(DataError, match="no finished runs"):
        runs(tmp_path).compare()


@pytest.mark.parametrize("name", ["adagp.stats", "adagp.writer", "adagp._impl.toml"])
def test_the_examples_of_docstrings_run(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0 and found.failed == 0


JUNK: list[Any] = [
    None,
    1,
    -1,
    2**70,
    1.5,
    float("nan"),
    "",
    "x" * 10_000,
    "\udcff",
    b"\xff",
    [],
    [None],
    {},
    {"a": None},
    object(),
    int,
    (),
    [1e308] * 3,
    ["x"],
]


def test_no_object_crashes_the_bindings(tmp_path: Path) -> None:
    calls = [
        _core.mean,
        _core.standard_deviation,
        _core.paired_difference,
        _core.Summary.read,
        _core.RunRecord,
        _core.Metric,
        _core.BudgetRun,
        _core.FolderLock,
        _core.make_folder,
        _core.RecordWriter,
        _core.compare_runs,
        _core.budget_report,
        _core.write_file,
        _core.write_safetensors,
        _core.SafeTensors.read,
        _core.remove_temporaries,
    ]
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        for function in calls:
            for count in range(1, 5):
                for i in range(len(JUNK)):
                    arguments = [JUNK[(i + 5 * k) % len(JUNK)] for k in range(count)]
                    try:
                        function(*arguments)
                    except (TypeError, ValueError, RuntimeError, UnicodeError):
                        pass
        for name in dir(_core.Summary):
            for value in JUNK:
                if not name.startswith("_"):
                    try:
                        setattr(_core.Summary(), name, value)
                    except (TypeError, ValueError, AttributeError, UnicodeError):
                        pass
    finally:
        os.chdir(here)
