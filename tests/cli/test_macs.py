"""Multiply-accumulates of exported networks against torch's own counter, exactly."""

import warnings

import pytest

from harness import adagp
from simulator import run_json

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from networks import NETWORKS  # noqa: E402


def export(folder, name):
    """Writes the network as a user would; its MACs by torch's counter, its examples and read options."""
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, shapes, options = NETWORKS[name]()
        inputs = tuple(torch.empty(shape) for shape in shapes)
        # Training mode keeps torch from its fused operations, which its counter does not know.
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            model.train()(*inputs)
        program = torch.export.export(model.eval(), inputs)
        if options.get("decompose"):
            program = program.run_decompositions()
        torch.export.save(program, str(folder / f"{name}.pt2"))
    flags = ["--batch", options["batch"]] if "batch" in options else []
    return counter.get_total_flops() // 2, options.get("batch", shapes[0][0]), flags


@pytest.mark.parametrize("name", NETWORKS)
def test_macs_are_those_of_torchs_counter(tmp_path, name):
    macs, examples, flags = export(tmp_path, name)
    source = ["--pt2", tmp_path / f"{name}.pt2"]
    if flags:  # simulate has a --batch of its own, and takes the table instead
        table = tmp_path / "table.csv"
        adagp("layers", *source, *flags, "--all", "--csv", "-o", table)
        source = ["--table", table]
    # As often as the counter says, the array multiplies.
    run = run_json(*source, "--inference", "--batch", examples)
    assert run["total"]["macs"] == macs
    assert run["missing"] == {"share": 0, "macs": 0, "unknown_operations": 0}
