"""The page that bench/gpu/run.py writes, from made-up measurements; no GPU."""

import csv
import json
import stat
import subprocess
import sys

import pytest

from harness import PATIENCE, ROOT

sys.path.insert(0, str(ROOT / "bench/gpu"))
import machine  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402

OURS = {"fw_ms": 1.0, "gp_ms": 1.1, "bp_ms": 3.0, "bp_train_ms": 3.3, "ratio_gp_fw": 1.1,
        "ratio_bptrain_bp": 1.1, "speedup": 1.4, "ceiling": 1.5, "share_of_ceiling": 0.9333,
        "peak_mib": {"fw": 100.0, "bp": 900.0, "gp": 104.0}, "spread": {"fw_ms": [0.98, 1.02]},
        "graph": True, "gp_share": 0.4763, "device": "NVIDIA H200"}
PYTORCH = {"torch": "2.11.0", "gpu": "NVIDIA H200", "results": [
    {"model": "vgg13_bn", "batch": 256, "mode": "eager", "bp_ms": 4.0, "bp_p10": 3.9,
     "bp_p90": 4.2},
    {"model": "vgg13_bn", "batch": 256, "mode": "compile-graph", "bp_ms": 2.5, "bp_p10": 2.4,
     "bp_p90": 2.6, "fw_ms": 0.9, "fw_p10": 0.9, "fw_p90": 0.9, "loss_first": 2.3},
    {"model": "vgg13_bn", "batch": 64, "mode": "eager", "bp_ms": 1.0},
    {"model": "resnet18", "batch": 256, "mode": "compile", "error": "TimeoutError: a|b\nmore"}]}


def a_run(**changes):
    return {"date": "2026-01-02", "device": "NVIDIA H200", "batch": 256, "input": "cifar",
            "command": "python3 bench/gpu/run.py", "versions": {"driver": "580"},
            "adagp": {"vgg13_bn": OURS}, "pytorch": PYTORCH, **changes}


def page_of(measured):
    return report.page(measured, "day.json")


def row(text, name):
    """The cells of the first row that begins with `name`."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_targets_are_judged_each_in_its_direction():
    text = page_of(a_run())
    assert row(text, "GP step / forward") == ["1.100 (<= 1.12: met)"]
    assert row(text, "BP with predictor training / BP") == ["1.100 (<= 1.08: MISSED)"]
    # 3.0 / 2.5: the fastest mode at this batch, not the first and not another batch's.
    assert row(text, "our BP / best PyTorch BP") == ["1.200 (compile-graph; <= 0.75: MISSED)"]
    share = row(text, "speed-up of the 90-epoch schedule / its ceiling")
    assert share == ["0.933 (1.400 of 1.500; >= 0.92: met)"]
    assert row(text, "peak memory of GP / forward") == ["1.040 (<= 1.05: met)"]
    assert row(text, "forward, no graph of autograd") == ["1.000 (0.980 to 1.020)"]


@pytest.mark.parametrize("changes", [{"batch": 64}, {"input": "imagenet"}])
def test_targets_hold_for_their_batch_and_input_alone(changes):
    text = page_of(a_run(**changes))
    assert "met)" not in text and "MISSED" not in text
    assert row(text, "GP step / forward") == ["1.100"]


def test_another_network_has_no_target():
    text = page_of(a_run(adagp={"vgg16_bn": OURS}))
    assert row(text, "GP step / forward") == ["1.100"]
    assert row(text, "BP, ms") == ["3.000"]
    assert row(text, "our BP / best PyTorch BP") == ["-"]


ROOFLINE = [{"model": "mobilenet_v2", "steps": {"bp": {
    "limit_ms": 1.5, "measured_ms": 2.0, "share": 0.75,
    "kinds": {"convolution": {"limit_ms": 1.0, "measured_ms": 1.25}, "norm": {"limit_ms": 0.5}}}}}]
def test_a_second_column_of_a_network_has_its_targets():
    column = "mobilenet_v2 own_kernels=false"
    text = page_of(a_run(adagp={"mobilenet_v2": {**OURS, "bp_ms": 6.86}, column: OURS},
                         roofline=ROOFLINE))
    assert row(text, "BP, ms") == ["6.860 (<= 3.50: MISSED)", "3.000 (<= 3.50: met)"]
    # The roofline is of the network as it is by default.
    assert row(text, "share of the roofline, BP") == ["0.750 (>= 0.50: met)", "-"]


def test_the_roofline_has_a_table():
    text = page_of(a_run(roofline=ROOFLINE))
    roofline = row(text, "mobilenet_v2")
    assert roofline[:6] == ["bp", "1.500", "2.000", "0.75", "1.00 / 1.25", "-"]
    assert roofline[6] == "0.50 / -"
    assert json.loads(report.raw_numbers(a_run(roofline=ROOFLINE)))["roofline"] == ROOFLINE


def test_missing_keys_leave_holes_and_ratios_come_from_their_parts():
    ours = {"fw_ms": 2.0, "gp_ms": 2.5, "spread": None, "peak_mib": {"gp": 1.0}}
    text = page_of(a_run(adagp={"resnet18": ours, "resnet50": {}}, pytorch={}))
    assert row(text, "GP step / forward") == ["1.250 (<= 1.06: MISSED)", "-"]
    for name in ("BP with predictor training / BP", "our BP / best PyTorch BP",
                 "peak memory of GP / forward"):
        assert row(text, name) == ["-", "-"]
    assert "PyTorch, ms" not in text


def test_failures_are_shown():
    failed = {"error": "exit code 1: memory"}
    text = page_of(a_run(adagp={"vgg13_bn": OURS, "resnet50": failed}))
    assert "`adagp bench` of resnet50 failed: exit code 1: memory" in text
    assert "failed: TimeoutError: a/b |" in text  # one line, and no cell of its own


def test_the_page_has_the_versions_and_leads_to_the_raw_numbers():
    text = page_of(a_run())
    assert "[day.json](day.json)" in text and "```json" not in text
    assert json.loads(report.raw_numbers(a_run())) == {"adagp": {"vgg13_bn": OURS}, "pytorch": PYTORCH}
    assert "| driver | 580 |" in text and "python3 bench/gpu/run.py" in text


def test_run_writes_the_page_from_what_the_program_prints(tmp_path):
    """With a stand-in for the program that measures one network and fails on the other."""
    program = tmp_path / "adagp"
    program.write_text(f"""#!/bin/sh
