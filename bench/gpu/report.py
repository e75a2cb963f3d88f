"""Measurements of `adagp bench` and pytorch_bench.py as one page of Markdown; no I/O here.

Keys that a measurement lacks are shown as "-": a page with holes is better than none.
"""

import json
import re

# The networks that have targets, in the order of the table.
MADE_BY = "Made again by: "  # of a page that nobody has edited
TARGET_MODELS = ("vgg13_bn", "vgg19_bn", "resnet18", "resnet50", "mobilenet_v2", "densenet121",
                 "inception_v3")
# At batch 256 and CIFAR's size: row -> (most or least, value per network; "" is for all others of
# TARGET_MODELS).
TARGETS = {
    "gp": ("<=", {"vgg13_bn": 1.12, "vgg19_bn": 1.12, "": 1.06}),
    "train": ("<=", {"vgg13_bn": 1.08, "resnet18": 1.04, "resnet50": 1.03}),
    "pytorch": ("<=", {"vgg13_bn": 0.75, "resnet18": 0.80, "resnet50": 0.65, "mobilenet_v2": 0.60,
                       "densenet121": 0.60}),
    "bp": ("<=", {"mobilenet_v2": 3.5, "densenet121": 11, "inception_v3": 30}),
    "limit": (">=", {"vgg13_bn": 0.5, "resnet18": 0.5, "resnet50": 0.5, "mobilenet_v2": 0.5,
                     "densenet121": 0.5}),
    "share": (">=", {"vgg13_bn": 0.92, "resnet18": 0.92, "resnet50": 0.90}),
    "memory": ("<=", {"vgg13_bn": 1.05, "resnet18": 1.05, "resnet50": 1.05}),
}
TARGET_BATCH, TARGET_INPUT = 256, "cifar"

KINDS = ("convolution", "linear", "norm", "elementwise", "optimizer", "predictor", "summaries",
         "other")

STEPS = (("fw_ms", "forward, no graph of autograd"), ("gp_ms", "GP"), ("bp_ms", "BP"),
         ("bp_train_ms", "BP + predictor training"), ("opt_ms", "optimizer alone"),
         ("pred_ms", "predictor alone"),
         ("roofline_pred_ms", "predictor by roofline, with a pass of its own over the activations"),
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


def network_of(column):
    """"mobilenet_v2 own_kernels=false" -> "mobilenet_v2"."""
    return column.partition(" ")[0]


def share_of_limit(roofline, model):
    """Of the BP step, by `adagp bench --roofline --json`; None where it was not measured."""
    for network in roofline or []:
        if network.get("model") == model:
            return network.get("steps", {}).get("bp", {}).get("share")
    return None


def rows_of(model, batch, ours, pytorch, roofline):
    """Row name -> (value or None, remark)."""
    best = best_pytorch(pytorch, network_of(model), batch)
    against = None
    if best and isinstance(ours.get("bp_ms"), (int, float)):
        against = ours["bp_ms"] / best["bp_ms"]
    peaks = ours.get("peak_mib") or {}
    return {
        "gp": (ratio(ours, "gp_ms", "fw_ms", "ratio_gp_fw"), ""),
        "train": (ratio(ours, "bp_train_ms", "bp_ms", "ratio_bptrain_bp"), ""),
        "pytorch": (against, best["mode"] if best else "no PyTorch result"),
        "bp": (ours.get("bp_ms"), ""),
        "limit": (share_of_limit(roofline, model), ""),
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
    model = network_of(model)
    limit = targets.get(model, targets.get("") if model in TARGET_MODELS else None)
    if wanted and limit is not None:
        met = value <= limit if how == "<=" else value >= limit
        parts.append(f"{how} {limit:.2f}: {'met' if met else 'MISSED'}")
    return number(value) + (f" ({'; '.join(parts)})" if parts else "")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def target_table(measured, batch, size, pytorch, roofline=None):
    names = {"gp": "GP step / forward", "train": "BP with predictor training / BP",
             "pytorch": "our BP / best PyTorch BP", "bp": "BP, ms",
             "limit": "share of the roofline, BP",
             "share": "speed-up of the 90-epoch schedule / its ceiling",
             "memory": "peak memory of GP / forward"}
    wanted = (batch, size) == (TARGET_BATCH, TARGET_INPUT)
    found = {model: rows_of(model, batch, ours, pytorch, roofline)
             for model, ours in measured.items()}
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


def roofline_table(roofline):
    rows = []
    for network in roofline:
        for name, step in network.get("steps", {}).items():
            kinds = step.get("kinds", {})
            rows.append([network.get("model", "?"), name, number(step.get("limit_ms")),
                         number(step.get("measured_ms")), number(step.get("share"), 2),
                         *(kind_cell(kinds.get(kind)) for kind in KINDS)])
    return table(["network", "step", "limit ms", "measured ms", "share", *KINDS], rows)


def kind_cell(kind):
    return f"{number(kind.get('limit_ms'), 2)} / {number(kind.get('measured_ms'), 2)}" if kind else "-"


def raw_numbers(run):
    """The text of the file beside the page: all that was measured, as JSON."""
    numbers = {"adagp": run["adagp"], "pytorch": run.get("pytorch") or {}}
    if run.get("roofline"):
        numbers["roofline"] = run["roofline"]
    return json.dumps(numbers, indent=1) + "\n"


def page(run, raw_name):
    """`run`: date, device, batch, input, command, versions {name: text}, adagp {model: JSON of
    `adagp bench`, or {"error": text}}, pytorch (JSON of pytorch_bench.py, or {}), and perhaps
    roofline (JSON of `adagp bench --roofline`).
    `raw_name`: the file beside the page that has raw_numbers()."""
    measured = {m: ours for m, ours in run["adagp"].items() if "error" not in ours}
    failed = {m: ours["error"] for m, ours in run["adagp"].items() if "error" in ours}
    pytorch = run.get("pytorch") or {}
    parts = [
        f"# Step times on {run['device']}",
        f"Date: {run['date']}. bf16, batch {run['batch']}, input {run['input']}, channels-last; "
        "medians, in brackets the 10th and 90th percentile. Forward = training-mode batch norm "
        "without autograd.",
        MADE_BY + "`" + run["command"] + "`",
        table(["what", "version"], [[k, v] for k, v in run["versions"].items()]),
    ]
    if measured:
        parts += ["## Targets", target_table(measured, run["batch"], run["input"], pytorch,
                                             run.get("roofline")),
                  "## adagp, ms", step_table(measured)]
    parts += [f"`adagp bench` of {model} failed: {error}" for model, error in failed.items()]
    if pytorch.get("results"):
        parts += ["## PyTorch, ms",
                  "Modes: see bench/gpu/pytorch_bench.py. First losses that agree mean equal work.",
                  pytorch_table(pytorch)]
    if run.get("roofline"):
        parts += ["## Distance to the limit", "By kind: limit / measured, ms.",
                  roofline_table(run["roofline"])]
    parts += ["## Raw numbers", f"All measurements as JSON: [{raw_name}]({raw_name})."]
    return "\n\n".join(parts) + "\n"
