"""Pipelines: against the program, closed forms and measured blocks."""

import json
import random
import subprocess
import time

import pytest

from adagp._impl.program import program
from adagp.errors import DataError, UsageError, in_arguments
from adagp.layer_table import layers
from adagp.pipelines import pipeline, time_blocks

SCHEDULES = ["gpipe", "dapple", "chimera", "zero-bubble", "interleaved", "zb-v", "filled", "filled-gpipe"]


def program_text(*args, fails=False):
    ran = subprocess.run([program(), *map(str, args)], capture_output=True, text=True)
    assert (ran.returncode != 0) == fails, ran.stderr
    return ran.stderr if fails else ran.stdout


def random_case(seed, folder):
    rng = random.Random(seed)
    arguments, flags = {}, []

    def add(keyword, flag, value):
        arguments[keyword] = value
        listed = isinstance(value, list)
        flags.extend([flag, ",".join(map(str, value)) if listed else str(value)])

    add("schedule", "--schedule", rng.choice([*SCHEDULES, "all", ["gpipe", "chimera"]]))
    add("stages", "--stages", rng.choice([2, 4, 8, [2, 4]]))
    add("micro_batches", "--micro-batches", rng.choice([8, 16, [8, 16]]))
    add("phases", "--phases", rng.choice(["bp", "gp", "gp-bp", "gp*4-bp", "low-bp"]))
    if rng.random() < 0.5:
        add("batches", "--batches", rng.randint(1, 40))
    if rng.random() < 0.5:
        add("gp_share", "--gp-share", rng.choice([0.25, 0.5]))
        add("low_share", "--low-share", rng.choice([0.25, 0.5]))
    if rng.random() < 0.5:
        add("latency", "--latency", rng.choice([0.25, 1.5]))
    if rng.random() < 0.5:
        add("copies", "--copies", rng.choice([3, [1, 8]]))
        add("weight_bytes", "--weight-bytes", 64)
        add("copy_bandwidth", "--copy-bandwidth", 16)
        add("all_reduce", "--all-reduce", rng.choice(["ring", "halving"]))
        add("bucket_bytes", "--bucket-bytes", rng.choice([0, 8]))
    kind = rng.choice(["steps", "network", "costs"])
    if kind == "steps":
        add("forward", "--fw", rng.choice([1, 2.5]))
        add("predictor", "--predictor", rng.choice([0, 0.5]))
        add("optimizer", "--optimizer", rng.choice([0, 1]))
        add("predictor_step", "--predictor-step", rng.choice([0, 0.5]))
    elif kind == "network":
        arguments["model"] = rng.choice(["resnet18", "vgg13"])
        flags += ["--model", arguments["model"]]
        add("input", "--input", "cifar")
        add("batch", "--batch", 64)
        add("array", "--array", rng.choice(["12x15", "32x32"]))
    else:
        path = folder / "costs.csv"
        lines = [f"b{i},{rng.random()},{rng.random()}" for i in range(20)]
        path.write_text("\n".join(["name,forward,backward", *lines]) + "\n")
        add("costs", "--costs", path)
    if rng.random() < 0.3:
        arguments["overlap"] = False
        flags.append("--batch-by-batch")
    add("epochs", "--epochs", rng.randint(11, 90))
    return arguments, flags


@pytest.mark.parametrize("seed", range(20))
def test_equals_the_program(seed, tmp_path):
    arguments, flags = random_case(seed, tmp_path)
    assert pipeline(**arguments).json() == program_text("pipeline", *flags, "--json")


@pytest.mark.parametrize("devices, parts", [(2, 4), (4, 4), (4, 16), (8, 8)])
def test_gpipe_by_its_formula(devices, parts):
    """Fill and drain: (stages - 1 + micro-batches) forward and as many backward passes."""
    run = pipeline(stages=devices, micro_batches=parts, forward=1, backward=2)[0]
    assert run["makespan"] == 3 * (devices - 1 + parts)


def test_copies_scale_and_make_a_picture():
    pipes = pipeline(copies=[1, 4, 16], weight_bytes=8, bandwidth=4)
    frame = pipes.to_pandas()
    assert list(frame.copies) == [1, 4, 16]
    assert list(frame.bp_speed) == sorted(frame.bp_speed, reverse=True) and frame.bp_speed[0] == 1
    assert "two batches per exchange" in pipes.scaling().svg


