"""What print() and Jupyter show of a result, and what plots look like."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from run_folders import SUMMARY, write_run

from adagp import layers, simulate
from adagp.results import Budget, runs
from adagp.writer import RunWriter

OPTIONS = "[('dampening', 0), ('lr', 0.05), ('momentum', 0.9)]"


def write_own(folder: Path, **changes: Any) -> None:
    """A run as adagp.compare writes it."""
    fields = {**SUMMARY, "cost_epochs": float(changes["epochs"]), **changes}
    config = {
        "method": fields["method"],
        "seed": fields["seed"],
        "epochs": fields["epochs"],
        "optimizer": f"SGD {OPTIONS}",
        "policy": "triangle",
    }
    with RunWriter(folder, config) as writer:
        writer.finish(**fields)


@pytest.fixture
def budget(tmp_path: Path) -> Budget:
    """bp at three lengths, skip at one, three seeds each."""
    for seed in range(3):
        for method, epochs in (("bp", 2), ("bp", 4), ("bp", 6), ("skip", 5)):
            score = 60.0 - 40 / epochs + seed / 10 - 5 * (method == "skip")
            write_own(
                tmp_path / f"{method}-{epochs}-seed{seed}",
                method=method,
                epochs=epochs,
                seed=seed,
                figures={"top1": score},
                train_seconds=float(epochs),
                cost_epochs=4.0 if method == "skip" else float(epochs),
            )
    return runs(tmp_path).budget(targets=[4])


def test_print_shows_verdict_and_first_table(budget: Budget) -> None:
    text = str(budget)
    assert " ".join(text.split()).startswith(budget.verdict)  # wrapped, and first
    assert max(len(line) for line in text.split("mine on toy")[0].splitlines()) <= 100
    assert "SGD, rate 0.05, policy triangle" in text
    assert "d clock" in text
    assert "sd around it" not in text and "bp's best" not in text
    assert len(text) < len(budget.details())
    for part in ("sd around it", "bp's best", budget.verdict):
        assert part in budget.details()


def test_recipes_that_differ_are_not_named(budget: Budget, tmp_path: Path) -> None:
    config = tmp_path / "bp-2-seed0" / "config.toml"
    config.write_text(config.read_text().replace("0.05", "0.07"))
    assert "optimizer, rate or policy differ" in str(budget)


def test_jupyter_shows_picture_and_table_at_once(budget: Budget) -> None:
    # A frontend shows one of the forms it is offered: there must be one that has all.
    forms = [name for name in dir(budget) if name.startswith("_repr_")]
    assert forms == ["_repr_html_"]
    page = budget._repr_html_()
    picture = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert picture and base64.b64decode(picture[1]).decode() == budget.to_svg()
    assert page.count("<table>") == 1 and page.count("<tr>") == 1 + len(budget.table.rows)
    assert "SGD, rate 0.05, policy triangle" in page and "Compared at equal seconds" in page


def test_a_comparison_is_shown_the_same_way(tmp_path: Path) -> None:
    for seed in range(3):
        write_run(tmp_path / f"bp{seed}", seed=seed, figures={"top1": 50.0 + seed})
        write_run(tmp_path / f"a<b>{seed}", seed=seed, method="a<b>", figures={"top1": 52.0 + seed})
    result = runs(tmp_path).compare()
    first = re.split(r"\n\n", str(result))[0]
    assert " ".join(first.split()) == result.verdict.split("\n\n")[0]
    assert "rate 0.1" in str(result)
    page = result._repr_html_()
    picture = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert picture
    drawn = base64.b64decode(picture[1]).decode()
    assert drawn == result.to_svg()
    assert "a&lt;b&gt; − bp: +2.00" in drawn and "top-1" in drawn
    assert page.count("<table>") == 1 and "a&lt;b&gt;" in page and "<b>" not in page
    assert [name for name in dir(result) if name.startswith("_repr_")] == ["_repr_html_"]


def test_a_comparison_of_one_method_has_no_picture(tmp_path: Path) -> None:
    write_run(tmp_path / "bp", figures={"top1": 50.0})
    page = runs(tmp_path).compare()._repr_html_()
    assert page.count("<table>") == 1 and "<img" not in page


def test_processor_seconds_stand_beside_those_of_the_clock(tmp_path: Path) -> None:
    """Where runs tell them: those of adagp.compare do, those of the program do not."""
    for seed, processor in enumerate((6.0, 8.0)):
        with RunWriter(tmp_path / f"bp{seed}", {"method": "bp"}) as writer:
            for epoch in (1, 2):
                writer.record(
                    "epoch",
                    epoch=epoch - 1,
                    step=epoch,
                    train_seconds=9.0 * epoch,
                    processor_seconds=processor * epoch / 2,
                )
            fields = {**SUMMARY, "train_seconds": 18.0, "cost_epochs": 2.0}
            writer.finish(**{**fields, "seed": seed})
    write_run(tmp_path / "skip0", method="skip")
    result = runs(tmp_path).compare()
    bp, skip = result.table.methods
    assert (bp.seconds_mean, bp.processor_seconds_mean) == (18.0, 7.0)
    assert skip.processor_seconds_mean != skip.processor_seconds_mean
    assert "processor s" in str(result) and "processor_seconds_mean" in result.to_csv()
    of_the_program = result.runs.where(lambda run: run.summary.method == "skip").compare()
    assert "processor" not in str(of_the_program)
    pytest.importorskip("pandas")
    assert result.to_pandas()["processor_seconds_mean"][0] == 7.0


def test_a_summary_says_what_it_is(tmp_path: Path) -> None:
    summary = write_run(tmp_path / "a").summary
    assert repr(summary) == str(summary)
    assert "bp mine on toy, seed 0: top1 50.00" in repr(summary)


def test_to_csv_with_a_path_returns_nothing(budget: Budget, tmp_path: Path) -> None:
    for result in (
        budget,
        budget.runs.where(lambda run: run.summary.epochs == 4).compare(),
        simulate("resnet18", "cifar", 64),
        layers("resnet18", "cifar"),
    ):
        file = tmp_path / "out.csv"
        assert result.to_csv(file) is None
        assert file.read_text() == result.to_csv()
    assert layers("resnet18", "cifar").to_scalesim(file) is None


@pytest.fixture
def pyplot() -> Any:
    pytest.importorskip("matplotlib").use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


def has_frame(axes: Any) -> bool:
    grid = axes.xaxis.get_gridlines()[0].get_visible()
    return bool(axes.get_title() and axes.get_xlabel() and axes.get_ylabel() and grid)


def test_a_budgets_plot_is_that_of_the_svg(budget: Budget, pyplot: Any) -> None:
    axes = budget.plot()
    assert has_frame(axes) and "mine on toy" in axes.get_title() and axes.get_xscale() == "log"
    fits = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert [list(zip(*line.get_data())) for line in fits] == budget.table.control_lines()
    # The fit passes through the means of bp, which lie on such a curve.
    assert fits[0].get_ydata()[-1] == pytest.approx(60.1 - 40 / 6)
    bp = axes.containers[0]
    assert bp.get_label().startswith("bp") and bp.lines[0].get_linestyle() == "None"


def test_points_of_different_arrays_are_not_joined(pyplot: Any, tmp_path: Path) -> None:
    sim = simulate("resnet18", "cifar", 64, array=["12x15", "32x32", "8x8"])
    axes = sim.plot("total_cycles")
    assert has_frame(axes)
    assert {line.get_linestyle() for line in axes.lines} == {"None"}
    assert has_frame(write_run(tmp_path / "a").plot("test_top1"))
    assert has_frame(runs(tmp_path).compare().plot())


def test_what_wrap_gives_says_what_it_is() -> None:
    torch = pytest.importorskip("torch")
    from adagp import wrap

    model = torch.nn.Linear(4, 2)
    gp = wrap(model, torch.optim.SGD(model.parameters(), lr=0.1), "1ep bp, 1:1", epochs=2, steps_per_epoch=1)
    gp.step(lambda: model(torch.ones(3, 4)).sum())
    assert repr(gp) == (
        "<Prediction: method adagp, schedule 1ep bp, 1:1, 1 steps done (1 BP), next GP; 1 of 2 parameters predicted>"
    )
