"""Number formats and predictors of the library of rivals: runs that are stopped on the way."""

import pytest

from harness import sets
from test_methods import command, stopped_run_ends_the_same

pytestmark = pytest.mark.rivals

METHODS = {}
FAST = sets(precision="fast", fast__every="7ba")
METHODS["bp:edram"] = sets(edram__error=0.01)
METHODS["adagp:edram"] = ["--schedule", "1ep bp, 1:1", *sets(edram__error=0.01)]
METHODS["bp:fast"] = FAST
METHODS["adagp:fast"] = ["--schedule", "1ep bp, 1:1", *FAST]
METHODS["modules:fast"] = [*FAST, *sets(modules__count=3)]
METHODS["modules:fast-unlocked"] = [*FAST, *sets(modules__count=3, modules__unlocked="true",
                                                 fast__regroup="false")]
METHODS["stored-loss:fast"] = [*FAST, *sets(fast__exponent_bits=3, fast__regroup="false")]


for kind in ("dfa", "dfa-random", "vt", "dni", "head-ridge"):
    METHODS[f"adagp:{kind}"] = ["--schedule", "1ep bp, 1:1", *sets(predictor__kind=kind)]


@pytest.mark.parametrize("name", METHODS)
def test_a_run_stopped_on_the_way_ends_the_same(name, tmp_path):
    stopped_run_ends_the_same(command(name, METHODS[name]), tmp_path)
