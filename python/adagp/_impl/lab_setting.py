"""What adagp.compare was given, checked and made into a Setting."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .. import _core
from ..errors import Error, UsageError
from ..plan import Plan
from .arguments import whole
from .batch_tensors import map_images, shrunk
from .extras import need
from .lab_costs import Costs
from .lab_identity import (
    data_identity,
    function_identity,
    groups_identity,
    network_identity,
    steady_text,
)
from .lab_job import PREDICTING, Setting, first_examples, first_model, pair_of
from .plan_input import check_policy_read
from .toml import settings_pairs

TRIED = 8  # examples of a trial step
LOSS_LIMIT = 1e4  # the engine's loss_limit


@dataclass
class Asked:
    """Arguments of compare() that make its Setting."""

    model_fn: Any
    train_loader: Any
    test_loader: Any
    methods: list[str]
    seeds: list[int]
    optimizer: Any = None
    policy: str = "triangle"
    schedule: str = "auto"
    loss: Any = None
    score: Any = None
    device: Any = None
    precision: str = "fp32"
    compile: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    data: str = ""
    may_leave_out: bool = False  # methods that cannot train this network: they were not named


def cross_entropy(outputs: Any, targets: Any) -> Any:
    from torch.nn import functional

    return functional.cross_entropy(outputs, targets, reduction="none")


def top1(outputs: Any, targets: Any) -> Any:
    return (outputs.argmax(1) == targets) * 100.0


def sgd(parameters: Any) -> Any:
    from torch.optim import SGD

    return SGD(parameters, lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)


def make_setting(asked: Asked) -> Setting:
    """Refuses what cannot be trained. Leaves methods out of `asked` that were not asked for by
    name and cannot train this network."""
    torch = need("torch", "adagp.compare")
    batch = _checked_loaders(asked)
    if asked.precision not in ("fp32", "bf16"):
        raise UsageError(f"precision: {asked.precision!r}, expected 'fp32' or 'bf16'")
    model = _checked_model(asked.model_fn)
    make_optimizer = _optimizer_maker(asked.optimizer)
    made = _made_optimizer(make_optimizer, model)
    for name, given in (("loss", asked.loss), ("score", asked.score)):
        if given is not None and not callable(given):
            raise UsageError(
                f"{name}: got {given!r}, expected a function of (outputs, targets) that gives one "
                'number for each example, as cross_entropy(..., reduction="none")'
            )
    settings, options = _policy_apart(asked)
    device = asked.device or ("cuda" if torch.cuda.is_available() else "cpu")
    inputs, targets = _first_batch(asked.train_loader)
    square = inputs.ndim == 4 and inputs.shape[-1] == inputs.shape[-2]
    side = int(inputs.shape[-1]) if square else None
    forward = partial(_outputs, _on_device(model, device), device, asked.precision, inputs[:2])
    try:
        outputs = forward(0)
    except Exception as error:
        kind = f"{inputs.dtype} of shape {tuple(inputs.shape)}"
        raise UsageError(f"train_loader: the network does not take its inputs ({kind}): {one_line(error)}") from error
    data = {}
    for name, loader in (("train", asked.train_loader), ("test", asked.test_loader)):
        data[f"{name}_data"], seen = _looked_at(f"{name}_loader", loader)
        if asked.loss is None:
            _check_labels(f"{name}_loader", outputs, seen)
    sides = _method_sides(asked, forward, inputs, batch, side, settings)
    costs = Costs(model, inputs[0], sides)
    if "adagp" in asked.methods:
        costs.add_predictor(predictor_macs(model, made))
    names = {
        "model": type(model).__name__,
        "data": asked.data or type(asked.train_loader.dataset).__name__,
        "optimizer": f"{type(made).__name__} {steady_text(sorted(made.defaults.items(), key=str))}",
        "parameter_groups": groups_identity(model, made),
        "loss": getattr(asked.loss, "__qualname__", "") or ("own" if asked.loss else "cross entropy"),
        "loss_code": function_identity(asked.loss, outputs, targets[:2].to(device)),
        "score": getattr(asked.score, "__qualname__", "") or ("own" if asked.score else "top1"),
        "score_code": function_identity(asked.score, outputs, targets[:2].to(device)),
        "train_examples": str(len(asked.train_loader.dataset)),
        "test_examples": str(len(asked.test_loader.dataset)),
        **data,
        "parameters": str(sum(p.numel() for p in model.parameters())),
    }
    setting = Setting(
        asked.model_fn, make_optimizer, asked.train_loader, asked.test_loader,
        asked.loss or cross_entropy, asked.score or top1, "top1" if asked.score is None else "score",
        batch, asked.policy, asked.schedule, device, asked.precision, asked.compile, settings, costs,
        options, names, side,
    )  # fmt: skip
    setting.first_networks = network_identity(lambda seed: first_model(setting, seed), asked.seeds)
    return setting


def one_line(error: BaseException) -> str:
    """The first line of another package's error, with its type."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def _checked_loaders(asked: Asked) -> int:
    """The batch size."""
    torch = need("torch", "adagp.compare")
    for name, loader in (("train_loader", asked.train_loader), ("test_loader", asked.test_loader)):
        if not isinstance(loader, torch.utils.data.DataLoader):
            raise UsageError(f"{name}: got a {type(loader).__name__}, expected a torch.utils.data.DataLoader")
        if isinstance(loader.dataset, torch.utils.data.IterableDataset):
            raise UsageError(
                f"{name}: its data set {type(loader.dataset).__name__} is an iterable one; methods "
                "choose examples by their numbers: give a data set with __len__ and __getitem__"
            )
        if len(loader.dataset) == 0:
            raise UsageError(f"{name}: its data set has no examples")
    loader = asked.train_loader
    _check_sampler(loader)
    batch = loader.batch_size or getattr(loader.batch_sampler, "batch_size", None)
    if not batch:
        raise UsageError("train_loader: its batch size is not known; make it with batch_size=")
    if batch > len(loader.dataset):
        raise UsageError(
            f"train_loader: its batch size is {batch}, and its data set has {len(loader.dataset)} "
            "examples; batches are whole: give a smaller batch_size"
        )
    return int(batch)


