"""Layer tables: against the program and torch's counter."""

import io
import json
import random
import subprocess
import warnings

import pytest

from adagp._impl.program import program
from adagp.errors import DataError, UsageError
from adagp.layer_table import LayerTable, layers, networks


def program_text(*args, fails=False):
    ran = subprocess.run([program(), *map(str, args)], capture_output=True, text=True)
    assert (ran.returncode != 0) == fails, ran.stderr
    return ran.stderr if fails else ran.stdout


def random_zoo_cases(count):
    rng = random.Random(18)
    pairs = [(name, form) for name, forms in networks().items() for form in forms]
    # A full build makes its networks itself, and knows fewer inputs by name.
    return rng.sample([pair for pair in pairs if pair[1] in ("cifar", "imagenet")], count)


@pytest.mark.parametrize("name, form", random_zoo_cases(20))
def test_names_equal_the_program(name, form):
    flags = ["--model", name, "--input", form, "--all", "--json"]
    expected = json.loads(program_text("layers", *flags))
    expected.pop("parameters", None)  # a full build adds them
    assert json.loads(layers(name, form).json()) == expected


def test_rows_totals_and_frame():
    table = layers("resnet18", input="cifar")
    assert len(table) == len(list(table)) == len(table.to_pandas())
    assert sum(row.macs for row in table) == table.macs
    assert table[0].name == "conv1" and table[-1].name == "fc"
    assert list(table[0].input) == [3, 32, 32]
    assert table.missing == "" and table.unknown == []
    with pytest.raises(IndexError):
        table[len(table)]


def test_csv_and_frame_lead_back(tmp_path):
    table = layers("mobilenet_v2", input="imagenet")
    path = tmp_path / "table.csv"
    assert table.to_csv(path) is None and table.to_csv() == path.read_text()
    assert layers(path).json() == table.json()
    assert layers(table.to_pandas()).json() == table.json()


def test_topology_has_the_same_macs(tmp_path):
    for name in ("mobilenet_v2", "resnet18", "transformer"):
        table = layers(name, input=networks()[name][-1])
        path = tmp_path / f"{name}.csv"
        table.to_scalesim(path)
        assert layers(path).macs == table.macs, name
        assert program_text("simulate", "--topology", path, "--inference", "--json")


def test_files_for_other_simulators_are_those_of_the_program(tmp_path):
    layers("resnet18", "cifar").to_zigzag(tmp_path / "ours", accelerator="tpu-128", batch=4)
    layers("resnet18", "cifar").to_timeloop(tmp_path / "problems")
    program_text(
        "layers",
        "--model",
        "resnet18",
        "--input",
        "cifar",
        "--to",
        "zigzag",
        tmp_path / "theirs",
        "--accelerator",
        "tpu-128",
        "--examples",
        "4",
    )
    for file in (tmp_path / "theirs").iterdir():
        assert (tmp_path / "ours" / file.name).read_text() == file.read_text()
    assert len(list((tmp_path / "problems").iterdir())) == 1 + 62
    with pytest.raises(UsageError, match="rs"):
        layers("resnet18", "cifar").to_zigzag(tmp_path, accelerator="eyeriss")


# --- torch


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


class Names:
    """Networks of torchvision by name; those that are quick to export."""

    quick = (
        "alexnet squeezenet1_1 resnet18 mobilenet_v2 mobilenet_v3_small shufflenet_v2_x0_5 "
        "mnasnet0_5 vgg11 googlenet resnext50_32x4d regnet_y_400mf vit_b_16"
    ).split()

    @staticmethod
    def all():
        try:
            import torchvision
        except ImportError:
            return []
        return torchvision.models.list_models(module=torchvision.models)


def counted_macs(torch, model, shape):
    """torch's own count, which has two operations for each multiply-accumulate."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # the counter does not know the fused operation
    try:
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            model(torch.empty(shape, device="meta"))
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return counter.get_total_flops() // 2


def on_meta(torch, name):
    """A network without memory. RegNet's constructor reads numbers, which only a CPU has."""
    import torchvision

    sizes = torchvision.models.regnet.BlockParams
    usual = sizes.from_init_params

    def on_cpu(*args, **keywords):
        with torch.device("cpu"):
            return usual(*args, **keywords)

    sizes.from_init_params = on_cpu
    try:
        return torchvision.models.get_model(name).eval()
    finally:
        sizes.from_init_params = usual


def check_against_counter(torch, name):
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = on_meta(torch, name)
        expected = counted_macs(torch, model, (1, 3, 224, 224))
        table = layers(model, input=(3, 224, 224))
    # Swin V2 makes position biases from weights alone, once a batch; a table is of one example, so
    # these products have no row, but their names and MACs.
    once = [one for one in table.unknown if "once a batch" in one.op]
    assert table.unknown == once and bool(once) == name.startswith("swin_v2")
    assert table.macs + sum(one.macs for one in once) == expected
    assert table.parameters == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("name", Names.quick)
def test_macs_equal_torchs_counter(torch, name):
    pytest.importorskip("torchvision")
    check_against_counter(torch, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in Names.all() if name not in Names.quick])
def test_macs_of_all_networks_equal_torchs_counter(torch, name):
    check_against_counter(torch, name)


