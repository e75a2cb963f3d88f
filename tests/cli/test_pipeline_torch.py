"""Our op lists beside those of PyTorch's own generators (torch.distributed.pipelining)."""

import csv
import json
from types import SimpleNamespace

import pytest
from harness import adagp

schedules = pytest.importorskip("torch.distributed.pipelining.schedules")

SHAPES = [(devices, micro) for devices in (1, 2, 3, 4, 6) for micro in (1, 2, 4, 6, 8, 12, 13)]


def generator(name, devices, micro, local=1):
    """The object that makes the order, without the stages and processes that its constructor asks for."""
    made = object.__new__(getattr(schedules, name))
    made.pp_group_size, made._n_microbatches, made.n_local_stages = devices, micro, local
    made._stages = [SimpleNamespace() for _ in range(local)]
    made.num_stages = made._num_stages = devices * local
    made.number_of_rounds = max(1, micro // devices)
    made.microbatches_per_round = micro // made.number_of_rounds
    return made


def torch_order(name, devices, micro, local=1):
    made = generator(name, devices, micro, local)
    if hasattr(made, "_calculate_single_rank_operations"):
        return {rank: made._calculate_single_rank_operations(rank) for rank in range(devices)}
    return made._get_pipeline_order()


def passes(order):
    """Of each rank (stage, letter, micro-batch), without pauses; pairs one after the other."""
    flat = [[part for action in order[rank] if action for part in action.sub_actions or (action,)] for rank in order]
    return [[(a.stage_index, a.computation_type.value, a.microbatch_index) for a in row
             if a.computation_type.value in "FBIW"] for row in flat]


def ours(tmp_path, schedule, devices, micro, *more):
    file = tmp_path / "ours.csv"
    adagp("pipeline", "--schedule", schedule, "--stages", devices, "--micro-batches", micro, *more,
          "--save-schedule", file)
    with open(file, newline="") as lines:
        return passes({rank: [schedules._Action.from_str(cell) for cell in row]
                       for rank, row in enumerate(csv.reader(lines))})


@pytest.mark.parametrize("devices,micro", SHAPES)
def test_gpipe(devices, micro, tmp_path):
    """PyTorch goes backward in the order of the forward passes, we in the opposite one (as the GPipe paper)."""
    theirs = passes(torch_order("ScheduleGPipe", devices, micro))
    turned = [[(s, k, micro - 1 - m if k == "B" else m) for s, k, m in row] for row in theirs]
    assert ours(tmp_path, "gpipe", devices, micro) == turned


@pytest.mark.parametrize("devices,micro", [(d, n) for d, n in SHAPES if n >= d])
def test_1f1b(devices, micro, tmp_path):
    """PyTorch's list for the last rank counts its forward passes from 1 (torch 2.11: `forward_mb` has not been used
    yet when it is raised), and with fewer micro-batches than ranks it has passes that do not exist."""
    theirs = passes(torch_order("Schedule1F1B", devices, micro))
    first = theirs[-1][0][2]
    assert first in (0, 1)
    theirs[-1] = [(s, k, m - first if k == "F" else m) for s, k, m in theirs[-1]]
    assert ours(tmp_path, "dapple", devices, micro) == theirs


@pytest.mark.parametrize("chunks", [2, 3])
@pytest.mark.parametrize("devices,micro", [(d, n) for d, n in SHAPES if n % d == 0])
def test_interleaved(devices, micro, chunks, tmp_path):
    """We take multiples of the ranks alone. (With one chunk ours is 1F1B, PyTorch's keeps more activations.)"""
    assert (ours(tmp_path, "interleaved", devices, micro, "--chunks", chunks)
            == passes(torch_order("ScheduleInterleaved1F1B", devices, micro, chunks)))


@pytest.mark.parametrize("devices,micro", SHAPES)
def test_zero_bubble(devices, micro, tmp_path):
    """Ours has one stage a device; PyTorch's with several comes in as a file."""
    assert (ours(tmp_path, "zero-bubble", devices, micro)
            == passes(torch_order("ScheduleInterleavedZeroBubble", devices, micro)))


@pytest.mark.parametrize("devices,micro", SHAPES)
def test_zb_v(devices, micro, tmp_path):
    assert ours(tmp_path, "zb-v", devices, micro) == passes(torch_order("ScheduleZBVZeroBubble", devices, micro, 2))


@pytest.mark.parametrize("devices,micro", [(d, n) for d, n in SHAPES if n >= 2 * d])
def test_dualpipe_v(devices, micro, tmp_path):
    """Its pairs of a forward and a backward pass stand one after the other here."""
    assert (ours(tmp_path, "dualpipe-v", devices, micro)
            == passes(torch_order("ScheduleDualPipeV", devices, micro, 2)))


@pytest.mark.parametrize("name,local", [
    ("ScheduleGPipe", 1), ("ScheduleInterleaved1F1B", 2), ("ScheduleInterleaved1F1B", 3), ("ScheduleLoopedBFS", 2),
    ("ScheduleInterleavedZeroBubble", 2), ("ScheduleZBVZeroBubble", 2), ("ScheduleDualPipeV", 2)])
def test_what_pytorch_dumps_is_read_and_goes_back(name, local, tmp_path):
    made = generator(name, 4, 8, local)
    made.pipeline_order = torch_order(name, 4, 8, local)
    file, back = tmp_path / "theirs.csv", tmp_path / "back.csv"
    schedules._PipelineScheduleRuntime._dump_csv(made, file, format="compute_only")
    run = json.loads(adagp("pipeline", "--schedule-file", file, "--save-schedule", back, "--json").stdout)
    assert (run["stages"], run["micro_batches"], run["chunks"]) == (4, 8, local)
    assert run["makespan"] >= 3 * 8
    # PyTorch's reader and its check of a schedule take what we write.
    reader = generator("ScheduleLoopedBFS", 4, 8, local)
    reader.pipeline_order = {}
    schedules.PipelineScheduleMulti._load_csv(reader, back)
    assert passes(reader.pipeline_order) == passes(made.pipeline_order)


def pairs_time(order, stages, forward, half, weight, both):
    """The makespan and the longest idle time of a rank where the two passes of a pair take `both` together and
    end together."""
    alone = {"F": forward, "I": half, "W": weight, "B": half + weight}
    done, clock, work, left = {}, dict.fromkeys(order, 0), dict.fromkeys(order, 0), {}
    for rank, actions in order.items():
        left[rank] = [action for action in actions if action]

    def needs(part):
        stage, kind, micro = part.stage_index, part.computation_type.value, part.microbatch_index
        if kind == "F":
            return [(stage - 1, "F", micro)] if stage > 0 else []
        return [(stage + 1, "B", micro)] if kind in "BI" and stage + 1 < stages else []

    moved = True
    while moved:
        moved = False
        for rank, actions in left.items():
            while actions:
                parts = actions[0].sub_actions or (actions[0],)
                waits = [need for part in parts for need in needs(part)]
                if any(need not in done for need in waits):
                    break
                time = both if len(parts) > 1 else alone[parts[0].computation_type.value]
                clock[rank] = max([clock[rank], *(done[need] for need in waits)]) + time
                work[rank] += time
                for part in parts:
                    kind = part.computation_type.value
                    done[part.stage_index, "B" if kind == "I" else kind, part.microbatch_index] = clock[rank]
                actions.pop(0)
                moved = True
    assert not any(left.values())
    return max(clock.values()), max(max(clock.values()) - work[rank] for rank in order)


@pytest.mark.parametrize("devices", [1, 2, 4, 8])
@pytest.mark.parametrize("forward,weight", [(1, 1), (2, 1), (3, 2)])
def test_published_bubble_of_dualpipe_v(devices, forward, weight, tmp_path):
    """(D - 1)(F&B + B - 3 W), of DualPipe's README, needs pairs whose passes end together. Ours, one after the
    other, wait (D - 1)(F + I - W): less by (D - 1) I where F&B = F + B."""
    micro, backward = 3 * devices, forward + weight
    order = torch_order("ScheduleDualPipeV", devices, micro, 2)
    for saved in (0, 1):  # by the overlap
        both = forward + backward - saved
        _, idle = pairs_time(order, 2 * devices, forward, forward, weight, both)
        assert idle == (devices - 1) * (both + backward - 3 * weight)
    costs = tmp_path / "costs.csv"
    line = f"{forward},{backward},{forward},{weight}\n"
    costs.write_text("forward,backward,input_gradient,weight_gradient\n" + line * (2 * devices))
    run = json.loads(adagp("pipeline", "--schedule", "dualpipe-v", "--stages", devices, "--micro-batches", micro,
                           "--costs", costs, "--json").stdout)
    assert run["makespan"] == 2 * micro * (forward + backward) + (devices - 1) * (2 * forward - weight)
