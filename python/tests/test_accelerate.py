"""Plans under accelerate: does each example come once? This file is also the script."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from limits import PATIENCE
from torch.utils.data import DataLoader, TensorDataset

import adagp
from adagp.integrations import accelerate as integration

accelerate = pytest.importorskip("accelerate")

BATCH, EXAMPLES, SIDE, EPOCHS = 9, 100, 16, 5
MIDDLE = 12  # a batch in the middle of an epoch


def images():
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(EXAMPLES, 3, SIDE, SIDE, generator=generator)
    return TensorDataset(x, torch.arange(EXAMPLES) % 4, torch.arange(EXAMPLES))


def run(folder, resume):
    accelerator = accelerate.Accelerator(cpu=True)
    plan = integration.plan(accelerator, "progressive+stored-loss", images(), batch_size=BATCH, epochs=EPOCHS, seed=3)
    loader = DataLoader(images(), batch_sampler=plan)
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(32, 4),
    )  # fmt: skip
    net, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.05))
    if resume:
        accelerator.load_state(folder / "state")
    seen = []
    for x, y, numbers in plan.batches(loader, accelerator.device):
        losses = torch.nn.functional.cross_entropy(net(x), y, reduction="none")
        loss = plan.loss(losses)
        optimizer.zero_grad()
        accelerator.backward(loss)
        plan.set_rate(optimizer, 0.05)
        optimizer.step()
        table = plan._losses.at_begin().tolist()
        seen.append((plan.epoch, plan.position, x.shape[-1], numbers.tolist(), table))
        if len(seen) == MIDDLE and not resume:
            accelerator.save_state(folder / "state")
    weights = {k.removeprefix("module."): v for k, v in net.state_dict().items()}
    return seen, weights, accelerator.process_index


def main(folder):
    seen, weights, rank = run(folder, resume=False)
    again, again_weights, _ = run(folder, resume=True)
    torch.save((seen, weights, again, again_weights), folder / f"{rank}.pt")


@pytest.mark.slow
def test_two_processes_see_each_example_once(tmp_path):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    ended = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
         __file__, str(tmp_path)],
        capture_output=True, text=True, timeout=PATIENCE, env=environment, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-6000:]
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))

    epochs = {}
    for a, b in zip(first[0], second[0], strict=True):
        assert a[:3] == b[:3]
        assert a[4] == b[4]  # the same losses when the epoch began
        assert abs(len(a[3]) - len(b[3])) <= 1
        epochs.setdefault(a[0], []).extend(a[3] + b[3])
    assert sorted(epochs) == list(range(EPOCHS))
    assert all(len(set(numbers)) == len(numbers) for numbers in epochs.values())
    assert len(epochs[2]) < 0.7 * len(epochs[EPOCHS - 1])  # some were left out
    chosen = [adagp_choice(first[0], epoch) for epoch in range(EPOCHS)]
    assert [sorted(epochs[e]) for e in range(EPOCHS)] == chosen

    for seen, weights, again, again_weights in (first, second):
        assert again == seen[MIDDLE:]
        for name, value in weights.items():
            assert torch.equal(value, first[1][name])
            assert torch.equal(value, again_weights[name])


def adagp_choice(seen, epoch):
    """The examples that a plan of one process chooses from the same losses."""
    table = next(row[4] for row in seen if row[0] == epoch)
    plan = adagp.Plan("progressive+stored-loss", images(), batch_size=BATCH, epochs=EPOCHS, seed=3)
    plan._losses._table.copy_(torch.tensor(table))
    plan.set_epoch(epoch)
    return sorted(number for batch in plan for number in batch)


def test_one_process(tmp_path):
    seen, weights, _ = run(tmp_path, resume=False)
    again, again_weights, _ = run(tmp_path, resume=True)
    assert again == seen[MIDDLE:]
    assert all(torch.equal(weights[name], again_weights[name]) for name in weights)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: integration.plan("bp", "bp", 100, batch_size=8, epochs=2),
            "accelerator: got a str",
        ),
        (
            lambda: integration.plan(accelerate.Accelerator(cpu=True), "bp", 100, batch_size=8, epochs=2, world=2),
            "the accelerator knows it",
        ),
    ],
)
def test_bad_input_names_the_argument(make, text):
    with pytest.raises(adagp.UsageError, match=text):
        make()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
