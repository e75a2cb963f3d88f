"""Methods of the library of rivals: runs that are stopped on the way, and the controller's decisions."""

import pytest

from harness import TINY, adagp, assert_same_run, interrupt, sets
from test_methods import command, stopped_run_ends_the_same

pytestmark = pytest.mark.rivals

AUTO = sets(auto__heldout=20, auto__window=4, auto__pairs=3, auto__probe_share=0.5,
            auto__clock="counted", auto__steps='["low-res", "adagp", "skip", "partial"]')
METHODS = {
    "selective": ["--schedule", "1:1", *sets(selective__rule="priority")],
    "partial": ["--schedule", "1:1"],
    "control-variate": ["--schedule", "1ep bp, 1:1"],
    "selective+infobatch": ["--schedule", "1:1"],
    "auto": AUTO,
}
for signal in ("auxiliary", "delayed", "replay", "critic"):
    METHODS[f"modules:{signal}"] = sets(modules__signal=signal, modules__count=3)
METHODS["modules:unlocked"] = sets(modules__count=3, modules__unlocked="true", modules__shrink=0.5)
METHODS["xgrad"] = []
METHODS["dropback"] = []
FAST = sets(precision="fast", fast__every="7ba")
METHODS["bp:edram"] = sets(edram__error=0.01)
METHODS["adagp:edram"] = ["--schedule", "1ep bp, 1:1", *sets(edram__error=0.01)]
METHODS["bp:fast"] = FAST
METHODS["adagp:fast"] = ["--schedule", "1ep bp, 1:1", *FAST]
METHODS["modules:fast"] = [*FAST, *sets(modules__count=3)]
METHODS["modules:fast-unlocked"] = [*FAST, *sets(modules__count=3, modules__unlocked="true",
                                                 fast__regroup="false")]
METHODS["stored-loss:fast"] = [*FAST, *sets(fast__exponent_bits=3, fast__regroup="false")]
METHODS["dropback:frozen"] = sets(dropback__freeze="12ba", dropback__init_decay=1)
METHODS["dropback+stored-loss"] = sets(dropback__threshold="estimate", dropback__keep=0.3)
METHODS["modules+infobatch"] = sets(modules__count=2, modules__unlocked="true")


for kind in ("dfa", "dfa-random", "vt", "dni", "head-ridge"):
    METHODS[f"adagp:{kind}"] = ["--schedule", "1ep bp, 1:1", *sets(predictor__kind=kind)]


@pytest.mark.parametrize("name", METHODS)
def test_a_run_stopped_on_the_way_ends_the_same(name, tmp_path):
    stopped_run_ends_the_same(command(name, METHODS[name]), tmp_path)


@pytest.fixture(scope="module")
def auto_run(tmp_path_factory):
    """A run of auto that nothing stopped, and its command."""
    run = [*command("auto", METHODS["auto"]), *sets(checkpoint_every="1ba", log_every="50ba")]
    folder = tmp_path_factory.mktemp("auto") / "whole"
    adagp("train", *run, "-o", folder)
    return folder, run


@pytest.mark.parametrize("at", range(34, 60, 5))
def test_auto_stopped_around_a_decision_ends_the_same(at, auto_run, tmp_path):
    (whole, run), cut = auto_run, tmp_path / "cut"
    code, _, err = interrupt(cut, *run, at=at)
    assert code == 143, err
    adagp("train", *run, "-o", cut)
    assert_same_run(cut, whole)