def test_frame_pictures_and_lists():
    pipes = pipeline(stages=4, micro_batches=8, schedule=SCHEDULES, phases="gp-bp")
    frame = pipes.to_pandas()
    assert list(frame.schedule) == SCHEDULES and len(frame) == len(pipes) == len(list(pipes))
    chart = pipes.gantt("chimera")
    assert "<svg" in chart._repr_svg_()[:100] and "device 3" in chart.svg
    ops = pipes.ops("gpipe")
    kinds = list(zip(ops["phase"], ops["kind"]))
    assert kinds.count(("gp", "forward")) == kinds.count(("bp", "backward")) == 32
    assert kinds.count(("gp", "backward")) == 0
    events = pipes.events("gpipe")
    assert max(events["end"]) == pipes[0]["makespan"]
    with pytest.raises(UsageError, match=f"0 runs of {len(SCHEDULES)} fit"):
        pipes.gantt("pipedream")
    with pytest.raises(IndexError):
        pipes[len(SCHEDULES)]


def test_one_of_several_is_found_by_its_sizes(tmp_path):
    pipes = pipeline(stages=[2, 4], micro_batches=[4, 8])
    with pytest.raises(UsageError, match="4 runs of 4 fit, expected one; name"):
        pipes.gantt("gpipe")
    path = tmp_path / "chart.svg"
    pipes.gantt("gpipe", stages=4, micro_batches=8).save(path)
    alone = tmp_path / "alone.svg"
    program_text("pipeline", "--stages", 4, "--micro-batches", 8, "--plot", alone)
    assert path.read_text() == alone.read_text()


def test_costs_in_memory_equal_a_file(tmp_path):
    costs = [{"name": f"b{i}", "forward": 1 + i, "backward": 2.5, "weight_bytes": 8}
             for i in range(9)]  # fmt: skip
    path = tmp_path / "costs.json"
    path.write_text(json.dumps(costs))
    from_file = pipeline(costs=path, stages=3)[0]
    pandas = pytest.importorskip("pandas")
    for given in (costs, tuple(costs), pandas.DataFrame(costs)):
        run = pipeline(costs=given, stages=3)[0]
        assert {**run, "unit": ""} == {**from_file, "unit": ""}


def test_measured_times_have_few_digits_for_people():
    costs = [{"name": f"b{i}", "forward": 2**0.5 / 100, "backward": 3**0.5 / 100} for i in range(4)]
    pipes = pipeline(costs=costs, stages=2, micro_batches=4)
    exact = pipes[0]["makespan"]
    assert f"{exact:.6g} " in repr(pipes) and repr(exact) not in repr(pipes)
    assert f": {exact:.6g} " in pipes.gantt()._repr_svg_()
    assert repr(exact) in pipes.json()


def test_a_table_equals_the_name():
    by_name = pipeline("resnet18", input="cifar", batch=64, stages=4)[0]
    by_table = pipeline(layers("resnet18", "cifar"), batch=64, stages=4)[0]
    assert by_name == by_table


def test_settings_reach_the_machine():
    plain = pipeline("resnet18", input="cifar", batch=64)[0]["makespan"]
    slow = pipeline("resnet18", input="cifar", batch=64,
                    settings={"dram_bytes_per_cycle": 0.5})[0]["makespan"]  # fmt: skip
    assert slow > plain


def test_measured_blocks():
    torch = pytest.importorskip("torch")
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
        nn.Sequential(nn.Conv2d(8, 64, 3, padding=1), nn.Conv2d(64, 64, 3, padding=1)),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    before = {name: value.clone() for name, value in model.state_dict().items()}
    times = time_blocks(model, torch.rand(8, 3, 32, 32), repeats=3)
    assert [block["name"] for block in times] == ["0", "1", "2", "3.0", "3.1", "4", "5", "6"]
    assert times[4]["weight_bytes"] == 4 * (64 * 64 * 9 + 64)
    assert times[0]["output_bytes"] == 4 * 8 * 8 * 32 * 32
    assert all(block["forward"] > 0 and block["backward"] > 0 for block in times)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    pipes = pipeline(costs=times, stages=3, micro_batches=4)
    assert pipes.unit == "seconds"
    parts = pipes[0]["parts"]
    assert sum(part["forward"] for part in parts) == pytest.approx(sum(block["forward"] for block in times))