def _check_sampler(loader: Any) -> None:
    """Methods choose the examples: a sampler that leaves some out is not obeyed."""
    from torch.utils.data import RandomSampler, SequentialSampler

    sampler = getattr(loader.batch_sampler, "sampler", loader.sampler)
    name = type(sampler).__name__
    if hasattr(sampler, "__len__") and len(sampler) != len(loader.dataset):
        raise UsageError(
            f"train_loader: its sampler {name} gives {len(sampler)} of {len(loader.dataset)} "
            "examples, and methods choose among all; give a data set of the wanted examples, as "
            "torch.utils.data.Subset(dataset, numbers)"
        )
    if not isinstance(sampler, (RandomSampler, SequentialSampler)):
        warnings.warn(
            f"train_loader: its sampler {name} is not used: methods choose the examples",
            stacklevel=5,
        )


def _checked_model(model_fn: Any) -> Any:
    torch = need("torch", "adagp.compare")
    if isinstance(model_fn, torch.nn.Module):
        raise UsageError(
            f"model_fn: got a network ({type(model_fn).__name__}); every run begins with a new one: "
            "give a function that makes it, as lambda: resnet18(num_classes=10)"
        )
    if not callable(model_fn):
        raise UsageError(
            f"model_fn: got {model_fn!r}, expected a function that makes a network, as "
            "lambda: torchvision.models.resnet18(num_classes=10)"
        )
    try:
        model, other = model_fn(), model_fn()
    except Error:
        raise
    except Exception as error:
        raise UsageError(f"model_fn: calling it without arguments failed: {one_line(error)}") from error
    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"model_fn: it returned a {type(model).__name__}, expected a nn.Module")
    shared = {id(p) for p in model.parameters()} & {id(p) for p in other.parameters()}
    if model is other or shared:
        raise UsageError(
            "model_fn: it returned the same weights twice; every run begins with new ones: make the "
            "network inside the function"
        )
    if any(torch.nn.parameter.is_lazy(p) for p in model.parameters()):
        raise UsageError(
            "model_fn: the network has lazy layers without weights; run a batch through it inside the function"
        )
    if any(p.is_meta for p in model.parameters()):
        raise UsageError("model_fn: the network is on the meta device; it has no weights to train")
    if not any(p.requires_grad for p in model.parameters()):
        raise UsageError("model_fn: no parameter of the network has requires_grad: nothing to train")
    return model