case "$*" in
  *--version*) echo adagp 9.9 ;;
  *resnet50*) echo out of memory >&2; exit 1 ;;
  *"--model vgg13_bn --input cifar --batch 256 --epochs 90 --device cuda --precision bf16"*)
    cat <<'X'
{json.dumps(OURS)}
X
    ;;
  *) exit 2 ;;
esac
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    command = [sys.executable, str(ROOT / "bench/gpu/run.py"), "--adagp", str(program),
               "--models", "vgg13_bn,resnet50", "--raw", str(tmp_path / "raw"),
               "--results", str(tmp_path / "results"), "--commit", "abc"]
    done = subprocess.run([*command, "--only", "adagp"], capture_output=True, text=True)
    assert done.returncode == 1 and "out of memory" in done.stderr, done.stderr
    numbers, page = sorted((tmp_path / "results").iterdir())
    assert page.name.endswith("-nvidia-h200.md") and page.name[:2] == "20"
    assert numbers == page.with_suffix(".json")
    assert json.loads(numbers.read_text())["adagp"]["vgg13_bn"] == OURS
    text = page.read_text()
    assert f"({numbers.name})" in text
    assert "1.100 (<= 1.12: met)" in text and "resnet50 failed: exit code 1: out of memory" in text
    assert "| adagp | adagp 9.9 |" in text and "| commit | abc |" in text
    assert "`make bench-gpu BENCH_ARGS='--models=vgg13_bn,resnet50 --only=adagp'`" in text

    # The other side measured later, in parts: the page is made from all, the last of each counts.
    def pytorch_page(number, results):
        (tmp_path / f"raw/pytorch-{number}.json").write_text(json.dumps({"results": results}))
        subprocess.run([*command, "--only", "none"], capture_output=True, check=False)
        return row(page.read_text(), "our BP / best PyTorch BP")

    first, second = PYTORCH["results"][:2]
    assert pytorch_page("001", [first]) == ["0.750 (eager; <= 0.75: met)"]
    assert pytorch_page("002", [second]) == ["1.200 (compile-graph; <= 0.75: MISSED)"]
    assert pytorch_page("003", [{**second, "bp_ms": 3.0}])[0].startswith("1.000 (compile-graph")


