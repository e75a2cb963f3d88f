"""Does Lightning train what was planned: lengths, examples, sizes, and the same after a restart?"""

import copy
import logging
import pickle
import warnings

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import adagp
from adagp.integrations.lightning import PlanCallback

L = pytest.importorskip("lightning.pytorch")

pytestmark = pytest.mark.usefixtures("one_thread")

BATCH, EXAMPLES, SIDE, EPOCHS = 8, 100, 16, 6
METHOD = "progressive+stored-loss"
for name in ("lightning.pytorch", "pytorch_lightning"):
    logging.getLogger(name).setLevel(logging.ERROR)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        warnings.filterwarnings("ignore", message=".*Checkpoint directory.*")
        yield


def images():
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(EXAMPLES, 3, SIDE, SIDE, generator=generator)
    return TensorDataset(x, torch.arange(EXAMPLES) % 4, torch.arange(EXAMPLES))


def plan_of(method=METHOD, epochs=EPOCHS, **options):
    return adagp.Plan(method, images(), batch_size=BATCH, epochs=epochs, seed=3, **options)


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(32, 4),
    )  # fmt: skip


def losses_of(net, x, y):
    return torch.nn.functional.cross_entropy(net(x), y, reduction="none")


def module_of(plan, base=L.LightningModule):
    class Module(base):
        def __init__(self):
            super().__init__()
            self.net = network()
            self.seen, self.lengths = [], []

        def on_train_epoch_start(self):
            self.lengths.append(self.trainer.num_training_batches)

        def training_step(self, batch, index):
            x, y, numbers = batch
            self.seen.append((self.current_epoch, index, x.shape[-1], numbers.tolist()))
            plan.set_rate(self.optimizers(), 0.05)
            return plan.loss(losses_of(self.net, x, y))

        def validation_step(self, batch, index):
            assert batch[0].shape[-1] == SIDE  # images are shrunk in training alone
            self.log("val", losses_of(self.net, batch[0], batch[1]).mean())

        def configure_optimizers(self):
            return torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)

    return Module()


def trainer_of(plan, package=L, callbacks=(), epochs=EPOCHS, **options):
    options = {"accelerator": "cpu", "devices": 1, "logger": False, "num_sanity_val_steps": 1,
               "enable_progress_bar": False, "enable_model_summary": False,
               "enable_checkpointing": bool(callbacks), **options}  # fmt: skip
    return package.Trainer(max_epochs=epochs, callbacks=[PlanCallback(plan), *callbacks], **options)


def loader_of(plan, workers=0, persistent=False):
    return DataLoader(images(), batch_sampler=plan, num_workers=workers, persistent_workers=persistent)


def validation():
    return DataLoader(images(), batch_size=50)


