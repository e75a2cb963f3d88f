"""Measurements of `adagp bench` and pytorch_bench.py as one page of Markdown; no I/O here.

Keys that a measurement lacks are shown as "-": a page with holes is better than none.
"""

import json
import re

# At batch 256 and CIFAR's size: row -> (most or least, value per network).
TARGETS = {
    "gp": ("<=", {"vgg13_bn": 1.12, "resnet18": 1.12, "resnet50": 1.12}),
    "train": ("<=", {"vgg13_bn": 1.08, "resnet18": 1.08, "resnet50": 1.10}),
    "pytorch": ("<=", {"vgg13_bn": 1.00, "resnet18": 1.00, "resnet50": 1.00}),
    "share": (">=", {"vgg13_bn": 0.92, "resnet18": 0.92, "resnet50": 0.90}),
    "memory": ("<=", {"vgg13_bn": 1.05, "resnet18": 1.05, "resnet50": 1.05}),
}
TARGET_BATCH, TARGET_INPUT = 256, "cifar"

STEPS = (("fw_ms", "forward, no graph of autograd"), ("gp_ms", "GP"), ("bp_ms", "BP"),
         ("bp_train_ms", "BP + predictor training"), ("opt_ms", "optimizer alone"),
         ("pred_ms", "predictor alone"), ("roofline_pred_ms", "predictor by roofline"),
         ("data_ms", "data of one batch"), ("eval_ms", "evaluation of one batch"))


def slug(name):
    """"NVIDIA H200" -> "nvidia-h200"."""
    return re.sub(r"[^a-z0-9]+", "-", (name or "").lower()).strip("-") or "unknown-device"


def number(value, digits=3):
    return f"{value:.{digits}f}" if isinstance(value, (int, float)) else "-"


def ratio(ours, top, bottom, given=None):
    """The ratio as measured (`given` names its key), else from its two parts; None without them."""
    if given and isinstance(ours.get(given), (int, float)):
        return ours[given]
    above, below = ours.get(top), ours.get(bottom)
    if not isinstance(above, (int, float)) or not isinstance(below, (int, float)) or below <= 0:
        return None
    return above / below


def best_pytorch(pytorch, model, batch, key="bp_ms"):
    """The fastest PyTorch result of this network and batch, or None."""
    fitting = [r for r in pytorch.get("results", []) if r.get("model") == model
               and r.get("batch") == batch and isinstance(r.get(key), (int, float))]
    return min(fitting, key=lambda r: r[key], default=None)


def rows_of(model, batch, ours, pytorch):
    """Row name -> (value or None, remark)."""
    best = best_pytorch(pytorch, model, batch)
    against = None
    if best and isinstance(ours.get("bp_ms"), (int, float)):
        against = ours["bp_ms"] / best["bp_ms"]
    peaks = ours.get("peak_mib") or {}
    return {
        "gp": (ratio(ours, "gp_ms", "fw_ms", "ratio_gp_fw"), ""),
        "train": (ratio(ours, "bp_train_ms", "bp_ms", "ratio_bptrain_bp"), ""),
        "pytorch": (against, best["mode"] if best else "no PyTorch result"),
        "share": (ratio(ours, "speedup", "ceiling", "share_of_ceiling"),
                  f"{number(ours.get('speedup'))} of {number(ours.get('ceiling'))}"),
        "memory": (ratio(peaks, "gp", "fw"), ""),
    }