def small_network(torch, rng):
    """A random network of convolutions, norms and linear layers."""
    nn = torch.nn
    channels, parts = 3, []
    for _ in range(rng.randint(1, 4)):
        out = rng.choice([4, 8, 12])
        groups = rng.choice([1, 1, out if channels % out == 0 else 1])
        kernel = rng.choice([1, 3])
        parts.append(nn.Conv2d(channels, out, kernel, stride=rng.choice([1, 2]), groups=groups,
                               padding=kernel // 2, bias=rng.random() < 0.5))  # fmt: skip
        parts.append(rng.choice([nn.BatchNorm2d(out), nn.GroupNorm(2, out)]))
        parts.append(rng.choice([nn.ReLU(), nn.SiLU(), nn.GELU()]))
        channels = out
    parts += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, rng.randint(2, 9))]
    return nn.Sequential(*parts)


def saved(torch, model, shape, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(torch.export.export(model.eval(), (torch.rand(shape),)), str(path))
    return path


@pytest.mark.parametrize("seed", range(20))
def test_modules_equal_the_program(torch, tmp_path, seed):
    """As JSON where the program reads such files; a wheel's own program has no libarchive."""
    rng = random.Random(seed)
    model, batch = small_network(torch, rng), rng.choice([1, 2, 3])
    size = rng.choice([8, 16, 17])
    path = saved(torch, model, (batch, 3, size, size), tmp_path / "net.pt2")
    from_file, from_module = layers(path), layers(model, (3, size, size), batch, name="net")
    assert from_file.json() == from_module.json()
    ran = subprocess.run([program(), "layers", "--pt2", path, "--all", "--json"], capture_output=True, text=True)
    if "without libarchive" in ran.stderr:
        table = tmp_path / "net.csv"
        from_module.to_csv(table)
        run = json.loads(program_text("simulate", "--table", table, "--inference", "--json"))
        assert run["total"]["macs"] == from_module.macs
        return
    expected = json.loads(ran.stdout)
    assert expected.pop("parameters") == from_module.parameters
    assert expected.pop("exported_batch") == batch
    assert expected.pop("batch_note") == from_module.note
    assert json.loads(from_module.json()) == expected


def test_the_module_is_left_alone(torch):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    layers(model, (3, 8, 8))
    assert model.training and all(p.device.type == "cpu" for p in model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_inputs_of_many_kinds(torch):
    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(10, 6)
            self.out = torch.nn.Linear(6, 4)

        def forward(self, tokens, scale):
            return self.out(self.words(tokens)) * scale

    tokens, scale = torch.zeros(2, 5, dtype=torch.long), torch.ones(2, 1, 1)
    as_tuple = layers(Two(), (tokens, scale))
    as_dict = layers(Two(), {"tokens": tokens, "scale": scale})
    assert as_tuple.macs == as_dict.macs == 5 * 6 * 4
    linear = torch.nn.Linear(6, 4)
    assert layers(linear, torch.zeros(3, 6)).macs == layers(linear, (6,)).macs == 24


def test_operators_without_a_row_are_named(torch):
    class Odd(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.pinv(x) @ x

    table = layers(Odd(), torch.zeros(2, 4, 4))
    assert [one.op for one in table.unknown] and "missing" in table.missing
    assert "pinv" in table.missing


def test_train_mode_keeps_auxiliary_heads(torch):
    models = pytest.importorskip("torchvision").models
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = models.googlenet()
        assert layers(net, train=True, batch=2).macs > layers(net).macs


# --- errors


def test_errors_are_the_programs():
    with pytest.raises(UsageError) as error:
        layers("resnet19")
    text = program_text("simulate", "--model", "resnet19", fails=True)
    assert str(error.value) in text


def test_bad_files(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        layers(tmp_path / "none.csv")
    bad = tmp_path / "bad.csv"
    bad.write_text("model,input,name,op\n1,2\n")
    with pytest.raises(DataError, match="the first line must be"):
        layers(bad)
    assert str(bad) in program_text("simulate", "--table", bad, "--json", fails=True)
    zipped = tmp_path / "bad.pt2"
    zipped.write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"torch\.export\.save"):
        layers(zipped)


@pytest.mark.parametrize(
    "arguments, named",
    [
        ((None,), "source"),
        ((3,), "source"),
        (("resnet18", (3, 32, 32)), "input"),
        (("resnet18", "cifar", 0), "batch"),
        (("resnet18", "cifar", "many"), "batch"),
    ],
)
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises(UsageError, match=named):
        layers(*arguments)


def test_bad_modules_are_named(torch):
    with pytest.raises(UsageError, match="lazy"):
        layers(torch.nn.LazyLinear(3), (4,))
    with pytest.raises(UsageError, match="torch.export cannot read Linear"):
        layers(torch.nn.Linear(3, 4), (5,))
    with pytest.raises(UsageError, match="input"):
        layers(torch.nn.Linear(3, 4), object())


def test_a_frame_with_a_wrong_number_is_refused():
    frame = layers("resnet18", "cifar").to_pandas()
    frame.loc[0, "macs"] += 1
    with pytest.raises(DataError, match="but the shapes give"):
        layers(frame)


def test_what_is_missing_survives_a_frame(torch, uncounted_net):
    table = layers(uncounted_net, torch.zeros(2, 4, 4))
    assert table.missing and layers(table.to_pandas()).missing == table.missing


def test_representations():
    table = layers("resnet18", "cifar")
    assert "GMACs" in repr(table) and "<table>" in table._repr_html_()
    assert isinstance(table.products(), LayerTable) and len(table.products()) < len(table)
    assert io.StringIO(table.to_csv()).readline().startswith("model,input,name,op")
