"""precision = fast: training in block floating point, as a user sees it."""

import json

import pytest
from safetensors import safe_open

from harness import TINY, adagp, sets, summary

pytestmark = pytest.mark.rivals

FAST = [*TINY, "--epochs", "3", "--method", "bp", "--precision", "fast",
        *sets(fast__every="5ba", trace__every="3ep")]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fast") / "run"
    adagp("train", *FAST, "-o", folder)
    return folder


def test_an_evaluation_rounds_as_the_run_did(run):
    found = json.loads(adagp("eval", run, "--threads", "1", "--json").stdout)
    expected = summary(run)
    assert expected["precision"] == "fast"
    assert found["top1"] == expected["top1"]
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-6)
    with safe_open(run / "weights.safetensors", "np") as weights:
        widths = weights.metadata()["adagp.fast_widths"].split(",")
    assert set(widths) <= {"2", "4"} and len(widths) % 3 == 0


def test_a_trace_has_the_widths_and_why(run):
    with safe_open(run / "trace/e003.safetensors", "np") as trace:
        names = [name for name in trace.keys() if name.endswith("/mantissa")]
        assert len(names) == len([name for name in trace.keys() if name.endswith("/density")])
        for name in names:
            widths, losses = trace.get_tensor(name), trace.get_tensor(name.replace("mantissa", "r"))
            assert widths.dtype == "uint8" and widths.shape == losses.shape == (3,)
            assert set(widths) <= {2, 4} and all(0 < r < 2 for r in losses), name


@pytest.mark.parametrize("args, words", [
    (sets(fast__every="1ep"), "fast.every = 1ep: expected a whole number of batches"),
    (sets(fast__every="0ba"), "fast.every = 0ba: expected a whole number of batches"),
    (sets(fast__mantissa=25), "fast.mantissa = 25"),
    (sets(fast__rule="often"), "fast.rule"),
    (["--parallel", "data,local=2"], "precision = fast works in one process"),
])
def test_what_cannot_be_is_refused(args, words, tmp_path):
    assert words in adagp("train", *FAST, *args, "-o", tmp_path / "run", code=2).stderr


def test_keys_of_another_rule_or_precision_are_named(tmp_path):
    said = adagp("train", *TINY, "--epochs", "1", "--method", "bp", *sets(fast__alpha=0.5),
                 "-o", tmp_path / "plain").stderr
    assert "fast.alpha" in said and "precision fp32" in said
    said = adagp("train", *FAST, *sets(fast__rule="fixed", fast__alpha=0.5), "-o",
                 tmp_path / "fixed").stderr
    assert "fast.alpha" in said and "fast.rule fixed" in said
