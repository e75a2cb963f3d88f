"""Four processes share a sweep of twelve units; each is killed (-9) again and again in the middle of its work and
started again. The tables are those of one process, byte for byte but for seconds. Used by test_shared_lists.py and by
kill_everywhere.py."""

import random
import signal
import subprocess
import threading

from harness import BIN, PATIENCE, TINY, adagp, environment, sets, stopping

UNITS, PROCESSES, KILLS = 12, 4, 3
# A unit is a seed. Which points are best must not depend on seconds.
COMMAND = ["sweep", *TINY, "--epochs", "1", "--method", "adagp", "--over", "schedule=1:1", "--seeds", str(UNITS),
           "--controls", "skip", *sets(data__synthetic_train=100, checkpoint_every="2ba")]


def whole(folder):
    """One process alone; returns how many changes of files it makes."""
    counter = folder.parent / "changes"
    adagp(*COMMAND, "-o", folder, env=stopping(COUNT_CHANGES=counter))
    return int(counter.read_text())


def worker(folder, places, wrong):
    """Killed before each of these changes of a file, then started once more."""
    for place in [*places, None]:
        env = environment(**(stopping(KILL_BEFORE=place) if place else {}))
        done = subprocess.run([BIN, *COMMAND, "-o", str(folder)], env=env, text=True, capture_output=True,
                              timeout=PATIENCE)
        if done.returncode not in ((0, -signal.SIGKILL) if place else (0,)):
            wrong.append(f"exit code {done.returncode}: {done.stderr}")
            return


def share(folder, changes, chance):
    """All workers at a time. Returns what went wrong."""
    wrong = []
    # Each does about a quarter of the work; a place after its end is no kill.
    workers = [threading.Thread(target=worker, args=(folder, places, wrong)) for places in
               [[chance.randint(1, changes // 2) for _ in range(KILLS)] for _ in range(PROCESSES)]]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    return wrong


def rounds(count, scratch, same):
    """So many times; `same(folder, whole)` compares. The places are those of a fixed seed."""
    changes, chance = whole(scratch / "whole"), random.Random(43)
    for number in range(count):
        folder = scratch / f"round-{number}"
        wrong = share(folder, changes, chance)
        assert not wrong, f"round {number}: {wrong}"
        assert not (folder / ".claims").exists(), list((folder / ".claims").iterdir())
        same(folder, scratch / "whole")