def test_forward_and_backward_are_told_apart():
    torch = pytest.importorskip("torch")

    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            time.sleep(0.02)
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            time.sleep(0.05)
            return gradient

    class Block(torch.nn.Module):
        def forward(self, x):
            return Slow.apply(x)

    net = torch.nn.Sequential(torch.nn.Linear(2, 2), Block())
    slow = time_blocks(net, torch.rand(3, 2), repeats=2)[1]
    assert slow["forward"] >= 0.02 and slow["backward"] >= 0.05


@pytest.mark.parametrize(
    "arguments, flags",
    [
        ({"schedule": "gpip"}, ["--schedule", "gpip"]),
        ({"stages": 0}, ["--stages", 0]),
        ({"phases": "xp"}, ["--phases", "xp"]),
        ({"schedule": "chimera", "stages": 3}, ["--schedule", "chimera", "--stages", 3]),
    ],
)
def test_errors_are_the_programs(arguments, flags):
    with pytest.raises(UsageError) as error:
        pipeline(**arguments)
    assert str(error.value) in in_arguments(program_text("pipeline", *flags, fails=True))


def test_errors_speak_of_arguments():
    for arguments, text in (({"forward": -1}, "^forward=-1, expected"), ({"epochs": 0}, "^epochs is 0")):
        with pytest.raises(UsageError, match=text):
            pipeline(**arguments)


@pytest.mark.parametrize(
    "arguments, named",
    [
        ({"costs": 3}, "costs"),
        ({"costs": [3]}, "costs"),
        ({"costs": [{"forward": 1}]}, "expected at least forward and backward"),
        ({"costs": [{"forward": "x", "backward": 1}]}, "forward is 'x'"),
        ({"costs": [{"forward": object(), "backward": 1}]}, "costs"),
        ({"forward": "fast"}, "forward"),
        ({"stages": None, "micro_batches": object()}, "micro_batches"),
        ({"overlap": 1}, "overlap"),
        ({"chunks": -1}, "chunks"),
    ],
)
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises((UsageError, DataError), match=named):
        pipeline(**arguments)


def test_bad_models_are_named():
    torch = pytest.importorskip("torch")
    with pytest.raises(UsageError, match="model is a str"):
        time_blocks("net", torch.rand(1))
    with pytest.raises(UsageError, match="x is a str"):
        time_blocks(torch.nn.Linear(2, 2), "x")
    with pytest.raises(UsageError, match="no blocks"):
        time_blocks(torch.nn.Linear(2, 2), torch.rand(1, 2))


def test_files_for_other_programs_are_those_of_the_program(tmp_path):
    p = pipeline(stages=2, micro_batches=[4, 8], schedule="zb-v", phases="gp-bp", output_bytes=8, copies=2)
    p.chakra(tmp_path / "ours", micro_batches=8)
    p.chrome(tmp_path / "ours.json", micro_batches=8)
    p.save_schedule(tmp_path / "ours.csv", micro_batches=8)
    program_text("pipeline", "--stages", 2, "--micro-batches", 8, "--schedule", "zb-v", "--phases", "gp-bp",
                 "--bytes", 8, "--copies", 2, "--chakra", tmp_path / "theirs", "--chrome", tmp_path / "theirs.json",
                 "--save-schedule", tmp_path / "theirs.csv")  # fmt: skip
    names = sorted(file.name for file in (tmp_path / "theirs").iterdir())
    assert names == ["comm_groups.json", *(f"pipeline.{rank}.et" for rank in range(4))]
    for name in [f"ours/{name}" for name in names] + ["ours.json", "ours.csv"]:
        theirs = tmp_path / name.replace("ours", "theirs")
        assert (tmp_path / name).read_bytes() == theirs.read_bytes(), name
    again = pipeline(schedule_file=tmp_path / "ours.csv")
    assert again[0]["makespan"] == pipeline(stages=2, micro_batches=8, schedule="zb-v")[0]["makespan"]
    with pytest.raises(UsageError, match="expected one of them"):
        pipeline(schedule_file=tmp_path / "ours.csv", schedule="dapple")
    with pytest.raises(UsageError, match="name schedule"):
        p.chakra(tmp_path / "both")
