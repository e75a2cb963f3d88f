"""bench/gpu/pytorch_tuned.py without a GPU: how its processes are started and what is made of them."""

import json
import subprocess
import sys
from collections import Counter

import pytest

from harness import ROOT

sys.path.insert(0, str(ROOT / "bench/gpu"))
import pytorch_tuned  # noqa: E402


@pytest.fixture(name="started")
def _started(monkeypatch):
    """Processes that do nothing but what the test says; (model, kind, process) of each."""
    out, codes = [], {}

    def start(args, model, kind, to, process=0):
        out.append((model, kind, process))
        code = codes.get(kind, "pass")
        if kind == "measure":
            result = json.dumps({"bp_ms": 1.5, "gpu": "some GPU"})
            code = f"open({str(to)!r}, 'w').write({result!r})"
        return subprocess.Popen([sys.executable, "-c", code])

    monkeypatch.setattr(pytorch_tuned, "start", start)
    return out, codes


def options(folder, *more):
    args = pytorch_tuned.arguments(["--processes", "3", *more])
    args.cache = folder
    return args


def test_every_kernel_has_one_process():
    sources = [f"@triton_heuristics.pointwise\ndef kernel_{i}(): pass" for i in range(600)]
    counts = Counter(pytorch_tuned.owner(source, 12) for source in sources)
    assert sorted(counts) == list(range(12)) and min(counts.values()) > 25
    assert pytorch_tuned.owner("@triton_heuristics.template(num_stages=3)", 12) is None


def test_kinds_follow_one_another_and_are_not_repeated(started, tmp_path):
    result = pytorch_tuned.tuned(options(tmp_path), "resnet18")
    assert result["bp_ms"] == 1.5 and "error" not in result
    kinds = [kind for _, kind, _ in started[0]]
    assert kinds == ["tune", "share", "share", "share", "measure"]
    assert [process for _, kind, process in started[0] if kind == "share"] == [0, 1, 2]
    started[0].clear()
    assert pytorch_tuned.tuned(options(tmp_path), "resnet18")["bp_ms"] == 1.5
    assert [kind for _, kind, _ in started[0]] == ["measure"]


def test_a_failed_process_is_named(started, tmp_path):
    started[1]["share"] = "raise SystemExit(7)"
    result = pytorch_tuned.tuned(options(tmp_path), "resnet18")
    assert "bp_ms" not in result and result["error"].startswith("share ended with exit code 7")
    started[1]["share"] = "pass"  # goes on where it stopped
    started[0].clear()
    assert "error" not in pytorch_tuned.tuned(options(tmp_path), "resnet18")
    assert [kind for _, kind, _ in started[0]][0] == "share"


def test_the_time_limit_ends_all_processes(started, tmp_path):
    started[1]["share"] = "import time; time.sleep(600)"
    result = pytorch_tuned.tuned(options(tmp_path, "--time-limit", "3"), "resnet18")
    assert result["error"].startswith("not done after 3 s (--time-limit), in ")


def test_bad_options_are_refused(capsys):
    with pytest.raises(SystemExit):
        pytorch_tuned.arguments(["--processes", "0"])
    assert "at least 1" in capsys.readouterr().err
