"""tests/same_results/same_results.sh: says of two programs whether they give the same results."""

import re
import shlex
import signal
import subprocess

import pytest

from harness import BIN, PATIENCE, ROOT, environment, finish, wait_until

SCRIPT = ROOT / "tests/same_results/same_results.sh"


def same_results(*args, code=0):
    done = subprocess.run([SCRIPT, *map(str, args)], env=environment(), text=True, timeout=PATIENCE,
                          capture_output=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """OLD's outputs, made once."""
    return tmp_path_factory.mktemp("kept") / "outputs"


def program(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def test_a_program_is_equal_to_itself(kept):
    said = same_results(BIN, BIN, "--only", "list", "--keep", kept).stdout
    assert "0 different" in said and "all equal" in said and "DIFFERS" not in said
    one, two = (kept / side / "list/designs/stdout" for side in ("old", "new"))
    assert "baseline" in one.read_text() and one.read_bytes() == two.read_bytes()


def test_one_byte_is_a_difference_and_its_command_is_named(kept, tmp_path):
    real = shlex.quote(BIN)
    fake = program(tmp_path / "fake", f'[ "$*" = "list designs" ] || exec {real} "$@"\n'
                                      f'{real} "$@" | sed "s/baseline/basellne/"\n')
    said = same_results(BIN, fake, "--only", "list", "--keep", kept, code=1).stdout
    assert "used again" in said  # OLD is as it was
    assert "list/designs: DIFFERS: stdout\n      adagp list designs\n" in said
    assert "1 different" in said and said.count("DIFFERS") == 1
    told = subprocess.run(["diff", "-r", kept / "old/list/designs", kept / "new/list/designs"],
                          capture_output=True, text=True).stdout
    assert "basel" in told


def test_examples_below_a_help_text_are_no_commands(tmp_path):
    fake = program(tmp_path / "fake", """cat << END
Usage: adagp $1
OPTIONS:
  -h, --help
TRAIN:
  train  trains
Examples:
  adagp train -o a
  adagp train -o b
END
""")
    said = same_results(fake, fake, "--only", "help").stdout
    assert re.search(r"help +3 cases, 0 different", said), said


@pytest.mark.parametrize("args, words", [
    ([], "two programs"),
    ([BIN], "two programs"),
    ([BIN, BIN, BIN], "two programs"),
    ([BIN, BIN, "--onyl", "list"], "'--onyl'"),
    ([BIN, BIN, "--only", "lists"], "--only lists"),
    ([BIN, BIN, "--only"], "needs a value"),
    ([BIN, BIN, "--jobs", "0"], "--jobs 0"),
    ([BIN, ROOT / "README.md"], "not a program"),
    ([BIN, "/bin/false"], "does not run"),
    ([BIN, BIN, "--keep", ROOT / "scripts"], "not made by this script"),
])
def test_wrong_usage_is_told_in_one_line(args, words):
    done = same_results(*args, code=2)
    assert words in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_help_names_every_group():
    text = same_results("--help").stdout
    wrong = same_results(BIN, BIN, "--only", "?", code=2).stderr
    for group in wrong.split("expected one of ")[1].split():
        assert re.search(rf"^  +(\w+, )*{group}\b", text, re.MULTILINE), group


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    process = subprocess.Popen([SCRIPT, BIN, BIN, "--only", "help"], text=True, stderr=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=environment(TMPDIR=str(tmp_path)))
    assert wait_until(lambda: list(tmp_path.glob("*/old/help/*")), process)
    process.send_signal(signal.SIGINT)
    finish(process)
    assert process.returncode == 130
    assert not list(tmp_path.iterdir())
