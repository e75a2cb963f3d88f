"""Fixtures of several tests; helpers beside the tests can be imported by their names."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def one_thread():
    """The networks are too small for more, and threads that wait cost other processes time."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def uncounted_net():
    """A network with an operation whose multiplications the layer table does not know."""
    torch = pytest.importorskip("torch")

    class Uncounted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.out = torch.nn.Linear(4, 4)

        def forward(self, x):
            return torch.linalg.pinv(self.out(x))

    return Uncounted()
