"""bench/gpu/kernel_times.py on traces that are written here; no GPU."""

import subprocess
import sys

from harness import ROOT

SCRIPT = ROOT / "bench/gpu/kernel_times.py"
HEAD = "launch,start_ns,end_ns,stream,blocks,threads,shared_bytes,name\n"


def run(*words):
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, words)], capture_output=True,
                          text=True, check=False)


def line(launch, start, end, name, stream=7):
    return f'{launch},{start},{end},{stream},132,256,0,"{name}"\n'


def write(path, lines):
    path.write_text(HEAD + "".join(lines), encoding="utf-8")
    return path


def step(launch, start, conv):
    """conv, a gap of 2 us, a norm of 10 us; an update begins 4 us before the norm's end and takes 6."""
    norm = start + conv + 2000
    return [line(launch, start, start + conv, "void adagp::cuda::(anonymous namespace)::conv<int, 3>"),
            line(launch, norm, norm + 10000, "norm"),
            line(launch, norm + 6000, norm + 12000, "update", stream=9)]


def test_the_median_launch_of_the_longest_kind_is_shown(tmp_path):
    # In the file a launch ends before the next one begins; the order of the lines is another one.
    lines = step(3, 200000, 30000) + step(1, 0, 20000) + step(2, 100000, 25000)
    lines += [line(number, 10**6 * number, 10**6 * number + 20000, "fill") for number in range(10, 40)]
    done = run(write(tmp_path / "t.csv", lines))
    assert done.returncode == 0, done.stderr
    head, _, first, second, third = done.stdout.splitlines()
    # 25 + 2 + 12 us long; the kernels take 25 + 10 + 6.
    assert head == ("3 kernels in 39.0 us (median of 3): 41.0 us of kernels, 4.0 of them beside "
                    "others, and 2.0 us between kernels")
    assert first.split() == ["25.0", "64.1%", "1", "conv<int,", "3>"]
    assert second.split() == ["10.0", "25.6%", "1", "norm"]
    assert third.split() == ["6.0", "15.4%", "1", "update"]


def test_every_kernel_in_order(tmp_path):
    done = run(write(tmp_path / "t.csv", reversed(step(1, 5000, 20000))), "--list", "--width", 8)
    assert [words.split() for words in done.stdout.splitlines()[2:]] == [
        ["0.0", "0.0", "20.0", "7", "132", "conv<..."],
        ["22.0", "2.0", "10.0", "7", "132", "norm"],
        ["28.0", "0.0", "6.0", "9", "132", "update"]]


def test_the_whole_file_is_one_step_when_asked_for(tmp_path):
    path = write(tmp_path / "t.csv", [line(1, 0, 1000, "a"), line(2, 3000, 4000, "a")])
    assert run(path, "--whole").stdout.startswith("2 kernels in 4.0 us (median of 1): 2.0 us of")


def test_files_that_are_no_traces_are_refused(tmp_path):
    empty, other, cut = tmp_path / "empty.csv", tmp_path / "other.csv", tmp_path / "cut.csv"
    write(empty, [])
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    cut.write_text(HEAD + "1,0,10", encoding="utf-8")
    for path, word in ((empty, "no kernels"), (other, "not a file of"), (cut, "line 2 is cut off"),
                       (tmp_path / "none.csv", "No such file")):
        done = run(path)
        assert done.returncode == 3 and word in done.stderr, (path, done.stderr)
        assert "Traceback" not in done.stderr