@pytest.fixture(scope="module")
def plain():
    """A loop without Lightning: what was seen, and the weights at the end."""
    plan, net, seen = plan_of(), network(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for x, y, numbers in plan.batches(loader_of(plan)):
        seen.append((plan.epoch, plan.position, x.shape[-1], numbers.tolist()))
        optimizer.zero_grad()
        plan.set_rate(optimizer, 0.05)
        plan.loss(losses_of(net, x, y)).backward()
        optimizer.step()
    lengths = [sum(1 for e, *_ in seen if e == epoch) for epoch in range(EPOCHS)]
    assert lengths[1] < lengths[0] < lengths[-2] < lengths[-1], lengths
    return seen, lengths, net.state_dict()


def assert_equal(module, weights):
    for name, value in module.net.state_dict().items():
        assert torch.equal(value, weights[name]), name


@pytest.mark.parametrize(("workers", "persistent"), [(0, False), (2, False), (2, True)])
@pytest.mark.parametrize("val", [False, True])
def test_lightning_trains_what_a_plain_loop_trains(plain, workers, persistent, val):
    plan = plan_of()
    module = module_of(plan)
    validated = validation() if val else None
    trainer_of(plan).fit(module, loader_of(plan, workers, persistent), validated)
    assert module.lengths == plain[1]
    assert module.seen == plain[0]
    assert_equal(module, plain[2])
    assert plan.finished


def checkpoints(folder, package=L, **when):
    every = package.callbacks.ModelCheckpoint(folder, "{epoch}-{step}", save_top_k=-1, **when)
    return [every]


@pytest.mark.slow
def test_any_checkpoint_goes_on_equal(plain, tmp_path):
    seen, lengths, weights = plain
    plan = plan_of()
    module = module_of(plan)
    saved = checkpoints(tmp_path, every_n_train_steps=1)
    trainer_of(plan, callbacks=saved).fit(module, loader_of(plan))
    assert_equal(module, weights)
    files = sorted(tmp_path.glob("*.ckpt"), key=lambda file: int(file.stem.split("step=")[1]))
    assert len(files) == len(seen)
    ends = {sum(lengths[: e + 1]) for e in range(EPOCHS)}
    steps = {1, 2, len(seen) - 1} | ends | {end - 1 for end in ends} | {end + 1 for end in ends}
    for step in sorted(steps & set(range(1, len(seen)))):
        again = plan_of()
        module = module_of(again)
        workers = 2 if step in ends else 0
        trainer_of(again).fit(module, loader_of(again, workers), ckpt_path=files[step - 1])
        assert module.seen == seen[step:], step
        assert_equal(module, weights)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("at_end", [True, False])
def test_a_checkpoint_after_an_epoch_goes_on_equal(plain, tmp_path, at_end, workers):
    """Written after validation, or after the epoch."""
    plan = plan_of()
    saved = checkpoints(tmp_path, save_on_train_epoch_end=at_end)
    trainer_of(plan, callbacks=saved).fit(module_of(plan), loader_of(plan), validation())
    files = sorted(tmp_path.glob("*.ckpt"), key=lambda file: int(file.stem.split("step=")[1]))
    assert len(files) == EPOCHS
    for epoch, file in enumerate(files[:-1]):
        again = plan_of()
        module = module_of(again)
        trainer_of(again).fit(module, loader_of(again, workers), validation(), ckpt_path=file)
        assert module.seen == plain[0][sum(plain[1][: epoch + 1]) :], epoch
        assert module.lengths[-1] == plain[1][-1]
        assert_equal(module, plain[2])


def test_the_other_name_of_lightning(plain, tmp_path):
    pl = pytest.importorskip("pytorch_lightning")
    plan = plan_of()
    module = module_of(plan, pl.LightningModule)
    callback = PlanCallback(plan)
    assert isinstance(callback, pl.Callback) and isinstance(callback, L.Callback)
    trainer_of(plan, pl, checkpoints(tmp_path, pl)).fit(module, loader_of(plan))
    assert module.seen == plain[0]
    assert_equal(module, plain[2])


def test_a_data_module_with_a_hook_of_its_own(plain):
    plan = plan_of()

    class Data(L.LightningDataModule):
        def train_dataloader(self):
            return loader_of(plan)

        def on_after_batch_transfer(self, batch, dataloader_idx):
            assert batch[0].shape[-1] == SIDE
            return {"x": batch[0], "rest": tuple(batch[1:])}

    module = module_of(plan)
    step = module.training_step
    module.training_step = lambda batch, batch_idx: step((batch["x"], *batch["rest"]), batch_idx)
    data = Data()
    trainer_of(plan).fit(module, datamodule=data)
    assert module.seen == plain[0]
    assert_equal(module, plain[2])
    assert "on_after_batch_transfer" not in vars(data) | vars(module)
    assert plan.auto_advance


def test_a_callback_can_be_pickled_and_copied():
    plan = plan_of()
    for _, _, numbers in plan.batches(loader_of(plan)):
        plan.loss(numbers.float())
        if plan.epoch == 2:
            break
    callback = PlanCallback(plan)
    for other in (pickle.loads(pickle.dumps(callback)), copy.deepcopy(callback)):
        assert isinstance(other, PlanCallback) and isinstance(other, L.Callback)
        assert (other.plan.epoch, other.plan.position) == (2, 1)
        assert list(other.plan) == list(plan_restored(plan))


def plan_restored(plan):
    other = plan_of()
    other.load_state_dict(plan.state_dict())
    return other


def fit(plan=None, loader=None, module=None, **options):
    plan = plan or plan_of()
    trainer_of(plan, **options).fit(module or module_of(plan), loader or loader_of(plan))


def forgetful(plan):
    module = module_of(plan)
    module.training_step = lambda batch, batch_idx: losses_of(module.net, *batch[:2]).mean()
    return module


def shrinking(plan):
    module = module_of(plan)
    step = module.training_step
    module.training_step = lambda batch, batch_idx: step((plan.shrink(batch[0]), *batch[1:]), batch_idx)
    return module


def used():
    plan = plan_of(epochs=EPOCHS)
    plan.set_epoch(2)
    return plan


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: PlanCallback("bp"), "expected an adagp.Plan"),
        (lambda: fit(epochs=8), "the trainer has 8, and the plan is of 6 epochs"),
        (lambda: fit(epochs=-1), r"Trainer\(max_epochs=6\)"),
        (lambda: fit(loader=DataLoader(images(), batch_size=8)), "batch sampler BatchSampler"),
        (lambda: fit(loader=loader_of(plan_of())), "a loader of another plan"),
        (lambda: (lambda p: fit(p, [loader_of(p)]))(plan_of()), "got a list"),
        (lambda: fit(overfit_batches=2), "overfit_batches"),
        (lambda: fit(reload_dataloaders_every_n_epochs=2), "each epoch of a plan has its"),
        (lambda: fit(used()), "the plan is at epoch 2"),
        (lambda: (lambda p: fit(p, module=forgetful(p)))(plan_of()), "did not call plan.loss"),
        (lambda: (lambda p: fit(p, module=shrinking(p)))(plan_of()), "must not call plan.shrink"),
        (lambda: fit(devices=2, strategy="ddp"), r"Trainer\(use_distributed_sampler=False\)"),
    ],
)  # fmt: skip
def test_bad_input_says_what_to_do(make, text, monkeypatch):
    strategy = L.strategies.DDPStrategy  # the check comes before the second process is needed
    monkeypatch.setattr(strategy, "setup_environment", lambda self: None)
    monkeypatch.setattr(strategy, "_configure_launcher", lambda self: None)
    with pytest.raises(adagp.UsageError, match=text):
        make()


def test_a_checkpoint_without_the_plan_is_refused(tmp_path):
    plan = plan_of("bp")
    trainer = trainer_of(plan)
    trainer.fit(module_of(plan), loader_of(plan))
    trainer.save_checkpoint(tmp_path / "whole.ckpt")
    state = torch.load(tmp_path / "whole.ckpt", weights_only=True)
    assert state["callbacks"]["PlanCallback"]["epoch"] == EPOCHS - 1
    del state["callbacks"]["PlanCallback"]
    state["loops"]["fit_loop"]["epoch_progress"]["current"].update(ready=2, started=2, processed=2, completed=2)
    torch.save(state, tmp_path / "without.ckpt")
    plan = plan_of("bp")
    with pytest.raises(adagp.UsageError, match="must be one with PlanCallback"):
        trainer_of(plan).fit(module_of(plan), loader_of(plan), ckpt_path=tmp_path / "without.ckpt")


def test_a_quick_try_works():
    plan = plan_of()
    trainer_of(plan, fast_dev_run=2).fit(module_of(plan), loader_of(plan), validation())
