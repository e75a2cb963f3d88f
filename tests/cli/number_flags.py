"""The flags that take numbers, as the program itself tells them, and values that no number can have."""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import harness
from harness import BIN, PATIENCE, environment

NO_NUMBERS = ["nan", "inf", "-inf", "1e400", "99999999999999999999"]


def run(*args, **options):
    return subprocess.run([BIN, *map(str, args)], env=environment(), text=True, capture_output=True,
                          timeout=PATIENCE, **options)


def commands(*path):
    """All commands below `path` with their help texts."""
    yield path, run(*path, "--help").stdout
    for name in sum(harness.commands(*path).values(), []):
        yield from commands(*path, name)


def number_flags(text):
    return re.findall(r"^ +(?:-\w,)?(--[\w-]+) NUMBERS?\b", text, re.MULTILINE)


def hidden_types(text):
    """Numbers that CLI11 itself would check."""
    return re.findall(r"^ +(?:-\w,)?(--?[\w-]+)\S* (?:U?INT|FLOAT)\b", text, re.MULTILINE)


def assert_refused(cases, cwd):
    """Each (command, flag, value): exit code 2, and one line that names the flag."""
    def one(case):
        command, flag, value = case
        return case, run(*command, f"{flag}={value}", cwd=cwd)
    with ThreadPoolExecutor(2) as pool:
        for case, done in pool.map(one, cases):
            lines = done.stderr.strip().splitlines()
            assert done.returncode == 2, (case, done)
            assert len(lines) == 1 and case[1] in lines[0] and done.stdout == "", (case, done)