def _optimizer_maker(optimizer: Any) -> Callable[[Any], Any]:
    """A function of the model. The user's takes the parameters, or the model where its argument
    is named so."""
    torch = need("torch", "adagp.compare")
    how = "give a function of the parameters, as lambda p: torch.optim.Adam(p, lr=1e-3)"
    if optimizer is None:
        optimizer = sgd
    if isinstance(optimizer, torch.optim.Optimizer):
        raise UsageError(
            f"optimizer: got a {type(optimizer).__name__} of one network's parameters, and every run has its own; {how}"
        )
    if not callable(optimizer):
        raise UsageError(f"optimizer: got {optimizer!r}; {how}")
    try:
        first = next(iter(inspect.signature(optimizer).parameters), "")
    except (TypeError, ValueError):
        first = ""
    if first in ("model", "module", "net", "network"):
        return optimizer  # type: ignore[no-any-return]
    return lambda model: optimizer(model.parameters())


def _made_optimizer(make: Callable[[Any], Any], model: Any) -> Any:
    torch = need("torch", "adagp.compare")
    try:
        made = make(model)
    except Exception as error:
        raise UsageError(
            f"optimizer: calling it failed: {one_line(error)}; it is given the parameters, or the "
            "model where its argument is named 'model'"
        ) from error
    if not isinstance(made, torch.optim.Optimizer):
        raise UsageError(f"optimizer: it returned a {type(made).__name__}, expected a torch.optim.Optimizer")
    return made


def _policy_apart(asked: Asked) -> tuple[dict[str, Any], dict[str, Any]]:
    """(settings of plans, options of the policy)."""
    if asked.policy == "plateau":
        raise UsageError("policy: 'plateau' follows test losses; compare() takes the others")
    keys = {key: v for key, v in asked.settings.items() if key.startswith("policy.")}
    chosen = settings_pairs({"policy.name": asked.policy, **keys})
    _core.make_policy(chosen, 0.1, 10, 5)  # or refused
    check_policy_read(asked.policy, keys)
    rest = {key: v for key, v in asked.settings.items() if key not in keys}
    return rest, {key.removeprefix("policy."): v for key, v in keys.items()}


def _first_batch(loader: Any) -> tuple[Any, Any]:
    """(inputs, targets) of the first examples, as the loader puts them together."""
    torch = need("torch", "adagp.compare")
    try:
        first = first_examples(loader, TRIED)
    except Exception as error:
        raise UsageError(f"train_loader: its first {TRIED} examples make no batch: {one_line(error)}") from error
    inputs, targets = pair_of(first)
    for name, part in (("inputs", inputs), ("targets", targets)):
        if not isinstance(part, torch.Tensor):
            raise UsageError(
                f"train_loader: its {name} are a {type(part).__name__}, expected a tensor: let the "
                "data set or collate_fn give numbers"
            )
    return inputs, targets


def _looked_at(name: str, loader: Any) -> tuple[str, list[Any]]:
    """(identity, targets) of some examples of a data set."""
    try:
        return data_identity(loader)
    except Error:
        raise
    except Exception as error:
        raise UsageError(f"{name}: an example of its data set cannot be read: {one_line(error)}") from error


