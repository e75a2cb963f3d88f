import pytest

pytest.register_assert_rewrite("harness")
from harness import TINY, adagp, sets  # noqa: E402

# Long enough for a signal to land in the middle: 300 batches, about two seconds. Records are due
# between the ends of epochs too, where nothing but a checkpoint makes the program write them out.
LONG = [*TINY, "--epochs", "30", *sets(log_every="7ba")]


@pytest.fixture(scope="session")
def long_run():
    return LONG


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory):
    """method -> folder of a run that nothing disturbed; made when first asked for."""
    made = {}

    def folder(method):
        if method not in made:
            made[method] = tmp_path_factory.mktemp("whole") / method
            adagp("train", *LONG, "--method", method, "-o", made[method])
        return made[method]

    return folder


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A short finished adagp run; tests must leave it as it is."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    adagp("train", *TINY, "--epochs", "3", "--seed", "1", "-o", folder)
    return folder
