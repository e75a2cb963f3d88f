"""adagp report --watch: a table of the runs that are not finished."""

import os
import pty
import signal

from harness import BIN, PATIENCE, adagp, environment
from test_report import write_run


def test_unfinished_runs_are_listed_with_the_time_left(tmp_path):
    write_run(tmp_path / "runs/a", finished=True)
    folder = write_run(tmp_path / "runs/b", method="adagp", epochs=2, finished=False)
    (folder / "config.toml").write_text('method = "adagp"\nepochs = 10\n')
    lines = adagp("report", "--watch", tmp_path / "runs").stdout.splitlines()
    cells = lines[2].split()
    assert cells[0].endswith("/b") and cells[1:4] == ["adagp", "2", "10"]
    assert "top-1 50.00" in lines[2]
    assert "9.9 s" in lines[2], "eight of ten epochs of 1.23 s are left"
    assert lines[-1] == "1 finished, 1 not finished"


def test_finished_runs_end_it(tmp_path):
    write_run(tmp_path / "a")
    assert adagp("report", "--watch", tmp_path / "a").stdout == "1 finished, 0 not finished\n"


def test_folders_without_runs_are_errors(tmp_path):
    assert "no run folder" in adagp("report", "--watch", tmp_path, code=3).stderr
    assert "no such folder" in adagp("report", "--watch", tmp_path / "none", code=3).stderr


def test_a_terminal_is_drawn_again_until_ctrl_c(tmp_path):
    write_run(tmp_path / "a", finished=False)
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(BIN, [BIN, "report", "--watch", "--every", "1", str(tmp_path / "a")], environment())
    seen = b""
    signal.alarm(int(PATIENCE))
    while seen.count(b"\x1b[H\x1b[J") < 2:
        seen += os.read(terminal, 4096)
    os.kill(child, signal.SIGINT)
    try:
        while chunk := os.read(terminal, 4096):
            seen += chunk
    except OSError:  # the other end is closed
        pass
    signal.alarm(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
    assert b"not finished" in seen and b"the runs go on" in seen