def _check_labels(name: str, outputs: Any, targets: list[Any]) -> None:
    """For cross entropy. On a GPU a label that is no class ends the process."""
    import torch

    if not isinstance(outputs, torch.Tensor):
        raise UsageError(
            f"loss: the network gives a {type(outputs).__name__}, and cross entropy needs a "
            "tensor; give loss= and score= functions of (outputs, targets)"
        )
    for part in targets:
        if not isinstance(part, torch.Tensor) or part.is_floating_point() or outputs.ndim < 2:
            return
    low, high = min(int(t.min()) for t in targets), max(int(t.max()) for t in targets)
    if not 0 <= low <= high < outputs.shape[1]:
        raise UsageError(
            f"{name}: targets: labels {low} to {high}, and the network has {outputs.shape[1]} "
            f"outputs: expected 0 to {outputs.shape[1] - 1}"
        )


def _method_sides(
    asked: Asked, forward: Callable[[int], Any], inputs: Any, batch: int,
    side: int | None, settings: dict[str, Any],
) -> set[int]:  # fmt: skip
    """The sides of small images of all methods. A method with a side that the network does not
    take is refused, or left out where it was not asked for by name."""
    found: set[int] = set()
    for name in [name for name in asked.methods if name not in PREDICTING]:
        why = ""
        if side is None and ("progressive" in name or "low-res" in name):
            shape = tuple(inputs.shape[1:])
            why = f"it changes the size of square images, and the inputs are of shape {shape}"
        else:
            sides = _sides(name, asked.train_loader, batch, side, settings)
            for small in sorted(sides, reverse=True):  # of several the smallest is named
                try:
                    forward(small)
                except Exception as error:  # networks refuse in their own ways
                    why = (
                        f"it trains on images of side {small}, and the network does not take those ({one_line(error)})"
                    )
        if not why:
            found |= sides
        elif asked.may_leave_out:
            asked.methods.remove(name)
            warnings.warn(f"methods: {name!r} is left out: {why}", stacklevel=4)
        else:
            raise UsageError(f"methods: {name!r}: {why}; leave it out")
    return found


def _sides(name: str, loader: Any, batch: int, side: int | None, settings: dict[str, Any]) -> set[int]:
    with warnings.catch_warnings():  # the plans of the runs warn
        warnings.simplefilter("ignore")
        plan = Plan(name, loader.dataset, batch_size=batch, epochs=10, side=side or 0,
                    settings=settings)  # fmt: skip
    return {small for small, _ in plan.shapes() if small}


def _on_device(model: Any, device: Any) -> Any:
    try:
        return model.to(device)
    except Exception as error:
        raise UsageError(f"device: {device!r}: {one_line(error)}") from error


def _outputs(model: Any, device: Any, precision: str, inputs: Any, side: int) -> Any:
    """Of the network for these images at a side; 0: as they are."""
    import torch

    training = model.training
    model.eval()
    try:
        images = map_images(inputs.to(device), lambda large: shrunk(large, side))
        kind = torch.device(device).type
        with torch.no_grad(), torch.autocast(kind, torch.bfloat16, enabled=precision == "bf16"):
            return model(images)
    finally:
        model.train(training)


def predictor_macs(model: Any, optimizer: Any) -> float:
    from ..predict import wrap

    prediction = wrap(model, optimizer, "bp", epochs=1, steps_per_epoch=1, probe_every=0)
    prediction.remove()
    return prediction.macs


def seeds_of(seeds: int | Sequence[int]) -> list[int]:
    one = hasattr(seeds, "__index__") and not isinstance(seeds, bool)
    if not one and (isinstance(seeds, (str, bytes)) or not hasattr(seeds, "__iter__")):
        raise UsageError(f"seeds: got {seeds!r}, expected a number from 1 on, or different seeds")
    found = list(range(int(seeds))) if one else [whole(seed, "seeds") for seed in seeds]  # type: ignore
    if not found or len(set(found)) != len(found):
        raise UsageError(f"seeds: {seeds!r}, expected a number from 1 on, or different seeds")
    return found
