"""edram.error: bit errors in what is kept for the backward pass."""

import pytest

from harness import DATA, adagp, records, sets

pytestmark = pytest.mark.rivals

RUN = [*DATA, "--batch", "20", "--epochs", "1",
       *sets(log_every="1ba", model__name="resnet8", model__width_divisor=2, method="bp")]


def losses(folder):
    return [record["loss"] for record in records(folder) if "loss" in record]


def test_no_error_is_no_change(tmp_path):
    adagp("train", *RUN, "-o", tmp_path / "plain")
    adagp("train", *RUN, *sets(edram__error=0), "-o", tmp_path / "zero")
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("plain", "zero")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("model", ["resnet8", "revnet18s"])
def test_errors_are_kept_and_not_seen_by_the_forward_pass(model, tmp_path):
    run = [*RUN, *sets(model__name=model)]
    adagp("train", *run, "-o", tmp_path / "plain")
    for name in ("a", "b"):
        adagp("train", *run, *sets(edram__error=0.05), "-o", tmp_path / name)
    plain, wrong, again = (losses(tmp_path / name) for name in ("plain", "a", "b"))
    assert len(plain) == 10 and plain[0] == wrong[0] and plain[1] != wrong[1]
    assert wrong == again


@pytest.mark.parametrize("wrong, told", [
    (sets(edram__error=1.5), "edram.error = 1.5"),
    (sets(edram__error="nan"), "edram.error"),
    (sets(edram__error=0.1, precision="fast"), "precision = fast"),
    (sets(edram__error=0.1, method="modules"), "method modules"),
    ([*sets(edram__error=0.1), "--parallel", "data,local=2"], "--parallel"),
])
def test_bad_input(wrong, told, tmp_path):
    assert told in adagp("train", *RUN, *wrong, "-o", tmp_path / "run", code=2).stderr