def judged(row, model, wanted, value, remark):
    """"1.083 (<= 1.12: met)"; without the bracket where there is no target."""
    if value is None:
        return "-"
    parts = [remark] if remark else []
    how, targets = TARGETS[row]
    if wanted and model in targets:
        limit = targets[model]
        met = value <= limit if how == "<=" else value >= limit
        parts.append(f"{how} {limit:.2f}: {'met' if met else 'MISSED'}")
    return number(value) + (f" ({'; '.join(parts)})" if parts else "")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def target_table(measured, batch, size, pytorch):
    names = {"gp": "GP step / forward", "train": "BP with predictor training / BP",
             "pytorch": "our BP / best PyTorch BP",
             "share": "speed-up of the 90-epoch schedule / its ceiling",
             "memory": "peak memory of GP / forward"}
    wanted = (batch, size) == (TARGET_BATCH, TARGET_INPUT)
    found = {model: rows_of(model, batch, ours, pytorch) for model, ours in measured.items()}
    rows = [[text] + [judged(row, model, wanted, *found[model][row]) for model in measured]
            for row, text in names.items()]
    return table(["", *(f"{model} b{batch}" for model in measured)], rows)


def step_table(measured):
    def cell(ours, key):
        low_high = (ours.get("spread") or {}).get(key)
        text = number(ours.get(key))
        return text + (f" ({number(low_high[0])} to {number(low_high[1])})" if low_high else "")

    rows = [[text] + [cell(ours, key) for ours in measured.values()] for key, text in STEPS]
    for phase in ("fw", "bp", "gp"):
        peaks = [(ours.get("peak_mib") or {}).get(phase) for ours in measured.values()]
        rows.append([f"peak memory of {phase}, MiB", *(number(peak, 1) for peak in peaks)])
    graphs = [{True: "yes", False: "no"}.get(ours.get("graph"), "-") for ours in measured.values()]
    rows.append(["CUDA graphs", *graphs])
    shares = [number(ours.get("gp_share"), 4) for ours in measured.values()]
    rows.append(["GP share of the schedule", *shares])
    return table(["", *measured], rows)


def pytorch_table(pytorch):
    def cell(result, kind):
        if f"{kind}_ms" not in result:
            return "-"
        low, high = result.get(f"{kind}_p10"), result.get(f"{kind}_p90")
        return f"{number(result[f'{kind}_ms'])} ({number(low)} to {number(high)})"

    rows = []
    for result in pytorch.get("results", []):
        error, skips = result.get("error"), result.get("cudagraph_skips")
        note = f"{skips} parts ran outside CUDA graphs" if skips else ""
        if error:
            note = "failed: " + error.splitlines()[0][:160]
        rows.append([result.get("model", "?"), result.get("mode", "?"), cell(result, "bp"),
                     cell(result, "fw"), number(result.get("loss_first"), 4),
                     number(result.get("bp_setup_s"), 1), note.replace("|", "/")])
    return table(["model", "mode", "BP ms", "forward ms", "first loss", "set-up s", "remark"], rows)


def page(run):
    """`run`: date, device, batch, input, command, versions {name: text}, adagp {model: JSON of
    `adagp bench`, or {"error": text}}, pytorch (JSON of pytorch_bench.py, or {})."""
    measured = {m: ours for m, ours in run["adagp"].items() if "error" not in ours}
    failed = {m: ours["error"] for m, ours in run["adagp"].items() if "error" in ours}
    pytorch = run.get("pytorch") or {}
    parts = [
        f"# Step times on {run['device']}",
        f"Date: {run['date']}. bf16, batch {run['batch']}, input {run['input']}, channels-last; "
        "medians, in brackets the 10th and 90th percentile. Forward = training-mode batch norm "
        "without autograd.",
        "Made again by: `" + run["command"] + "`",
        table(["what", "version"], [[k, v] for k, v in run["versions"].items()]),
    ]
    if measured:
        parts += ["## Targets", target_table(measured, run["batch"], run["input"], pytorch),
                  "## adagp, ms", step_table(measured)]
    parts += [f"`adagp bench` of {model} failed: {error}" for model, error in failed.items()]
    if pytorch.get("results"):
        parts += ["## PyTorch, ms",
                  "Modes: see bench/gpu/pytorch_bench.py. First losses that agree mean equal work.",
                  pytorch_table(pytorch)]
    raw = json.dumps({"adagp": run["adagp"], "pytorch": pytorch}, indent=1)
    parts += ["## Raw numbers", f"```json\n{raw}\n```"]
    return "\n\n".join(parts) + "\n"
