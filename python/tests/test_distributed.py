"""Do two processes train what one trains? This file is also the script that they run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from limits import PATIENCE
from torch.utils.data import DataLoader, TensorDataset

import adagp

EXAMPLES, EPOCHS = 100, 3
MIDDLE = 14  # a batch of the second epoch


def data():
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(EXAMPLES, 3, 8, 8, generator=generator, dtype=torch.float64)
    return TensorDataset(x, torch.arange(EXAMPLES) % 4, torch.arange(EXAMPLES))


def network():
    torch.manual_seed(0)
    # In double precision, so that rounding does not change which losses are larger.
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 4)
    ).double()


def losses_of(net, x, y):
    return torch.nn.functional.cross_entropy(net(x), y, reduction="none")


def plan_of(batch, rank=0, world=1):
    return adagp.Plan("stored-loss", data(), batch_size=batch, epochs=EPOCHS, seed=3,
                      rank=rank, world=world)  # fmt: skip


def trained(plan, net, state=None, save_at=None):
    """The examples, gradients and losses of each batch; saves or restores in the middle."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    seen, saved = [], None
    if state:
        plan.load_state_dict(state["plan"])
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
    for x, y, numbers in plan.batches(DataLoader(data(), batch_sampler=plan)):
        table = plan._losses.at_begin().tolist()
        optimizer.zero_grad()
        plan.loss(losses_of(net, x, y)).backward()
        optimizer.step()
        gradients = [p.grad.clone() for p in net.parameters()]
        seen.append((plan.epoch, numbers.tolist(), table, gradients))
        if len(seen) == save_at:
            plan.share_losses()
            saved = {"plan": plan.state_dict(), "net": net.state_dict()}
            saved = torch.utils._pytree.tree_map(
                lambda v: v.clone() if isinstance(v, torch.Tensor) else v,
                saved | {"optimizer": optimizer.state_dict()},
            )
    return seen, saved


def run_ddp(folder, batch):
    """Two gloo processes; the second run goes on from rank 0's state of the first."""
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    net = DistributedDataParallel(network())
    seen, saved = trained(plan_of(batch, rank, world), net, save_at=MIDDLE)
    states = [saved]
    dist.broadcast_object_list(states, src=0)
    again, _ = trained(plan_of(batch, rank, world), DistributedDataParallel(network()), states[0])
    torch.save({"seen": seen, "again": again}, folder / f"{rank}.pt")
    dist.destroy_process_group()


def run_lightning(folder, _):
    import lightning.pytorch as pl

    from adagp.integrations.lightning import PlanCallback

    class Module(pl.LightningModule):
        def __init__(self, plan):
            super().__init__()
            self.net, self.plan, self.seen = network(), plan, []

        def training_step(self, batch, batch_idx):
            table = self.plan._losses.at_begin().tolist()
            self.seen.append((self.current_epoch, batch[2].tolist(), table))
            return self.plan.loss(losses_of(self.net, batch[0], batch[1]))

        def configure_optimizers(self):
            return torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)

    def fit(checkpoint=None, **options):
        plan = plan_of(9)  # of one process: the callback splits it
        module = Module(plan)
        callbacks = [PlanCallback(plan)]
        if checkpoint is None:
            callbacks.append(pl.callbacks.ModelCheckpoint(folder, "{step}", save_top_k=-1,
                                                          every_n_train_steps=MIDDLE))  # fmt: skip
        trainer = pl.Trainer(
            accelerator="cpu", devices=2, strategy="ddp", use_distributed_sampler=False,
            max_epochs=EPOCHS, callbacks=callbacks, logger=False, enable_progress_bar=False,
            enable_model_summary=False, enable_checkpointing=checkpoint is None,
        )  # fmt: skip
        trainer.fit(module, DataLoader(data(), batch_sampler=plan), ckpt_path=checkpoint)
        return module, trainer.global_rank

    module, rank = fit()
    again, _ = fit(folder / f"step={MIDDLE}.ckpt")
    torch.save(
        {"seen": module.seen, "again": again.seen, "net": module.net.state_dict(),
         "again_net": again.net.state_dict()},
        folder / f"{rank}.pt",
    )  # fmt: skip


def launched(folder, kind, batch, launcher):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, *launcher, __file__, kind, str(folder), str(batch)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment, check=False)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-6000:]
    return [torch.load(folder / f"{rank}.pt") for rank in (0, 1)]


TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


@pytest.mark.slow
@pytest.mark.parametrize("batch", [8, 9])
def test_gradients_of_two_processes_are_those_of_one(tmp_path, batch):
    one, _ = trained(plan_of(batch), network())
    assert len({len(numbers) for _, numbers, *_ in one}) == 1
    two = launched(tmp_path, "ddp", batch, TORCHRUN)
    parts = [run["seen"] for run in two]
    assert len(parts[0]) == len(parts[1]) == len(one)
    for (epoch, numbers, table, gradients), first, second in zip(one, *parts, strict=True):
        assert first[0] == second[0] == epoch
        assert first[1] + second[1] == numbers
        assert first[2] == second[2] and first[2] == pytest.approx(table, abs=1e-6)
        for whole, a, b in zip(gradients, first[3], second[3], strict=True):
            assert torch.equal(a, b)
            torch.testing.assert_close(a, whole, rtol=0, atol=1e-6)
    # The state of one process, written in mid-epoch, is enough for both.
    assert one[MIDDLE - 1][0] == one[MIDDLE][0] == 1
    for run in two:
        assert len(run["again"]) == len(one) - MIDDLE
        for before, after in zip(run["seen"][MIDDLE:], run["again"], strict=True):
            assert before[:3] == after[:3]
            assert all(torch.equal(a, b) for a, b in zip(before[3], after[3], strict=True))


@pytest.mark.slow
def test_lightning_with_two_devices(tmp_path):
    pytest.importorskip("lightning.pytorch")
    one, _ = trained(plan_of(9), network())
    two = launched(tmp_path, "lightning", 9, [])
    for first, second, (epoch, numbers, table, _) in zip(two[0]["seen"], two[1]["seen"], one,
                                                         strict=True):  # fmt: skip
        assert first[0] == second[0] == epoch
        assert first[1] + second[1] == numbers
        assert first[2] == second[2] and first[2] == pytest.approx(table, abs=1e-6)
    for run in two:
        assert run["again"] == run["seen"][MIDDLE:]
        for name, value in run["net"].items():
            assert torch.equal(value, two[0]["net"][name])
            assert torch.equal(value, run["again_net"][name])


if __name__ == "__main__":
    {"ddp": run_ddp, "lightning": run_lightning}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
