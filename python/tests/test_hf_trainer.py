"""Does the documented recipe for the Trainer of Transformers train what a plain loop trains?"""

import re
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader

import adagp

transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.usefixtures("one_thread")

BATCH, EXAMPLES, SIDE, EPOCHS = 8, 96, 16, 6


class Images(torch.utils.data.Dataset):
    def __init__(self):
        self.x = torch.rand(EXAMPLES, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(1))

    def __len__(self):
        return EXAMPLES

    def __getitem__(self, index):
        return {"pixel_values": self.x[index], "labels": index % 4}


def network():
    torch.manual_seed(0)
    config = transformers.ResNetConfig(
        num_labels=4, embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic"
    )
    return transformers.ResNetForImageClassification(config)


def recipe(plan):
    """The classes of the documentation, as they stand there."""
    docs = Path(__file__).parents[2] / "docs"
    text = "".join(file.read_text() for file in sorted(docs.glob("python*.md")))
    found = [b for b in re.findall(r"```python\n(.*?)```", text, re.S) if "class PlanTrainer" in b]
    assert len(found) == 1
    names = {"plan": plan, "transformers": transformers, "torch": torch, "F": F,
             "DataLoader": DataLoader}  # fmt: skip
    exec(found[0], names)
    return names["PlanTrainer"], names["SavePlan"]


def plan_of():
    return adagp.Plan("progressive+stored-loss", Images(), batch_size=BATCH, epochs=EPOCHS, seed=3)


def fit(folder, resume=None):
    plan = plan_of()
    trainer_class, save = recipe(plan)
    seen = []

    class Watched(trainer_class):
        def compute_loss(self, model, inputs, *rest, **options):
            if model.training:
                side = inputs["pixel_values"].shape[-1]
                seen.append((plan.epoch, plan.position, side, len(inputs["labels"])))
            else:
                assert inputs["pixel_values"].shape[-1] == SIDE
            return super().compute_loss(model, inputs, *rest, **options)

    args = transformers.TrainingArguments(
        str(folder), learning_rate=0.05, lr_scheduler_type="constant", ignore_data_skip=True,
        max_steps=plan.epochs * (len(Images()) // plan.batch_size), optim="sgd", use_cpu=True,
        save_steps=4, eval_strategy="steps", eval_steps=7, max_grad_norm=0, report_to=[],
        disable_tqdm=True, per_device_eval_batch_size=32,
    )  # fmt: skip
    trainer = Watched(network(), args, train_dataset=Images(), eval_dataset=Images(), callbacks=[save()])
    if resume:
        plan.load_state_dict(torch.load(f"{resume}/plan.pt"))
    trainer.train(resume_from_checkpoint=resume)
    assert plan.finished
    return seen, trainer.model


@pytest.fixture(scope="module")
def plain():
    plan, net, seen = plan_of(), network().train(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for batch in plan.batches(DataLoader(Images(), batch_sampler=plan)):
        seen.append((plan.epoch, plan.position, batch["pixel_values"].shape[-1],
                     len(batch["labels"])))  # fmt: skip
        optimizer.zero_grad()
        plan.set_rate(optimizer, 0.05, "one-cycle")
        logits = net(batch["pixel_values"]).logits
        plan.loss(F.cross_entropy(logits, batch["labels"], reduction="none")).backward()
        optimizer.step()
    assert len({side for _, _, side, _ in seen}) > 1
    return seen, net.state_dict()


def assert_equal(net, weights):
    for name, value in net.state_dict().items():
        torch.testing.assert_close(value, weights[name], rtol=0, atol=1e-6)


@pytest.mark.slow
def test_the_recipe_trains_what_a_plain_loop_trains(plain, tmp_path):
    seen, net = fit(tmp_path)
    assert seen == plain[0]
    assert_equal(net, plain[1])
    folders = sorted(tmp_path.glob("checkpoint-*"), key=lambda f: int(f.name.split("-")[1]))
    assert len(folders) >= 3
    for folder in folders[:3]:
        seen, net = fit(tmp_path / "again", str(folder))
        assert seen == plain[0][int(folder.name.split("-")[1]) :]
        assert_equal(net, plain[1])
