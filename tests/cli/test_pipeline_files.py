"""adagp pipeline: what it writes for other programs and reads from them."""

import json
import os
import signal
import subprocess

import pytest
from chakra_read import read
from harness import BIN, PATIENCE, ROOT, adagp, environment, wait_until

GOLDEN = ROOT / "tests/golden/fixtures/chakra"


def makespan(*args):
    return json.loads(adagp("pipeline", *args, "--json").stdout)["makespan"]


def replay(traces):
    """Runs the ranks of traces against each other: a node begins when what it depends on is over. Messages and
    collectives take no time. The order of a rank's nodes does not matter. Returns the end of the last node."""
    ends = [{} for _ in traces]
    left = [list(nodes) for nodes in traces]
    sent, arrived = {}, {}  # by (source, target, tag), in order; by (group, name): {rank: time}

    def ready(rank, node):
        needs = node["control"] + node["data"]
        return max((ends[rank][n] for n in needs), default=0) if all(n in ends[rank] for n in needs) else None

    moved = True
    while moved:
        moved = False
        for rank, nodes in enumerate(left):
            for node in list(nodes):
                start = ready(rank, node)
                if start is None:
                    continue
                line = tuple(node.get(key) for key in ("comm_src", "comm_dst", "comm_tag"))
                if node["type"] == "send":
                    assert rank == node["comm_src"]
                    sent.setdefault(line, []).append((start, node["comm_size"]))
                elif node["type"] == "receive":
                    assert rank == node["comm_dst"]
                    if not sent.get(line):
                        continue
                    time, size = sent[line].pop(0)
                    assert size == node["comm_size"]
                    start = max(start, time)
                elif node["type"] == "collective":
                    met = arrived.setdefault((node["pg_name"], node["name"]), {})
                    met[rank] = start
                    if set(met) != set(GROUPS[node["pg_name"]]):
                        continue
                    start = max(met.values())
                ends[rank][node["id"]] = start + node["micros"]
                nodes.remove(node)
                moved = True
    assert not any(left), left
    assert not any(sent.values())
    return max(max(times.values()) for times in ends)


GROUPS = {}


def traces_of(folder):
    GROUPS.clear()
    if (folder / "comm_groups.json").exists():
        GROUPS.update(json.loads((folder / "comm_groups.json").read_text()))
    count = len(list(folder.glob("pipeline.*.et")))
    return [read(folder / f"pipeline.{rank}.et") for rank in range(count)]


def test_chakra_traces_are_those_that_protobuf_writes(tmp_path):
    adagp("pipeline", "--stages", 2, "--micro-batches", 1, "--bytes", 8, "--weight-bytes", 16, "--copies", 2,
          "--chakra", tmp_path / "t")
    for rank in range(4):
        name = f"pipeline.{rank}.et"
        assert (tmp_path / "t" / name).read_bytes() == (GOLDEN / name).read_bytes(), rank
    assert json.loads((tmp_path / "t/comm_groups.json").read_text()) == {"0": [0, 2], "1": [1, 3]}


