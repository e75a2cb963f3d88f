"""bench/gpu/pytorch_tuned.py without a GPU: how its processes run, and what is made of them."""

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
    """Processes that do nothing but what the test says; (kind, process, Popen) of each."""
    out, codes = [], {}

    def start(args, model, kind, to, process=0):
        code = codes.get(kind, "pass")
        if kind == "measure":
            result = json.dumps({"bp_ms": 1.5, "gpu": "some GPU"})
            code = f"open({str(to)!r}, 'w').write({result!r})"
        with open(pytorch_tuned.log_of(args, model, kind, process), "w", encoding="utf-8") as log:
            job = subprocess.Popen([sys.executable, "-c", code], stderr=log, start_new_session=True)
        out.append((kind, process, job))
        return job

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
    kinds = [kind for kind, _, _ in started[0]]
    assert kinds == ["tune", "share", "share", "share", "measure"]
    assert [process for kind, process, _ in started[0] if kind == "share"] == [0, 1, 2]
    started[0].clear()
    assert pytorch_tuned.tuned(options(tmp_path), "resnet18")["bp_ms"] == 1.5
    assert [kind for kind, _, _ in started[0]] == ["measure"]
    started[0].clear()  # another batch size, other kernels
    pytorch_tuned.tuned(options(tmp_path, "--batch", "64"), "resnet18")
    assert [kind for kind, _, _ in started[0]][0] == "tune"


def test_a_failed_process_is_named(started, tmp_path):
    started[1]["share"] = "raise SystemExit('no such thing')"
    result = pytorch_tuned.tuned(options(tmp_path), "resnet18")
    assert "bp_ms" not in result
    assert result["error"] == "share ended with exit code 1: no such thing"
    started[1]["share"] = f"raise SystemExit({pytorch_tuned.NOT_IN_CACHE})"
    assert "not in the cache" in pytorch_tuned.tuned(options(tmp_path), "resnet18")["error"]
    started[1]["share"] = "pass"  # goes on where it stopped
    started[0].clear()
    assert "error" not in pytorch_tuned.tuned(options(tmp_path), "resnet18")
    assert [kind for kind, _, _ in started[0]][0] == "share"


def test_the_time_limit_ends_all_processes(started, tmp_path):
    started[1]["share"] = "import time; time.sleep(600)"
    result = pytorch_tuned.tuned(options(tmp_path, "--time-limit", "3"), "resnet18")
    assert result["error"].startswith("not done after 3 s (--time-limit), in ")
    assert all(job.poll() is not None for _, _, job in started[0])


def test_one_failed_process_ends_the_others(started, tmp_path):
    started[1]["share"] = f"""
import sys, time
try:
    open({str(tmp_path / "first")!r}, "x")
except FileExistsError:
    time.sleep(600)
sys.exit(5)"""
    result = pytorch_tuned.tuned(options(tmp_path), "resnet18")
    assert result["error"].startswith("share ended with exit code 5")
    assert all(job.poll() is not None for _, _, job in started[0])


def test_what_cannot_work_is_refused_at_once(monkeypatch, tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchvision")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert pytorch_tuned.refusal(options(tmp_path)) == "no GPU that torch can use"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert "nosuchnet" in pytorch_tuned.refusal(options(tmp_path, "--models", "nosuchnet"))
    (tmp_path / "file").touch()
    assert "file" in pytorch_tuned.refusal(options(tmp_path / "file/cache", "--models", "resnet18"))
    bad = options(tmp_path, "--models", "resnet18,", "--json", str(tmp_path / "no/where.json"))
    assert bad.models == ["resnet18"] and "/no" in pytorch_tuned.refusal(bad)
    fine = options(tmp_path, "--models", "resnet18", "--json", str(tmp_path / "out.json"))
    assert pytorch_tuned.refusal(fine) == "" and not (tmp_path / "out.json").exists()


def test_ctrl_c_loses_no_network_that_was_measured(started, monkeypatch, tmp_path, capsys):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "some GPU")
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR",
                 "TORCHINDUCTOR_BUNDLE_TRITON_INTO_FX_GRAPH_CACHE"):
        monkeypatch.setenv(name, "")  # so that they are as before afterwards
    begin = pytorch_tuned.start

    def interrupted(args, model, kind, to, process=0):
        if model == "resnet50" and kind == "share" and process == 1:
            raise KeyboardInterrupt
        return begin(args, model, kind, to, process)

    monkeypatch.setattr(pytorch_tuned, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pytorch_tuned.measure_all(options(tmp_path, "--models", "resnet18,resnet50"))
    results = json.loads(capsys.readouterr().out)["results"]
    assert [(one["model"], one["bp_ms"]) for one in results] == [("resnet18", 1.5)]
    assert all(job.poll() is not None for _, _, job in started[0])


def test_bad_options_are_refused(capsys):
    with pytest.raises(SystemExit):
        pytorch_tuned.arguments(["--processes", "0"])
    assert "at least 1" in capsys.readouterr().err