def test_resume_measures_what_is_missing_or_failed(tmp_path):
    """The stand-in counts its calls and fails on resnet50 the first time."""
    program, calls = tmp_path / "adagp", tmp_path / "calls"
    program.write_text(f"""#!/bin/sh
case "$*" in *--version*) exit 0 ;; esac
echo "$*" >> {calls}
[ "$(grep -c resnet50 {calls})" = 1 ] && exit 1
cat <<'X'
{json.dumps(OURS)}
X
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def measured(*more):
        before = calls.read_text().count("\n") if calls.exists() else 0
        done = subprocess.run(
            [sys.executable, str(ROOT / "bench/gpu/run.py"), "--adagp", str(program), "--models",
             "vgg13_bn,resnet50", "--raw", str(tmp_path / "raw"), "--results",
             str(tmp_path / "results"), "--only", "adagp", *more], capture_output=True, text=True)
        lines = calls.read_text().splitlines()[before:]
        return done.returncode, [line.split()[2] for line in lines], done.stderr

    assert measured()[:2] == (1, ["vgg13_bn", "resnet50"])
    assert measured("--resume")[:2] == (0, ["resnet50"])
    assert measured("--resume")[:2] == (0, [])
    (tmp_path / "raw/adagp-vgg13_bn.json").write_text('{"fw_ms": 1.')  # cut short
    assert measured("--resume")[:2] == (0, ["vgg13_bn"])
    files = {file: file.read_text() for file in (tmp_path / "results").iterdir()}
    assert sorted(file.suffix for file in files) == [".json", ".md"]
    code, calls_made, error = measured("--resume", "--batch", "64")
    assert (code, calls_made) == (1, []) and "--resume: batch was 256 and is 64 now" in error
    code, calls_made, error = measured("--resume", "--commit", "abc")
    assert (code, calls_made) == (1, []) and "and is abc now" in error
    assert files == {file: file.read_text() for file in (tmp_path / "results").iterdir()}


def test_a_failed_part_does_not_replace_what_was_measured(tmp_path, monkeypatch):
    file = tmp_path / "roofline.json"
    file.write_text(json.dumps(ROOFLINE))
    command = ["--models=mobilenet_v2,resnet18", "--only=roofline", "--resume", "--commit=abc",
               f"--adagp={sys.executable}", f"--raw={tmp_path}", f"--results={tmp_path}"]
    monkeypatch.setattr(run, "printed_json", lambda *_: {"error": "out of memory"})
    assert run.main(command) == 1 and json.loads(file.read_text()) == ROOFLINE
    found = [{**ROOFLINE[0], "model": "resnet18"}]
    monkeypatch.setattr(run, "printed_json", lambda *_: found)
    assert run.main(command) == 0 and json.loads(file.read_text()) == ROOFLINE + found


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench/gpu/run.py"), "--only=none", "--raw",
         str(tmp_path / "file/raw")], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("run.py: ")
    assert str(tmp_path / "file/raw") in done.stderr and "Traceback" not in done.stderr


def test_ctrl_c_leaves_what_was_measured(tmp_path):
    program = tmp_path / "adagp"
    program.write_text(f"""#!/bin/sh
case "$*" in *--version*) exit 0 ;; *resnet50*) kill -INT $PPID; exec sleep 3600 ;; esac
echo '{json.dumps(OURS)}'
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench/gpu/run.py"), "--adagp", str(program), "--only=adagp",
         "--models=vgg13_bn,resnet50", "--raw", str(tmp_path / "raw"), "--results",
         str(tmp_path / "results")], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 130 and "--resume goes on from here" in done.stderr
    assert json.loads((tmp_path / "raw/adagp-vgg13_bn.json").read_text()) == OURS
    assert not (tmp_path / "raw/adagp-resnet50.json").exists()


def test_an_edited_page_is_left_alone(tmp_path):
    made = run.page_path(tmp_path, "day")
    assert made == tmp_path / "day.md"
    made.write_text(page_of(a_run()))
    assert run.page_path(tmp_path, "day") == made  # made again
    made.write_text("# By hand\n")
    assert run.page_path(tmp_path, "day") == tmp_path / "day-2.md"


