import os
import re
import shutil
import tempfile

import pytest

pytest.register_assert_rewrite("harness")
from harness import TINY, adagp, sets  # noqa: E402

MEMORY, ROOM = "/dev/shm", 2**31


def room_in_memory():
    try:
        free = os.statvfs(MEMORY)
        pages = os.sysconf("SC_AVPHYS_PAGES")
    except OSError:
        return False
    return os.access(MEMORY, os.W_OK) and min(free.f_bavail * free.f_frsize,
                                              pages * os.sysconf("SC_PAGE_SIZE")) > ROOM


@pytest.hookimpl(tryfirst=True)  # before pytest chooses a folder
def pytest_configure(config):
    """Folders of tests lie in memory where that has room: a run waits for the disk at every checkpoint,
    and the tests make thousands."""
    config.addinivalue_line("markers", "rivals: needs the library of rivals")
    if config.option.basetemp is None and room_in_memory():
        config.option.basetemp = tempfile.mkdtemp(prefix="adagp-tests-", dir=MEMORY)
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


# Tests that need the library of rivals (-DADAGP_RIVALS=OFF builds without): those of the marker `rivals`, and
# cases that name a rival. Those of the simulators need none.
RIVALS = re.compile(r"modules|dropback|xgrad|control-variate|selective|'partial'|'auto'|auto__|auto\.|fast|edram|"
                    r"remap|\bdfa|\bvt\b|\bdni\b|head-ridge|compress|decoupled|term-project")


def pytest_collection_modifyitems(config, items):
    part, parts = map(int, os.environ.get("ADAGP_PART", "1/1").split("/"))
    config.hook.pytest_deselected(items=[item for i, item in enumerate(items) if i % parts != part - 1])
    items[:] = items[part - 1::parts]
    if os.environ.get("ADAGP_RIVALS", "ON") != "OFF":
        return
    for item in items:
        if "sim" in os.path.basename(os.environ.get("ADAGP_BIN", "")):
            continue
        case = repr(item.callspec.params) if hasattr(item, "callspec") else ""
        if item.get_closest_marker("rivals") or RIVALS.search(case):
            item.add_marker(pytest.mark.skip(reason="built without the rivals"))


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
