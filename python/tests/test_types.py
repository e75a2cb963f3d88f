"""Do the lines of README.md and the recipes of docs/python.md pass mypy, and does help() begin with a map?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import adagp

ROOT = Path(__file__).resolve().parents[2]
# Packages whose sources mypy need not read for this: what they give is Any.
CONFIG = """[mypy]
strict = true
[mypy-torch.*,torchvision.*,lightning.*,transformers.*,accelerate.*,pandas.*,matplotlib.*,numpy.*]
follow_imports = skip
ignore_missing_imports = true
"""
# What the documents take for given: the reader's own model, loaders and data.
GIVEN = """from __future__ import annotations
from typing import Any
import accelerate
import adagp
import adagp.integrations.accelerate
import lightning.pytorch as L
import torch
import torch.distributed as dist
import torch.nn.functional as F
import torchvision
import transformers
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torchvision.models import resnet18
from adagp.integrations.lightning import PlanCallback
device: Any; loader: Any; model: Any; optimizer: Any; run: adagp.Run; test_loader: Any
train_loader: Any; train_set: Any; val_loader: Any; x: Any; y: Any
"""
PLAN = 'plan = adagp.Plan("stored-loss", train_set, batch_size=8, epochs=2)\n'


def blocks(file: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / file).read_text(), re.M | re.S)


def mypy(folder: Path, modules: dict[str, str], *options: str) -> str:
    """What mypy says about the modules; empty: nothing."""
    pytest.importorskip("mypy")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "mypy.ini").write_text(CONFIG)
    package = Path(adagp.__file__).resolve().parent.parent
    where = Path(adagp.__path__[0]).parent
    found = where.name == "site-packages" or package.name == "site-packages"
    environment = {**os.environ, **({} if found else {"MYPYPATH": str(where)})}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(folder / "cache"),
         "--follow-imports", "silent", *options, *(f"{name}.py" for name in modules)],
        capture_output=True, text=True, cwd=folder, env=environment)  # fmt: skip
    return done.stdout + done.stderr


def test_lines_of_the_readme_are_typed(tmp_path: Path) -> None:
    modules = {f"readme_{i}": GIVEN + text for i, text in enumerate(blocks("README.md"))}
    assert modules and mypy(tmp_path, modules) == ""


def test_recipes_of_the_documents_are_typed(tmp_path: Path) -> None:
    modules = {}
    for i, text in enumerate(blocks("docs/python.md")):
        given = GIVEN + (PLAN if "plan." in text and "plan = " not in text else "")
        if "PlanTrainer(model" in text:
            given += "PlanTrainer: Any; SavePlan: Any\n"
        modules[f"recipe_{i}"] = given + text
    assert len(modules) > 10
    # Recipes write their own functions without types, and subclass what is Any here.
    loose = (
        "--allow-untyped-defs",
        "--allow-untyped-calls",
        "--allow-subclassing-any",
        "--allow-redefinition",
        "--allow-any-generics",
    )
    assert mypy(tmp_path, modules, *loose) == ""


def test_what_compare_returns_is_known(tmp_path: Path) -> None:
    text = (
        GIVEN
        + """
reveal_type(adagp.compare(resnet18, train_loader, test_loader, epochs=2))
reveal_type(adagp.compare(resnet18, train_loader, test_loader, epochs=2, equal="epochs"))
reveal_type(adagp.compare(resnet18, train_loader, test_loader, epochs=2, dry_run=True))
adagp.compare(resnet18, train_loader, test_loader, epoch=2)
prediction: adagp.Prediction = adagp.wrap(model, optimizer, epochs=1, steps_per_epoch=1)
dry: adagp.DryRun
"""
    )
    said = mypy(tmp_path, {"returned": text})
    assert re.findall(r'Revealed type is "([\w.]+)"', said) == [
        "adagp.results.Budget", "adagp.results.Comparison", "adagp.lab.DryRun"]  # fmt: skip
    misspelt = next(i for i, line in enumerate(text.splitlines(), 1) if "epoch=2" in line)
    assert set(re.findall(r":(\d+): error:", said)) == {str(misspelt)}


@pytest.mark.parametrize("torch", [True, False])
def test_help_begins_with_a_map_of_tasks(torch: bool) -> None:
    hide = "" if torch else "import sys; sys.modules['torch'] = None; "
    code = hide + "import adagp, pydoc; print(pydoc.plain(pydoc.render_doc(adagp)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first = done.stdout[:1500]
    for name in ("compare(", "Plan(", "wrap(", "simulate(", "layers(", "dry_run=True"):
        assert name in first
    # Every name of the map is there.
    for name in re.findall(r" {2,}([A-Za-z_]+)\(", adagp.__doc__ or ""):
        assert name in adagp.__all__


def test_a_missing_package_is_named_and_passed_over() -> None:
    code = (
        "import sys; sys.modules['torch'] = None; import adagp\n"
        "print(hasattr(adagp, 'wrap'))\ntry: adagp.wrap\n"
        "except adagp.UsageError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\nadagp.wrap needs torch: pip install 'adagp[torch]'\n"