def test_a_run_in_parts_counts_its_gpus(monkeypatch):
    monkeypatch.setattr(machine, "said", lambda *_: "NVIDIA H200, 580.1, GPU-b")
    args = run.arguments(["--commit=abc"])
    assert machine.describe(args, {})["versions"]["GPU"] == "NVIDIA H200"
    assert machine.describe(args, {"gpus": ["GPU-b"]})["versions"]["GPU"] == "NVIDIA H200"
    both = machine.describe(args, {"gpus": ["GPU-a"], "date": "2026-01-02"})
    assert both["gpus"] == ["GPU-a", "GPU-b"] and both["date"] != "2026-01-02"
    assert both["versions"]["GPU"] == "NVIDIA H200, 2 different ones"
    args = run.arguments(["--commit=abc", "--resume"])
    assert machine.describe(args, {"date": "2026-01-02"})["date"] == "2026-01-02"


@pytest.mark.parametrize("words, message", [
    (["--modes=eager,compiled"], "unknown mode 'compiled'"),
    (["--models=vgg13"], "unknown network 'vgg13'"),
    (["--only=ours"], "unknown part 'ours'"),
])
def test_wrong_words_are_refused_before_anything_is_measured(words, message, capsys):
    with pytest.raises(SystemExit) as ended:
        run.arguments(words)
    assert ended.value.code == 2 and message in capsys.readouterr().err


def commands_of(*words, measured=()):
    args = run.arguments(["--models=targets", *words])
    return [dict(zip(more[::2], more[1::2])) for more in run.pytorch_commands(args, measured)]


def test_pytorch_is_measured_where_it_is_missing():
    all_five = "vgg13_bn,resnet18,resnet50,mobilenet_v2,densenet121"
    commands = commands_of()
    assert [options["--modes"] for options in commands] == list(run.MODES)
    assert {options["--models"] for options in commands} == {all_five}

    there = {"input": "cifar", "batch": 256, "mode": "eager-graph"}
    measured = [{**there, "model": "resnet18", "bp_ms": 1.0},
                {**there, "model": "resnet50", "bp_ms": 1.0, "error": "killed"},
                {**there, "model": "vgg13_bn", "bp_ms": 1.0, "batch": 64}]
    eager, compiled = commands_of("--modes=eager-graph,compile-graph", measured=measured)
    assert eager["--models"] == "vgg13_bn,resnet50,mobilenet_v2,densenet121"
    assert compiled["--models"] == all_five


def test_modes_are_those_of_pytorch_bench():
    pytest.importorskip("torch")
    import pytorch_bench
    assert run.MODES == pytorch_bench.MODES


def test_a_missing_program_writes_no_page(tmp_path):
    done = subprocess.run([sys.executable, str(ROOT / "bench/gpu/run.py"), "--only", "adagp", "--adagp",
                           str(tmp_path / "none"), "--raw", str(tmp_path / "raw"), "--results",
                           str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 1 and "no such program" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["vgg13_bn", "resnet50", "mobilenet_v2", "densenet121",
                                  "inception_v3"])
def test_pytorch_side_has_our_small_forms(name):
    """Every product has the weights and the output of our layer table."""
    pytest.importorskip("torchvision")
    import pytorch_bench
    import torch

    found = []

    def note(module, _, output):
        found.append((module.weight.numel(), output.numel()))

    net = pytorch_bench.build(name, "cifar").eval()
    for module in net.modules():
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            module.register_forward_hook(note)
    with torch.no_grad():
        net(torch.zeros(1, 3, 32, 32))
    with open(ROOT / f"configs/layers/{name}-cifar.csv", encoding="utf-8") as file:
        rows = [line for line in csv.DictReader(file) if line["op"] in ("conv2d", "linear")]
    ours = [(int(line["weights"]), int(line["output_bytes"]) // 4) for line in rows]
    assert sorted(found) == sorted(ours)


def test_pytorch_side_reports_a_failed_mode_and_goes_on(tmp_path):
    """Two steps on the CPU, where there are no CUDA graphs."""
    pytest.importorskip("torchvision")
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench/gpu/pytorch_bench.py"), "--device", "cpu",
         "--batch", "2", "--steps", "2", "--warm-up", "1", "--models", "resnet18",
         "--modes", "eager-graph,eager", "--json", str(tmp_path / "out.json")],
        capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result == json.loads((tmp_path / "out.json").read_text())
    failed, eager = result["results"]
    assert failed["mode"] == "eager-graph" and failed["error"].endswith("needs a GPU")
    assert 0 < eager["fw_p10"] <= eager["fw_ms"] <= eager["fw_p90"]
    assert 0 < eager["bp_p10"] <= eager["bp_ms"] <= eager["bp_p90"]
