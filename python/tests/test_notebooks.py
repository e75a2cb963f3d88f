"""Do the notebooks run from top to bottom, and show their pictures?"""

from pathlib import Path

import pytest
from limits import PATIENCE

jupytext = pytest.importorskip("jupytext")
nbclient = pytest.importorskip("nbclient")

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
# What each must show: pictures.
PICTURES = {"does_it_pay": 1, "adagp_in_my_loop": 1, "plan_in_lightning": 0, "sweep_an_array": 1,
            "pipelines": 1}  # fmt: skip


def test_every_notebook_is_run():
    assert {at.stem for at in FOLDER.glob("*.py")} == set(PICTURES)


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_runs(name, tmp_path):
    notebook = jupytext.read(FOLDER / f"{name}.py")
    client = nbclient.NotebookClient(
        notebook, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    kinds = [kind for cell in notebook.cells for output in cell.get("outputs", []) for kind in output.get("data", {})]
    pictures = sum(kind in ("image/png", "image/svg+xml") for kind in kinds)
    assert pictures >= PICTURES[name]
    jupytext.write(notebook, tmp_path / f"{name}.ipynb")
