"""What reaches stdout and stderr: full disks, closed streams, names that would steer a terminal."""

import os
import pty
import subprocess

import pytest
from harness import BIN, PATIENCE, adagp, closed, environment, onto_a_full_disk
from simulator import write_table


@pytest.mark.parametrize("args", [
    ["layers", "--model", "resnet50", "--csv"],  # more than a buffer
    ["layers", "--model", "resnet50", "--json"],
    ["simulate", "--model", "resnet8", "--input", "cifar"],
    ["simulate", "--model", "resnet8", "--input", "cifar", "--array", "2..40x8..40", "--designs",
     "baseline", "--csv"],
    ["pipeline"],
    ["paper", "--json"],
    ["list", "accelerators"],
    ["--help"],
    ["--version"],
    [],
], ids=lambda args: " ".join(args[:3]))
def test_a_full_disk_under_stdout_is_an_error(args):
    onto_a_full_disk(*args)


def test_messages_without_streams_end_up_in_no_file(tmp_path):
    out = tmp_path / "front.svg"
    args = ["simulate", "--model", "resnet8", "--input", "cifar", "--plot", out]
    adagp(*args)
    whole = out.read_bytes()
    assert closed(args, "<&- >&- 2>&-").returncode == 0
    assert out.read_bytes() == whole
    assert closed(["simulate", "--model", "nothing"], "<&- >&- 2>&-").returncode == 2


EVIL = "\x1b]0;owned\x07conv\x1b[2J"


def test_names_from_files_do_not_steer_the_terminal(tmp_path):
    table = write_table(tmp_path / "net.csv", [(EVIL, 3, 8, 4)])
    for args in (["--per-layer"], ["--explain", EVIL], ["--explain", "none"]):
        done = adagp("simulate", "--table", table, "--inference", *args,
                     code=2 if "none" in args else 0)
        assert "\x1b" not in done.stdout + done.stderr and "\x07" not in done.stdout + done.stderr
        assert r"\x1b]0;owned\x07conv" in done.stdout + done.stderr
    # Data is data in a file, and text on a terminal.
    args = [BIN, "simulate", "--table", str(table), "--inference", "--per-layer", "--csv"]
    assert EVIL.encode() in subprocess.run(args, env=environment(), capture_output=True).stdout
    mine, theirs = pty.openpty()
    subprocess.run(args, env=environment(), stdout=theirs, stderr=subprocess.DEVNULL,
                   timeout=PATIENCE)
    os.close(theirs)
    shown = os.read(mine, 100_000)
    os.close(mine)
    assert b"\x1b" not in shown and rb"\x1b]0;owned" in shown


def test_names_are_no_formulas_in_csv_and_read_back(tmp_path):
    table = write_table(tmp_path / "net.csv", [('"=1+1, x"', 3, 8, 4)])
    out = adagp("simulate", "--table", table, "--inference", "--per-layer", "--csv").stdout
    assert '"\'=1+1, x"' in out
    # As protected as layers writes it: the name is the same.
    table = write_table(tmp_path / "own.csv", [('"\'=1+1, x"', 3, 8, 4)])
    again = adagp("simulate", "--table", table, "--inference", "--per-layer", "--csv").stdout
    assert again == out


def test_a_short_flag_may_have_an_equals_sign(tmp_path):
    adagp("layers", "--model", "resnet8", "--input", "cifar", "--csv", "-o=a.csv", cwd=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]
    err = adagp("layers", "--model", "resnet8", "--input", "cifar", "-o=", cwd=tmp_path,
                code=2).stderr
    assert "-o" in err


def test_deep_keys_and_nameless_files(tmp_path):
    machine = tmp_path / "mine.toml"
    machine.write_text("a." * 50_000 + "a = 1\n")
    run = ["simulate", "--model", "resnet8", "--input", "cifar", "--accelerator", machine]
    err = adagp(*run, code=2).stderr
    assert "mine.toml:1:" in err and len(err) < 500
    machine.write_text("")
    assert "; mine, 12x15" in adagp(*run).stdout
    err = adagp(*run, "--set", "array.row=3", code=2).stderr
    assert "did you mean 'array.rows'" in err and "docs/accelerators.md" in err


@pytest.mark.parametrize("flag", ["--epochs", "--batches", "--batches-per-epoch", "--chunks",
                                  "--stages", "--micro-batches"])
def test_counts_too_large_for_a_pipeline_are_refused(flag):
    for count in (2**62, 2**63 - 1):
        assert str(count) in adagp("pipeline", flag, count, code=2).stderr
