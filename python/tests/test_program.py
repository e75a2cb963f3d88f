"""The command `adagp` of the package, adagp.doctor(), and packages that are not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import adagp
from adagp import _core
from adagp._impl import extras
from adagp._impl.doctor import doctor
from adagp._impl.program import _ENGINE, program
from adagp.errors import DataError, UsageError


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from adagp._impl.program import main; sys.argv[0] = 'adagp'; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


def test_the_package_brings_a_program_that_simulates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADAGP_PROGRAM", raising=False)
    assert Path(program()).parent.name == "bin"
    done = start("--version")
    assert done.returncode == 0 and _core.VERSION in done.stdout
    assert start("simulate", "--model", "vgg13", "--json").returncode == 0
    wrong = start("simulate", "--model", "no-such")
    assert wrong.returncode == 2 and "no-such" in wrong.stderr


def test_commands_of_the_engine_name_a_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADAGP_PROGRAM", raising=False)
    for command, name in (("train", "compare"), ("compare", "compare"), ("eval", "Run")):
        done = start(command, "--model", "vgg13")
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
        assert f"in Python use adagp.{name}" in done.stderr
        assert f"ADAGP_PROGRAM=build/bin/adagp adagp {command}" in done.stderr
        assert hasattr(adagp, name)
    checked = start("doctor")
    assert checked.returncode == 0 and f"adagp       {_core.VERSION}" in checked.stdout
    assert "training    in Python: adagp.compare" in checked.stdout


def test_every_command_of_the_engine_is_known() -> None:
    """Those that the package's own program says it cannot do."""
    for command in [*_ENGINE, "doctor"]:
        own = subprocess.run([Path(_core.__file__).parent / "bin/adagp", command], capture_output=True, text=True)
        assert own.returncode == 2 and "needs LibTorch" in own.stderr, command


def test_another_program_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text('#!/bin/sh\necho other "$@"\nexit 7\n')
    monkeypatch.setenv("ADAGP_PROGRAM", str(other))
    with pytest.raises(DataError, match="ADAGP_PROGRAM names .*other, which is not a program"):
        program()
    refused = start("train")
    assert refused.returncode == 1 and "which is not a program" in refused.stderr
    other.chmod(0o755)
    done = start("train", "a b")
    assert (done.returncode, done.stdout) == (7, "other train a b\n")


def test_doctor_tells_versions_and_the_program(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADAGP_PROGRAM", "/no/such")
    doctor()
    told = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    import numpy

    assert told["numpy"] == numpy.__version__
    assert told["adagp"].startswith(_core.VERSION)
    assert "ADAGP_PROGRAM names /no/such" in told["program"]
    assert told["kernels"]


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, extra in (
        ("pandas", r"'adagp\[pandas\]'"),
        ("wandb", "wandb"),
        ("matplotlib.pyplot", r"'adagp\[plot\]'"),
    ):
        with monkeypatch.context() as inside:
            inside.setitem(sys.modules, module, None)
            with pytest.raises(UsageError, match=f"plot needs {module.split('.')[0]}: pip install {extra}"):
                extras.need(module, "plot")


def test_importing_takes_no_torch() -> None:
    code = (
        "import sys, adagp.run, adagp.results, adagp.writer, adagp.export, adagp.weights\n"
        "print([m for m in ('torch', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
