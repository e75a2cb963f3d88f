"""compare() over the workers of an executor: the results are those of this process."""

import json
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest
import torch

import adagp
from executor_task import TEST, TRAIN, network


def compare(folder, **options):
    chosen = {"epochs": 2, "seeds": 2, "methods": ["stored-loss", "skip"], "progress": False, **options}
    return adagp.compare(chosen.pop("make", network), TRAIN, TEST, folder=folder, **chosen)


@pytest.fixture(autouse=True)
def workers_have_one_thread(monkeypatch):
    """As the runs of `alone`: sums in another order have other bits."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    compare(folder, equal="epochs")
    torch.set_num_threads(threads)
    return folder


def assert_same(folder, alone):
    runs = sorted(path.parent.name for path in alone.glob("*/summary.json"))
    assert runs == sorted(path.parent.name for path in folder.glob("*/summary.json")) and len(runs) == 6
    for run in runs:
        ours, theirs = (adagp.Run(place / run) for place in (folder, alone))
        for name, value in theirs.weights().items():
            assert torch.equal(value, ours.weights()[name]), (run, name)
    ours, theirs = (json.loads((place / "compare.json").read_text()) for place in (folder, alone))
    assert ours["pairs"] == theirs["pairs"]


def test_processes_train_what_one_process_trains(tmp_path, alone):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as workers:
        compare(tmp_path, equal="epochs", executor=workers)
    assert_same(tmp_path, alone)


def test_workers_of_dask(tmp_path, alone):
    distributed = pytest.importorskip("dask.distributed")
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        compare(tmp_path, equal="epochs", executor=client.get_executor())
    assert_same(tmp_path, alone)


def test_jobs_of_submitit(tmp_path, alone):
    submitit = pytest.importorskip("submitit")
    workers = submitit.AutoExecutor(folder=tmp_path / "logs", cluster="local")
    workers.update_parameters(timeout_min=10)
    compare(tmp_path / "runs", equal="epochs", executor=workers)
    assert_same(tmp_path / "runs", alone)


def test_threads_and_other_things_are_refused(tmp_path):
    with ThreadPoolExecutor(2) as workers, pytest.raises(adagp.UsageError, match="got threads"):
        compare(tmp_path, executor=workers)
    with pytest.raises(adagp.UsageError, match="executor: got 4, expected"):
        compare(tmp_path, executor=4)
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as workers:
        with pytest.raises(adagp.UsageError, match="its processes are forked"):
            compare(tmp_path, executor=workers)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_sent_is_named(tmp_path):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as workers:
        with pytest.raises(adagp.UsageError, match="executor: model_fn cannot be sent to another process"):
            compare(tmp_path, make=lambda: network(), executor=workers)


class InThisProcess:
    """As Dask's worker with several threads: the next task begins inside the first one."""

    def __init__(self):
        self.tasks = []

    def submit(self, function, *arguments):
        future = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        self.tasks.append(future)
        return future


def test_any_object_with_submit_will_do_and_errors_of_workers_are_raised(tmp_path, alone):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    workers = InThisProcess()
    compare(tmp_path, equal="epochs", executor=workers)
    torch.set_num_threads(threads)
    assert len(workers.tasks) == 2
    assert_same(tmp_path, alone)
    from adagp._impl import lab_executor

    with lab_executor._at_work, pytest.raises(adagp.UsageError, match="two seeds at a time in one process"):
        compare(tmp_path / "other", equal="epochs", executor=InThisProcess())
