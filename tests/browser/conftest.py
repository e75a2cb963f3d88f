"""The page in the distribution's Chromium. ADAGP_BIN names the program."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from harness import BIN  # noqa: E402
from test_report import write_run  # noqa: E402

BROWSER = os.environ.get("ADAGP_BROWSER", "/usr/bin/chromium")
DRIVER = os.environ.get("ADAGP_BROWSER_DRIVER", "/usr/bin/chromedriver")


class Browser:
    """A window on one page, with what it asked for and what it said."""

    def __init__(self, width=1000, dark=False, script=True):
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.cdp("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                           {"name": "prefers-reduced-motion", "value": "reduce"}])  # no smooth scrolling
        self.cdp("Network.enable")
        if not script:
            self.cdp("Emulation.setScriptExecutionDisabled", value=True)

    def cdp(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def open(self, path, state=""):
        self.driver.get(f"file://{path}{state}")
        return self

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def requests(self):
        """Addresses that were asked for since the last time."""
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def messages(self):
        return [e["message"] for e in self.driver.get_log("browser")]

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def data(self):
        return json.loads(self.run("return document.getElementById('data').textContent"))


@pytest.fixture
def browser():
    made = []

    def make(**options):
        made.append(Browser(**options))
        return made[-1]

    yield make
    for one in made:
        one.driver.quit()


def add_probes(folder):
    (folder / "layers.csv").unlink(missing_ok=True)
    with open(folder / "metrics.jsonl", "a") as file:
        for step in range(0, 30, 3):
            layers = [[0.1 * layer - step / 100, 1, 0.5, 0, 0, 0, 0.3, 0.2] for layer in range(4)]
            print(json.dumps({"kind": "train", "step": step, "loss": 1, "probes": layers}), file=file)
        for step, what, k in ((8, "adopt", 2), (16, "raise", 4), (24, "drop", 0)):
            print(json.dumps({"kind": "decision", "step": step, "what": what, "candidate": "skip", "tried": 2,
                              "used_k": k, "rate": 0.2, "bp_rate": 0.1, "low": 0.05, "pairs": 3}), file=file)


def write_budget(folder):
    """The file that `compare --budget` keeps, with what a report reads of it."""
    runs = []
    for seed in range(3):
        for epochs in (10, 15, 30):
            runs.append({"method": "bp", "batch": 10, "epochs": epochs, "seed": seed, "cost": epochs,
                         "top1": 90 - 60 / epochs + seed / 4, "seconds": 2 * epochs})
        runs.append({"method": "skip", "batch": 10, "epochs": 20, "seed": seed, "cost": 12, "seconds": 25,
                     "top1": 86 + seed / 4})
    mean = 90 - 60 / 15 + 0.25
    row = {"method": "bp", "batch": 10, "epochs": 15, "top1_mean": mean}
    (folder / "budget.json").write_text(json.dumps({
        "about": "net on toy", "conditions": {}, "metric": "top1", "rows": [row], "notes": [], "runs": runs,
        "targets": [{"target": "bp 15 ep", "score": mean}]}))


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """A report with every section, of runs that were made up."""
    folder = tmp_path_factory.mktemp("report")
    for seed in range(3):
        for method, score in (("bp", 80), ("skip", 70), ("adagp", 75)):
            run = write_run(folder / f"compare/{method}-seed{seed}", method, seed, epochs=6, score=score + seed)
            if method == "adagp":
                add_probes(run)
        write_run(folder / f"budget/bp-seed{seed}", seed=seed, model="other", epochs=6)
    write_budget(folder / "budget")
    evil = "<img src=x onerror=document.title=1>"
    write_run(folder / "evil", method=evil, model=evil)
    for name, command in (("sim", ["simulate", "--model", "resnet8", "--input", "cifar", "--per-layer", "--json"]),
                          ("sweep", ["simulate", "--model", "resnet8,vgg13", "--input", "cifar", "--array",
                                      "12x15,24x30,48x60", "--json"]),
                          ("pipe", ["pipeline", "--schedule", "all", "--phases", "gp-bp", "--gantt", "--json"])):
        (folder / f"{name}.json").write_bytes(subprocess.run([BIN, *command], check=True, capture_output=True).stdout)
    out = folder / "report.html"
    subprocess.run([BIN, "report", *(folder / name for name in ("compare", "budget", "evil", "sim.json", "sweep.json",
                    "pipe.json")), "-o", out], check=True)
    return out