def test_traces_of_more_ranks_are_gone(tmp_path):
    (tmp_path / "pipeline.mine.et").write_text("")
    adagp("pipeline", "--stages", 4, "--copies", 2, "--weight-bytes", 16, "--chakra", tmp_path)
    adagp("pipeline", "--stages", 2, "--chakra", tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pipeline.0.et", "pipeline.1.et", "pipeline.mine.et"]


@pytest.mark.parametrize("flag", ["--chakra", "--chrome"])
def test_an_interrupted_trace_leaves_nothing(flag, tmp_path):
    """The program would write for minutes."""
    process = subprocess.Popen([BIN, "pipeline", "--stages", "64", "--micro-batches", "512", "--batches", "5000", flag,
                                str(tmp_path / "t")], env=environment(), stderr=subprocess.PIPE, text=True)
    wait_until(lambda: sum(p.stat().st_size for p in tmp_path.rglob("*") if p.is_file()) > 0, process)
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130 and "interrupted while writing traces" in error
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


@pytest.mark.parametrize("source", ["--table", "--onnx", "--pt2"])
def test_an_input_that_would_do_nothing_is_refused(source, tmp_path):
    for command in ("simulate", "pipeline"):
        error = adagp(command, source, tmp_path / "net", "--input", "cifar", code=2).stderr
        assert "--input" in error and source in error and error.count("\n") == 1


@pytest.mark.parametrize("args", [
    ["--schedule", "gpipe", "--phases", "gp-bp"],
    ["--schedule", "dapple", "--phases", "gp*2-bp", "--batches", 7],
    ["--schedule", "zero-bubble", "--predictor", 1, "--optimizer", 2, "--phases", "gp-bp"],
    ["--schedule", "chimera", "--phases", "gp-bp", "--weight-bytes", 64, "--summary-bytes", 4],
    ["--schedule", "interleaved", "--micro-batches", 8, "--copies", 3, "--weight-bytes", 64],
    ["--schedule", "zb-v", "--micro-batches", 8, "--phases", "gp-bp", "--batches", 5],
    ["--schedule", "dualpipe-v", "--micro-batches", 9],
    ["--schedule", "filled", "--micro-batches", 8, "--phases", "gp-bp", "--batches", 6, "--gp-share", 0.5],
    ["--schedule", "filled-gpipe", "--phases", "low-bp", "--batches", 5, "--optimizer", 1],
    ["--schedule", "filled", "--phases", "low-bp", "--copies", 2, "--weight-bytes", 64, "--low-share", 0.5],
    ["--schedule", "chimera", "--phases", "low-bp", "--weight-bytes", 64],
    ["--schedule", "gpipe", "--copies", 2, "--phases", "gp-bp", "--summary-bytes", 4, "--weight-bytes", 64],
])
def test_ranks_of_chakra_traces_take_the_time_that_we_simulate(args, tmp_path):
    """The traces alone, replayed by a simulator that knows nothing of pipelines."""
    expected = json.loads(adagp("pipeline", *args, "--bytes", 5, "--chakra", tmp_path, "--json").stdout)
    traces = traces_of(tmp_path)
    heads = [head for head, _ in traces]
    scale = heads[0]["micros_per_unit"]
    assert all(head == {"time_unit": "steps", "micros_per_unit": scale} for head in heads) and scale in (1000, 10000)
    assert replay([nodes for _, nodes in traces]) == expected["makespan"] * scale
    copies = expected["copies"]["count"]
    assert len(traces) == 4 * copies
    nodes = [node for _, each in traces for node in each]
    assert sum(node["type"] == "send" for node in nodes) == expected["messages"] * copies
    reduced = {node["comm_size"] for node in nodes if node["type"] == "collective"}
    assert reduced <= {64, 4} and bool(reduced) == ("--weight-bytes" in args)


def test_chakra_durations_are_cycles(tmp_path):
    run = json.loads(adagp("pipeline", "--model", "resnet18", "--input", "cifar", "--batch", 16, "--array", "8x8",
                           "--chakra", tmp_path, "--json").stdout)
    head, nodes = traces_of(tmp_path)[0]
    assert head == {"time_unit": "cycles", "micros_per_unit": 1.0}
    part = run["parts"][0]
    assert {n["micros"] for n in nodes if n["name"].startswith("forward")} == {part["forward"]}
    assert {n["micros"] for n in nodes if n["name"].startswith("backward")} == {part["backward"]}
    assert {n["comm_size"] for n in nodes if n["type"] == "send"} == {part["output_bytes"]}


def peak_memory(*args):
    """MiB of the program."""
    child = subprocess.Popen([BIN, *map(str, args)], env=environment(), stdout=subprocess.DEVNULL)
    _, child.returncode, usage = os.wait4(child.pid, 0)
    assert child.returncode == 0
    return usage.ru_maxrss / 1024


def test_chakra_traces_are_streamed(tmp_path):
    """64 ranks: a hundred batches need the memory of one."""
    shape = ["pipeline", "--stages", 64, "--micro-batches", 16, "--schedule", "dapple", "--phases", "gp-bp",
             "--chakra", tmp_path]
    one = peak_memory(*shape, "--batches", 2)
    size = sum(file.stat().st_size for file in tmp_path.glob("*.et"))
    many = peak_memory(*shape, "--batches", 100)
    assert sum(file.stat().st_size for file in tmp_path.glob("*.et")) > 45 * size
    assert many < one + 16  # MiB; all traces have hundreds
    ranks = [read(tmp_path / f"pipeline.{rank}.et")[1] for rank in (0, 63)]
    assert [sum(n["name"].startswith("forward") for n in nodes) for nodes in ranks] == [1600, 1600]


def test_chrome_trace_has_the_events(tmp_path):
    file = tmp_path / "trace.json"
    run = json.loads(adagp("pipeline", "--phases", "gp-bp", "--predictor", 1, "--chrome", file, "--json").stdout)
    events = json.loads(file.read_text())["traceEvents"]
    assert max(e["ts"] + e["dur"] for e in events) == run["makespan"]
    for device in range(4):
        mine = [e for e in events if e["tid"] == device]
        assert sum(e["dur"] for e in mine) == pytest.approx(run["busy"][device])
        assert sum(e["args"]["kind"] == "forward" and e["cat"] == "GP" for e in mine) == 4
    assert {e["name"] for e in events} >= {"forward 3", "backward 0", "predict-update", "optimizer"}


def test_schedules_go_out_and_come_back(tmp_path):
    file = tmp_path / "s.csv"
    for schedule in ("gpipe", "dapple", "zero-bubble", "interleaved", "zb-v", "dualpipe-v"):
        shape = ["--schedule", schedule, "--stages", 3, "--micro-batches", 6]
        bp = makespan(*shape, "--save-schedule", file)
        assert makespan("--schedule-file", file) == bp
        run = json.loads(adagp("pipeline", "--schedule-file", file, "--phases", "gp-bp", "--json").stdout)
        assert (run["schedule"], run["stages"], run["micro_batches"]) == (str(file), 3, 6)
        assert run["makespan"] > bp
        again = tmp_path / "again.csv"
        adagp("pipeline", "--schedule-file", file, "--save-schedule", again)
        assert again.read_bytes() == file.read_bytes()


@pytest.mark.parametrize("text,words", [
    ("0F0,0X0\n", ["line 1", "'0X0'"]),
    ("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n", ["deadlock", "device 0"]),
    ("", ["no passes"]),
    ("0F0\n", ["stage 0, micro-batch 0"]),
    ("\0\xff,,\n" * 3, ["line 1"]),
])
def test_a_broken_schedule_is_one_line(text, words, tmp_path):
    file = tmp_path / "bad.csv"
    file.write_bytes(text.encode("latin-1"))
    told = adagp("pipeline", "--schedule-file", file, code=3).stderr
    assert all(word in told for word in [*words, "bad.csv"]) and told.count("\n") == 1


@pytest.mark.parametrize("args,code,words", [
    (["--schedule-file", "s.csv", "--schedule", "gpipe"], 2, ["--schedule"]),
    (["--schedule-file", "s.csv", "--stages", 4], 2, ["--schedule-file", "--stages"]),
    (["--schedule-file", "missing.csv"], 3, ["missing.csv"]),
    (["--stages", "2,4", "--chakra", "t"], 2, ["--chakra is for one run, got 2"]),
    (["--stages", "2,4", "--chrome", "t"], 2, ["--chrome is for one run"]),
    (["--stages", "2,4", "--save-schedule", "t"], 2, ["--save-schedule is for one run"]),
    (["--schedule", "chimera", "--save-schedule", "t"], 2, ["chimera", "2 replicas"]),
    (["--copies", 2000, "--chakra", "t"], 2, ["8000 ranks", "4096"]),
    (["--gp-share", 0], 2, ["--gp-share 0", "0.001 to 1"]),
    (["--gp-share", 2], 2, ["--gp-share"]),
    (["--low-share", 0], 2, ["--low-share 0", "0.001 to 1"]),
    (["--phases", "lo-bp"], 2, ["'lo'", "bp, gp, low"]),
    (["--schedule", "zb-v", "--chunks", 3], 2, ["3 chunks", "expected 2"]),
    (["--schedule", "dualpipe-v"], 2, ["4 micro-batches on 4 devices"]),
])
def test_what_cannot_be_done_is_one_line(args, code, words, tmp_path):
    told = adagp("pipeline", *args, code=code, cwd=tmp_path).stderr
    assert all(word in told for word in words), told
    assert told.count("\n") == 1 and not list(tmp_path.iterdir())
