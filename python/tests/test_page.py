"""Reports from Python: the program's page of the same runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from run_folders import write_run

from adagp._impl.program import program
from adagp.errors import DataError, Error, UsageError
from adagp.results import runs
from adagp.run import Run


@pytest.fixture(autouse=True)
def bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADAGP_PROGRAM", raising=False)
    assert Path(program()).is_file()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for seed in range(3):
        for method, score in (("bp", 60.0), ("skip", 50.0), ("adagp", 40.0)):
            write_run(
                tmp_path / f"runs/{method}-seed{seed}",
                method=method,
                seed=seed,
                figures={"top1": score + seed},
                cost_epochs=2.0,
            )
    return tmp_path / "runs"


def title_of(page: Path) -> str:
    found = re.search("<title>(.*?)</title>", page.read_text())
    assert found is not None
    return found[1]


def test_a_run_and_its_title(folder: Path, tmp_path: Path) -> None:
    out = Run(folder / "bp-seed0").report(tmp_path / "one.html", title="a < b")
    assert out == tmp_path / "one.html" and title_of(out) == "a &lt; b"
    assert "skip" not in out.read_text()


def test_a_comparison_says_its_verdict(folder: Path, tmp_path: Path) -> None:
    comparison = runs(folder).compare(methods=["bp", "skip"])
    page = comparison.report(tmp_path / "two.html").read_text()
    said = re.findall(r"\d+\.\d+ points", comparison.verdict)
    assert said and all(words in page for words in said)
    assert "adagp-seed0" not in page  # left out of the comparison


def test_a_budget_needs_its_file_beside_the_runs(folder: Path, tmp_path: Path) -> None:
    for seed in range(3):
        for epochs in (1, 3):
            write_run(
                folder / f"bp-e{epochs}-seed{seed}",
                method="bp",
                seed=seed,
                epochs=epochs,
                figures={"top1": 55.0 + 3 * epochs + seed},
                cost_epochs=float(epochs),
            )
    budget = runs(folder).budget()
    with pytest.raises(UsageError, match=r"\.save\(\)"):
        budget.report(tmp_path / "three.html")
    budget.save(folder)
    assert "Time to accuracy" in budget.report(tmp_path / "three.html").read_text()
    assert budget.table.verdict() == budget.verdict


def test_what_the_program_says_is_raised(folder: Path, tmp_path: Path) -> None:
    run = Run(folder / "bp-seed0")
    for file in run.path.iterdir():
        file.unlink()
    with pytest.raises(DataError, match="report: .*bp-seed0"):
        run.report(tmp_path / "none.html")
    with pytest.raises(Error, match="no-such"):
        Run(folder / "bp-seed1").report(tmp_path / "no-such/one.html")
    assert not (tmp_path / "none.html").exists()
