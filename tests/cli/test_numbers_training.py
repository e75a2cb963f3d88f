"""No flag of the commands that train takes NaN, infinity or a number that is too large for its type."""

import json
import os

import pytest

from harness import NET, TINY, adagp, sets
from number_flags import assert_refused, commands, hidden_types, number_flags

MANY = 1_000_000  # threads; none may be started
SMALL = ["--data", "synthetic", *NET]  # without --threads
KEYS = {"--epochs", "--batch", "--threads", "--seed"}  # read by the same code in all commands


def test_every_number_of_every_flag_is_checked(tmp_path):
    cases = []
    for command in ("train", "compare", "sweep", "reproduce", "eval", "bench", "data"):
        for path, text in commands(command):
            assert not hidden_types(text), f"{' '.join(path)}: use add_number() of number_flag.h"
            if path in (("data", "make"), ("data", "pack")):  # the flags of info
                continue
            cases += [(path, flag, value) for flag in number_flags(text)
                      if flag not in KEYS or command == "train"
                      for value in ("nan", "inf", "99999999999999999999")]
    assert {flag for _, flag, _ in cases} > KEYS
    assert_refused(cases, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("args, words", [
    (["train", *SMALL, "--threads", "4294967297"], ["--threads", "4294967297", "2147483647"]),
    (["train", *SMALL, "--threads", MANY], [f"threads = {MANY}", "16 for each of its"]),
    (["train", *SMALL, "--threads", MANY, "--dry-run"], [f"threads = {MANY}"]),
    (["bench", *NET, "--threads", MANY], [f"threads = {MANY}"]),
    (["train", *TINY, *sets(augment__workers=MANY)], [f"augment.workers = {MANY}"]),
    (["train", *TINY, *sets(augment__workers=MANY), "--dry-run"], [f"augment.workers = {MANY}"]),
    (["train", *TINY, "--parallel", "data,local=4096"], ["local = 4096", "processes", "16 for each"]),
    (["train", *TINY, *sets(optim__decay="inf")], ["optim.decay", "finite"]),
    (["train", *TINY, *sets(data__synthetic_noise="1e308")], ["data.synthetic_noise", "0 to 100"]),
    (["data", "info", "--noise", "inf"], ["--noise", "0 to 100"]),
    (["compare", *TINY, "--seed", 2**63 - 1], ["--seed", "--seeds 3", str(2**63 - 1 - 2)]),
    (["compare", *TINY, "--budget", "--seed", 2**63 - 1], ["--seed", "--seeds 3"]),
    (["sweep", *TINY, "--over", "optim.lr=0.1,0.2", "--seed", 2**63 - 2], ["--seed", "--seeds 3"]),
    (["reproduce", "paper-table1", "--data", "synthetic", "--seed", 2**63 - 1], ["--seeds 3"]),
    (["sweep", *TINY, "--over", "optim.lr=0.1", "--controls", "none,bp"],
     ["--controls none,bp", "'none' stands alone", "bp, skip, bp,skip or none"]),
    (["sweep", *TINY, "--over", "optim.lr=0.1", "--controls", "both"], ["'both'", "bp,skip"]),
    (["sweep", *TINY, "--over", "optim.lr=0.1", "--pareto", "acc,acc"], ["acc,acc", "twice"]),
])
def test_out_of_range(args, words, tmp_path):
    done = adagp(*args, code=2, cwd=tmp_path)
    assert all(word in done.stderr for word in words) and done.stdout == "", done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_the_largest_seed_that_fits(tmp_path):
    """A list of seeds may end with it, and so may a run."""
    adagp("train", *TINY, "--epochs", "1", "--seed", 2**63 - 1, "-o", tmp_path / "run")
    assert json.loads((tmp_path / "run/summary.json").read_text())["seed"] == 2**63 - 1
    adagp("compare", *TINY, "--epochs", "1", "--methods", "bp", "--seed", 2**63 - 2, "--seeds", "2",
          "-o", tmp_path / "list")
    last = tmp_path / f"list/bp-seed{2**63 - 1}/summary.json"
    assert json.loads(last.read_text())["seed"] == 2**63 - 1


def test_a_foreign_run_cannot_ask_for_all_threads(tmp_path):
    run = tmp_path / "run"
    adagp("train", *TINY, "--method", "bp", "--epochs", "1", "-o", run)
    config = (run / "config.toml").read_text()
    (run / "config.toml").write_text(config.replace("threads = 1\n", "threads = 0\n"))
    made = json.loads((run / "environment.json").read_text())
    made["threads"] = MANY
    (run / "environment.json").write_text(json.dumps(made))
    err = adagp("reproduce", run, code=2).stderr
    assert str(MANY) in err and "hardware threads" in err
    assert not os.path.exists(f"{run}-rerun")


def test_a_run_on_a_cpu_that_differs_is_not_blamed_on_a_gpu(tmp_path):
    """Without environment.json nobody knows what made the first run."""
    run = tmp_path / "run"
    adagp("train", *TINY, "--method", "bp", "--epochs", "1", "--device", "cpu", "-o", run)
    adagp("train", *TINY, "--method", "bp", "--epochs", "1", "--device", "cpu", "--seed", "5",
          "-o", tmp_path / "other")
    (tmp_path / "other/weights.safetensors").replace(run / "weights.safetensors")
    (run / "environment.json").unlink()
    out = adagp("reproduce", run).stdout
    assert "not equal" in out and "is not recorded" in out and "GPU" not in out
