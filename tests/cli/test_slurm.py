"""docs/cluster.md in a Slurm of one machine (scripts/slurm_here.sh): an array that is requeued."""

import os
import subprocess

import pytest

from harness import BIN, PATIENCE, ROOT, TINY, adagp, environment, sets, stopping
from kill_everywhere import timeless_report

SCRIPT = ROOT / "scripts/slurm_here.sh"
COMMAND = ["sweep", *TINY, "--epochs", "1", "--method", "bp", "--over", "optim.lr=0.05", "--controls", "none",
           "--seeds", "6", *sets(checkpoint_every="2ba")]


@pytest.fixture
def slurm(tmp_path):
    folder = tmp_path / "slurm"
    started = subprocess.run([SCRIPT, "start", folder], capture_output=True, text=True, timeout=PATIENCE)
    if started.returncode == 77:
        pytest.skip(started.stderr.strip())
    assert started.returncode == 0, started.stderr
    yield {"SLURM_CONF": str(folder / "slurm.conf")}
    subprocess.run([SCRIPT, "stop", folder], check=True, timeout=PATIENCE)


def test_an_array_with_a_requeue_ends_as_one_process(slurm, tmp_path):
    adagp(*COMMAND, "-o", tmp_path / "alone")
    folder, job = tmp_path / "out", tmp_path / "job.sh"
    # The first checkpoint of all tasks brings SIGUSR1, as Slurm does before the time of a job ends.
    usual = environment(**slurm)
    stop = {name: value for name, value in
            environment(**stopping("*/checkpoint/step-*.safetensors", 10, STOP_ONCE=tmp_path / "stopped")).items()
            if name not in usual or usual[name] != value}
    variables = " ".join(f"{name}='{value}'" for name, value in stop.items())
    words = " ".join(f"'{word}'" for word in [BIN, *COMMAND, "-o", str(folder)])
    job.write_text(f"""#!/bin/bash
#SBATCH --array=1-6
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={tmp_path}/task-%a.txt
env {variables} {words}
code=$?
echo "exit code $code, restart ${{SLURM_RESTART_COUNT:-0}}"
if [ $code = 85 ]; then scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"; sleep 600; fi
exit $code
""")
    subprocess.run(["sbatch", "--wait", job], env=usual, capture_output=True, text=True, check=True, timeout=PATIENCE)
    said = {task: (tmp_path / f"task-{task}.txt").read_text() for task in range(1, 7)}
    again = [text for text in said.values() if "exit code 85, restart 0" in text]
    assert len(again) == 1 and "exit code 0, restart 1" in again[0], said
    assert all(text.count("exit code 0") == 1 for text in said.values()), said
    assert "shard 3/6" in said[3]
    for report in ("sweep.json", "sweep.csv", "sweep.md"):
        assert timeless_report(folder / report) == timeless_report(tmp_path / "alone" / report), report
    assert not (folder / ".claims").exists() and os.listdir(folder)
