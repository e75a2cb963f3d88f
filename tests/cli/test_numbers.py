"""No flag of the simulators takes NaN, infinity or a number that is too large for its type."""

import pytest

from harness import adagp
from number_flags import NO_NUMBERS, assert_refused, commands, hidden_types, number_flags

# What a command needs besides, where lists of numbers are read after all flags.
NEEDS = {("simulate",): ["--model", "resnet18"], ("rtl", "program"): ["--model", "vgg13", "-o", "x"],
         ("rtl", "layers"): ["--model", "vgg13"], ("paper",): ["--energy"]}


def test_every_number_of_every_flag_is_checked(tmp_path):
    cases = []
    for path, text in commands():
        assert not hidden_types(text), f"{' '.join(path)}: use add_number() of number_flag.h"
        cases += [([*path, *NEEDS.get(path, [])], flag, value)
                  for flag in number_flags(text) for value in NO_NUMBERS]
    assert len(cases) > 40 * len(NO_NUMBERS)
    assert_refused(cases, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("args, words", [
    (["pipeline", "--fw", "1e308"], ["--fw", "1e308", "0 to 1e+18"]),
    (["pipeline", "--bandwidth", "1e-300"], ["--bandwidth", "1e-300", "1e-18 to 1e+18"]),
    (["pipeline", "--chunks", "4294967297"], ["--chunks", "4294967297", "2147483647"]),
    (["rtl", "run", "x", "--stalls", "1"], ["--stalls", "0 to 0.99"]),
    (["simulate", "--model", "resnet18", "--threads", "1000000"],
     ["--threads = 1000000", "16 for each of its", "hardware threads"]),
    (["paper", "--energy", "--threads", "4294967297"], ["--threads", "4294967297"]),
    (["paper", "--energy", "--model", ""], ["--model ''", "names no network", "paper"]),
])
def test_out_of_range(args, words, tmp_path):
    done = adagp(*args, code=2, cwd=tmp_path)
    assert all(word in done.stderr for word in words) and done.stdout == "", done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_costs_of_a_file_are_in_range(tmp_path):
    costs = tmp_path / "costs.csv"
    for bad in ("1e308", "nan", "inf", "-1"):
        costs.write_text(f"name,forward,backward\na,1,2\nb,{bad},2\n")
        err = adagp("pipeline", "--stages", "2", "--costs", costs, code=3).stderr
        assert f"line 3: forward is '{bad}'" in err and "1e+18" in err


def test_numbers_are_decimal():
    """"010" is ten and no octal number, as in a list of numbers."""
    ten = adagp("pipeline", "--batches", "010", "--json").stdout
    assert ten == adagp("pipeline", "--batches", "10", "--json").stdout
    assert ten == adagp("pipeline", "--batches", "+10", "--json").stdout
