"""The torch-free program, which stands in for the whole one in the tests of the simulators, says the
same."""

import os
import re
import subprocess

import pytest

from harness import PATIENCE, ROOT, adagp, commands, environment
from simulator import write_table

SIM = os.environ.get("ADAGP_SIM_BIN")
pytestmark = pytest.mark.skipif(not SIM, reason="ADAGP_SIM_BIN is not set")


def assert_same(*args, code=0):
    whole = adagp(*args, code=code)
    alone = subprocess.run([SIM, *map(str, args)], env=environment(), text=True, capture_output=True,
                           timeout=PATIENCE)
    assert (alone.returncode, alone.stdout, alone.stderr) == (code, whole.stdout, whole.stderr), args


def test_every_command_says_the_same(tmp_path):
    table = write_table(tmp_path / "t.csv", [("a", 3, 8, 10), ("b", 10, 8, 7)])
    assert_same("simulate", "--model", "resnet18", "--per-layer", "--csv")
    assert_same("simulate", "--table", table, "--inference", "--array", "4x4,8x8", "--json")
    assert_same("pipeline", "--schedule", "chimera", "--phases", "gp-bp", "--gantt")
    assert_same("paper", "--json")
    assert_same("list", "accelerator-keys", "--json")


def test_errors_are_the_same(tmp_path):
    assert_same("simulate", "--model", "resnet81", code=2)
    assert_same("scalesim", "-c", tmp_path / "none.cfg", "-t", tmp_path / "none.csv", code=3)
    assert_same("layers", "--pt2", tmp_path / "none.pt2", code=3)


def test_the_installation_page_lists_its_commands():
    page = (ROOT / "docs/install.md").read_text()
    section = re.search(r"^## The simulator alone\n(.*?)^## ", page, re.M | re.S)[1]
    listed = re.search(r"train nothing: (.*?)\.\s", section, re.S)[1]
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(sum(commands(program=SIM).values(), []))


def test_commands_of_the_whole_program_are_named():
    missing = {*sum(commands().values(), [])} - {*sum(commands(program=SIM).values(), [])}
    assert {"train", "compare", "bench"} <= missing
    for command in missing:
        done = subprocess.run([SIM, command], env=environment(), text=True, capture_output=True, timeout=PATIENCE)
        assert done.returncode == 2 and f"'{command}' needs LibTorch" in done.stderr, done.stderr
