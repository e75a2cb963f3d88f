"""adagp.compare over the workers of an executor: one seed a task, so that what is compared is of one machine."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .lab_job import Job
from .lab_setting import Asked, make_setting, one_line
from .progress import Progress

RunJob = Callable[[Any, Job, Path, bool, Progress], None]

_EXAMPLE = 'ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn"))'

# Random numbers belong to the process: two seeds at a time would take them from each other.
_at_work = threading.Lock()


def check_executor(executor: Any) -> None:
    if not hasattr(executor, "submit"):
        raise UsageError(
            f"executor: got {executor!r}, expected one of concurrent.futures, as "
            "ProcessPoolExecutor, or of a library that has such, as Dask's get_executor()"
        )
    if isinstance(executor, ThreadPoolExecutor):
        raise UsageError(
            f"executor: got threads, and random numbers belong to a process; give processes, as {_EXAMPLE}"
        )
    context = getattr(executor, "_mp_context", None)
    if context is not None and context.get_start_method() == "fork":
        raise UsageError(
            f"executor: its processes are forked, and torch's threads do not survive that; give {_EXAMPLE}"
        )


def run_seed(run: RunJob, asked: Asked, jobs: Sequence[Job], folder: Path, overwrite: bool) -> None:
    """In a worker: the runs of one seed."""
    if not _at_work.acquire(blocking=False):
        raise UsageError(
            "executor: two seeds at a time in one process, and random numbers belong to a process; "
            "give every worker one thread"
        )
    try:
        setting = make_setting(asked)
        silent = Progress(False, [1.0] * len(jobs))
        for job in jobs:
            run(setting, job, folder, overwrite, silent)
    finally:
        _at_work.release()


def run_all(
    executor: Executor, run: RunJob, asked: Asked, jobs: Sequence[Job], folder: Path,
    overwrite: bool, shown: Progress,
) -> None:  # fmt: skip
    """All runs. What a worker raises is raised here, when all seeds before it are done."""
    seeds = list(dict.fromkeys(job.seed for job in jobs))
    parts = [[job for job in jobs if job.seed == seed] for seed in seeds]
    # Workers may have another working folder.
    place = folder.absolute()
    tasks: list[Any] = []
    try:
        for seed, part in zip(seeds, parts, strict=True):
            one = replace(asked, seeds=[seed])
            tasks.append(executor.submit(run_seed, run, one, part, place, overwrite))
        for task, part in zip(tasks, parts, strict=True):
            task.result()
            for job in part:
                shown.begin(job.folder, 0.0)
                shown.moved(1.0)
    except BaseException as error:
        for task in tasks:
            task.cancel()
        if isinstance(error, pickle.PicklingError) or isinstance(executor, ProcessPoolExecutor):
            _refuse_unsendable(asked, error)
        raise


def _refuse_unsendable(asked: Asked, error: BaseException) -> None:
    """Names the argument for which an executor said that it cannot be sent."""
    if not isinstance(error, (pickle.PicklingError, AttributeError, TypeError)):
        return
    for name in (field.name for field in fields(asked)):
        try:
            pickle.dumps(getattr(asked, name))
        except Exception as reason:
            raise UsageError(
                f"executor: {name} cannot be sent to another process ({one_line(reason)}); define "
                "it at the top of a module, not as a lambda or inside a function"
            ) from error
