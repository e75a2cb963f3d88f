"""adagp simulate --run and --method: whole training runs, counted by hand a second time."""

import csv
import io
import json
import math
import re
import shutil

import pytest
from simulator import run_json, simulate, write_table

ROWS, COLUMNS, SIZE, BATCH = 6, 5, 8, 4
LAYERS = [("a", 3, 10), ("b", 10, 7)]
ARRAY = ["--array", f"{ROWS}x{COLUMNS}", "--dataflow", "ws"]
WEIGHTS = sum(9 * c * filters for _, c, filters in LAYERS)


def group(work, batches, side=0, examples=BATCH, frozen=0):
    return {"work": work, "image_side": side, "examples": examples, "frozen_rows": frozen,
            "batches": batches}


def run_folder(path, method, groups, score=50.0, gp=0, optim="momentum = 0.0", precision="fp32", seed=3, epochs=30):
    """What a finished run with these batches leaves behind."""
    (path / "operations").mkdir(parents=True)
    for side in {g["image_side"] for g in groups} | {0}:
        write_table(path / "operations" / f"{side or 'full'}.csv",
                    [(name, c, side or SIZE, m) for name, c, m in LAYERS])
    (path / "config.toml").write_text(
        f'method = "{method}"\nseed = {seed}\nepochs = {epochs}\n[optim]\nname = "sgd"\n{optim}\n')
    batches = sum(g["batches"] for g in groups)
    (path / "summary.json").write_text(json.dumps({
        "method": method, "model": "tiny", "data": "synthetic", "device": "cpu",
        "precision": precision, "seed": seed, "epochs": epochs, "batch": BATCH,
        "task": "classification", "metric": "top1", "figures": {"top1": score}, "loss": 1.0,
        "best_top1": score, "train_seconds": 1.0, "eval_seconds": 1.0, "input": f"{SIZE}x{SIZE}",
        "bp_batches": batches - gp, "gp_batches": gp, "cosine": None, "q": None,
        "batches": groups}))
    return path


def ws(m, k, n):
    return math.ceil(k / ROWS) * math.ceil(n / COLUMNS) * (m + 2 * ROWS + COLUMNS - 2)


def forward(examples=BATCH, size=SIZE):
    return sum(ws(examples * size * size, 9 * c, n) for _, c, n in LAYERS)


def backprop(examples=BATCH, size=SIZE, frozen=0):
    """The first layer that learns gives nobody the gradient of its input."""
    cycles = forward(examples, size)
    for i, (_, c, n) in enumerate(LAYERS[frozen:]):
        m, k = examples * size * size, 9 * c
        cycles += ws(k, m, n) + (ws(m, n, k) if i > 0 else 0)
    return cycles


def predictor_forward():
    """Each output channel is a sample of 8x8: a convolution to 16 channels, then 256 x K."""
    return sum(ws(n * 64, 9, 16) + ws(n, 256, 9 * c) for _, c, n in LAYERS)


def predictor_backward():
    return sum(ws(9, n * 64, 16) + ws(n, 9 * c, 256) + ws(256, n, 9 * c) for _, c, n in LAYERS)


METHODS = {
    "bp": ([group("backprop", 30)], 0, 30 * backprop()),
    "skip": ([group("backprop", 20), group("nothing", 10)], 10, 20 * backprop()),
    "zero": ([group("backprop", 20), group("update", 10)], 10, 20 * backprop()),
    "adagp": ([group("backprop and predictor", 20), group("prediction", 10)], 10,
              20 * (backprop() + predictor_forward() + predictor_backward())
              + 10 * (forward() + predictor_forward())),
    "progressive": ([group("backprop", 5, 4, 16), group("backprop", 7, 6, 8),
                     group("backprop", 9)], 0,
                    5 * backprop(16, 4) + 7 * backprop(8, 6) + 9 * backprop()),
    "stored-loss": ([group("backprop", 17)], 0, 17 * backprop()),
    "progressive+stored-loss": ([group("backprop", 3, 4, 16), group("backprop", 6)], 0,
                                3 * backprop(16, 4) + 6 * backprop()),
    "freeze": ([group("backprop", 15), group("backprop", 15, frozen=1)], 0,
               15 * backprop() + 15 * backprop(frozen=1)),
}


@pytest.mark.parametrize("method", METHODS)
def test_a_run_costs_its_batches_times_the_closed_form(tmp_path, method):
    groups, gp, cycles = METHODS[method]
    row, = run_json("--run", run_folder(tmp_path / "r", method, groups, gp=gp), *ARRAY,
                    "--designs", "efficient", "--products-only")
    assert row["cycles"] == row["total_cycles"] == cycles
    assert (row["score"], row["metric"], row["method"]) == (50, "top1", method)
    assert row["design"] == ("efficient" if method == "adagp" else "baseline")
    # Equal batches are one group, however long the run: what is simulated does not grow with it.
    assert len(row["groups"]) == len(groups)
    assert row["batches"] == sum(g["batches"] for g in groups)
    assert row["energy_j"] == pytest.approx(
        sum(g["batches"] * g["energy_j"] for g in row["groups"]), rel=1e-12)


def test_a_batch_of_a_run_costs_what_a_run_of_such_batches_costs(tmp_path):
    """With norms, updates and the predictor, in cycles, joules and every design."""
    table = write_table(tmp_path / "t.csv", [(n, c, SIZE, m) for n, c, m in LAYERS])
    known = run_json("--table", table, *ARRAY, "--batch", BATCH, "--epochs", 2, "--examples", 40,
                     "--schedule", "1ep bp, 4:1")["designs"]
    groups = [group("backprop and predictor", 12), group("prediction", 8)]
    adagp = run_folder(tmp_path / "adagp", "adagp", groups, gp=8)
    bp = run_folder(tmp_path / "bp", "bp", [group("backprop", 20)])
    rows = run_json("--run", adagp, bp, *ARRAY)
    assert [row["design"] for row in rows] == ["low", "efficient", "max", "baseline"]
    for row in rows:
        assert row["total_cycles"] == known[row["design"]]["total_cycles"]
        assert row["energy_j"] == pytest.approx(known[row["design"]]["energy_j"], rel=1e-12)


def test_an_update_moves_the_words_of_its_optimizer(tmp_path):
    table = write_table(tmp_path / "t.csv", [(n, c, SIZE, m) for n, c, m in LAYERS])

    def words(*args):
        row, = run_json(*args, *ARRAY)
        return row["groups"][0]["dram_words"]

    plan = ["--table", table, "--method", "bp", "--batch", BATCH, "--epochs", 1, "--examples", 40]
    sgd, momentum, adam = (words(*plan, "--optimizer", name) for name in ("sgd", "momentum", "adam"))
    # Read and written once more for each number that the optimizer keeps of a weight.
    assert (momentum - sgd, adam - sgd) == (2 * WEIGHTS, 4 * WEIGHTS)
    one = [group("backprop", 10)]
    kept = {"optim": "momentum = 0.9"}
    assert words("--run", run_folder(tmp_path / "s", "bp", one)) == sgd
    assert words("--run", run_folder(tmp_path / "m", "bp", one, **kept)) == momentum
    # fp32 weights and momentum take two words of 16 bits, and the layers' copies are written: four
    # words more for two numbers read and written, and one.
    assert words("--run", run_folder(tmp_path / "h", "bp", one, precision="bf16", **kept)) == (
        momentum + 5 * WEIGHTS)


def test_blind_updates_have_no_products(tmp_path):
    groups = [group("backprop", 20), group("update", 10)]
    row, = run_json("--run", run_folder(tmp_path / "r", "zero", groups, gp=10), *ARRAY)
    update = next(g for g in row["groups"] if g["work"] == "update")
    lanes = ROWS * COLUMNS
    assert update["total_cycles"] == sum(math.ceil(9 * c * n / lanes) for _, c, n in LAYERS)
    assert update["dram_words"] == 2 * WEIGHTS


def test_several_runs_are_a_table_and_a_picture(tmp_path):
    folders = [run_folder(tmp_path / name, name, METHODS[name][0], score, METHODS[name][1])
               for name, score in (("bp", 88.5), ("skip", 86.25), ("adagp", 86.0))]
    command = ["--run", *folders, "--dataflow", "ws,rs", "--designs", "efficient,max"]
    text = simulate(*command, "--plot", tmp_path / "p.svg").stdout
    rows = list(csv.DictReader(io.StringIO(simulate(*command, "--csv").stdout)))
    assert [(r["run"], r["dataflow"], r["design"]) for r in rows] == [
        (name, flow, design) for name in ("bp", "skip") for flow in ("ws", "rs")
        for design in ("baseline",)] + [("adagp", flow, d) for flow in ("ws", "rs")
                                        for d in ("efficient", "max")]
    for row in rows:
        assert f"{int(row['total_cycles']):,}".replace(",", " ") in text
    picture = (tmp_path / "p.svg").read_text()
    for flow in ("ws", "rs"):
        for cost in ("total cycles", "energy (J)"):
            assert f"tiny, {flow}: top1 against {cost}" in picture
    assert "adagp max, 30 epochs" in picture
    # A point for each row in a picture of cycles and one of joules, with its run's name.
    assert picture.count("<title>bp, 30 epochs: bp: ") == 4
    assert "seeds" not in text + picture


def test_seeds_of_a_run_are_one_row_and_one_point(tmp_path):
    """The rule leaves out other examples with each seed, so the costs differ, too."""
    def stored(seed, batches, score, **more):
        return run_folder(tmp_path / f"rule-e30-seed{seed}", "stored-loss", [group("backprop", batches)],
                          score, seed=seed, **more)

    folders = [stored(1, 17, 80.0), stored(2, 18, 82.0), stored(3, 22, 87.0),
               run_folder(tmp_path / "bp-e9-seed1", "bp", METHODS["bp"][0], 70.0, seed=1, epochs=9),
               run_folder(tmp_path / "bp-e30-seed1", "bp", METHODS["bp"][0], 81.0, seed=1)]
    command = ["--run", *folders, *ARRAY, "--products-only"]
    text = simulate(*command, "--plot", tmp_path / "p.svg").stdout
    rows = [line.split() for line in text.splitlines() if "baseline" in line]
    assert [row[:5] for row in rows] == [["rule-e30", "stored-loss", "baseline", "30", "3"],
                                         ["bp-e9-seed1", "bp", "baseline", "9", "1"],
                                         ["bp-e30-seed1", "bp", "baseline", "30", "1"]]
    assert rows[0][5:9] == ["19", "83.00", "±", "3.61"]  # mean of 17, 18, 22; sd of 80, 82, 87
    assert f"{19 * backprop():,}".replace(",", " ") in text
    assert "means over n seeds" in text
    assert len(run_json(*command)) == len(list(csv.DictReader(io.StringIO(simulate(*command, "--csv").stdout)))) == 5
    picture = (tmp_path / "p.svg").read_text()
    assert picture.count("<title>stored-loss, 30 epochs: rule-e30: ") == 2
    assert picture.count("<title>bp, 9 and 30 epochs: ") == 4 and "± sd of the seeds" in picture
    # Other keys, or the same seed again, are other runs.
    other = run_folder(tmp_path / "other", "stored-loss", [group("backprop", 17)], 80.0, seed=4,
                       optim="momentum = 0.5")
    again = run_folder(tmp_path / "again", "stored-loss", [group("backprop", 17)], 80.0, seed=2)
    text = simulate("--run", *folders[:3], other, again, *ARRAY, "--plot", tmp_path / "p.svg").stdout
    assert [line.split()[0] for line in text.splitlines() if "baseline" in line] == ["rule-e30", "other", "again"]
    assert "other, 30 epochs" in (tmp_path / "p.svg").read_text()


def test_a_line_joins_runs_of_equal_settings_alone(tmp_path):
    """Lengths of one method are no curve where its runs differ in a key, too."""
    def bp(name, epochs, seed, momentum=0.0):
        return run_folder(tmp_path / name, "bp", [group("backprop", epochs)], 70.0 + epochs, epochs=epochs,
                          seed=seed, optim=f"momentum = {momentum}")

    def series(*folders):
        simulate("--run", *folders, *ARRAY, "--plot", tmp_path / "p.svg")
        return set(re.findall(r"<title>([^:<]*epochs): ", (tmp_path / "p.svg").read_text()))

    usual = [bp("usual", 20, 1), bp("longer", 25, 1)]
    assert series(*usual) == {"bp, 20 and 25 epochs"}
    assert series(*usual, bp("other", 15, 1, 0.5)) == {"usual, 20 epochs", "longer, 25 epochs", "other, 15 epochs"}
    # Seeds whose names have the same beginning.
    seeds = [bp("run1", 20, 1), bp("run2", 20, 2), bp("run3", 15, 1, 0.5), bp("run4", 15, 2, 0.5)]
    assert series(*seeds) == {"run, 20 epochs", "run, 15 epochs"}


@pytest.mark.parametrize("method,batches", [("bp", 30 * 10), ("skip", 30 * 10), ("adagp", 30 * 10),
                                            ("stored-loss", None)])
def test_a_plan_has_the_batches_of_its_schedule(tmp_path, method, batches):
    table = write_table(tmp_path / "t.csv", [(n, c, SIZE, m) for n, c, m in LAYERS])
    row, = run_json("--table", table, "--method", method, "--batch", BATCH, "--epochs", 30,
                    "--examples", 43, "--schedule", "3ep bp, 4:1", *ARRAY, "--designs", "max")
    counts = {g["work"]: g["batches"] for g in row["groups"]}
    if batches is None:
        # The first epoch and the last eighth (4 of 30) have all examples, the others about half.
        assert 5 * 10 < row["batches"] < 30 * 10 and len(row["groups"]) == 1
        return
    assert row["batches"] == batches and row["score"] is None
    cheap = {"skip": "nothing", "adagp": "prediction"}.get(method)
    assert counts.get(cheap, 0) == (27 * 8 if cheap else 0)


def test_planned_runs_have_lengths_of_their_own(tmp_path):
    table = write_table(tmp_path / "t.csv", [(n, c, SIZE, m) for n, c, m in LAYERS])
    rows = run_json("--table", table, "--method", "bp@4/6, skip@8,bp", "--batch", BATCH, "--epochs", 3,
                    "--examples", 40, "--schedule", "1ep bp, 1:1")
    per_epoch = 40 // BATCH
    assert [(r["method"], r["epochs"], r["batches"]) for r in rows] == [
        (name, n, n * per_epoch) for name, n in (("bp", 4), ("bp", 6), ("skip", 8), ("bp", 3))]
    one, other = (next(r for r in rows if r["epochs"] == n) for n in (4, 6))
    assert other["total_cycles"] * 4 == one["total_cycles"] * 6
    for wrong in ("bp@", "bp@0", "bp@4/x", "bp@99999999999"):
        assert "is not a number of epochs" in simulate("--table", table, "--method", wrong, code=2).stderr


def broken(tmp_path, change):
    folder = run_folder(tmp_path / "r", "bp", [group("backprop", 30)])
    change(folder)
    return folder


def edit(folder, **values):
    path = folder / "summary.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


BAD = {
    "unfinished": (lambda f: (f / "summary.json").unlink(), "has no summary.json, so the run is not"),
    "no run": (lambda f: [(f / n).unlink() for n in ("summary.json", "config.toml")],
               "is no run folder; expected one that 'adagp train -o' wrote"),
    "earlier": (lambda f: edit(f, batches=[]),
                "summary.json has no table of the run's batches: the run was trained by an earlier"),
    "resumed": (lambda f: edit(f, bp_batches=40), "30 batches in its table, expected 40"),
    "cut": (lambda f: (f / "summary.json").write_text((f / "summary.json").read_text()[:100]),
            "summary.json: "),
    "no list": (lambda f: edit(f, batches=3), "key 'batches' is 3, expected a list"),
    "no object": (lambda f: edit(f, batches=[3]), "entry 1 of 'batches': "),
    "kind": (lambda f: edit(f, batches=[group("magic", 30)]),
             "entry 1 of 'batches': key 'work' is 'magic'"),
    "negative": (lambda f: edit(f, batches=[group("backprop", -3)]), "key 'batches' is -3"),
    "huge": (lambda f: edit(f, batches=[group("backprop", 2**60)]), "expected 1 to"),
    "twice": (lambda f: edit(f, batches=[group("backprop", 15)] * 2), "entry 2 of 'batches': comes"),
    "frozen": (lambda f: edit(f, batches=[group("backprop", 30, frozen=9)]),
               "9 frozen rows, and the table of 8x8 has 2"),
    "no tables": (lambda f: shutil.rmtree(f / "operations"),
                  "has no tables of the network's operations (operations/): a network with operations"),
    "no table": (lambda f: (f / "operations" / "full.csv").unlink(), "operations/full.csv"),
    "config": (lambda f: (f / "config.toml").write_text("method = \n"), "not a run's configuration"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_folders_get_one_line(tmp_path, case):
    change, message = BAD[case]
    error = simulate("--run", broken(tmp_path, change), code=3).stderr
    assert message in error and str(tmp_path / "r").split("/")[-1] in error
    assert len(error.strip().splitlines()) == 1, error


def test_what_cannot_be_counted_is_refused(tmp_path):
    other = run_folder(tmp_path / "o", "auto", [group("other", 3), group("backprop", 7)])
    assert "method auto: the simulator has no cost" in simulate("--run", other, code=2).stderr
    adagp = run_folder(tmp_path / "a", "adagp", METHODS["adagp"][0], gp=10)
    assert "design baseline has no predictor" in simulate("--run", adagp, "--designs", "baseline",
                                                          code=2).stderr
    for flag in (["--batch", 3], ["--method", "bp"], ["--model", "vgg13"], ["--inference"]):
        assert f"{flag[0]} does not go with --run" in simulate("--run", adagp, *flag, code=2).stderr
    assert "--optimizer" in simulate("--run", adagp, "--optimizer", "adam", code=2).stderr
    plan = ["--model", "resnet8", "--input", "cifar", "--method"]
    assert "--pareto does not go with --method" in simulate(*plan, "bp", "--pareto", "cycles,energy",
                                                            code=2).stderr
    assert "'control' cannot be planned" in simulate(*plan, "control", code=2).stderr
    assert "did you mean 'skip'" in simulate(*plan, "skpi", code=2).stderr
    assert "unknown optimizer" in simulate(*plan, "bp", "--optimizer", "lamb", code=2).stderr
    assert "'ema' cannot be planned" in simulate(*plan, "ema", code=2).stderr
    drawn = simulate(*plan, "bp", "--plot", tmp_path / "p.svg", code=2)
    assert "has no score to draw" in drawn.stderr and drawn.stdout == ""
    rtl = simulate(*plan, "bp", "--accelerator", "rtl-180", code=2).stderr
    assert "counts no DRAM traffic by batch" in rtl


def test_a_predictor_that_cannot_be_costed_is_named_with_its_run(tmp_path):
    folder = run_folder(tmp_path / "mine", "adagp", METHODS["adagp"][0], gp=10)
    with open(folder / "config.toml", "a") as file:
        file.write('[predictor]\nkind = "mlp"\n')
    error = simulate("--run", folder, code=2).stderr
    assert "mine: " in error and "mlp" in error


def test_rows_can_be_told_apart(tmp_path):
    folders = [run_folder(tmp_path / a / b, "bp", [group("backprop", 30)])
               for a, b in (("x", "s1"), ("y", "s1"), ("x", "s2"))]
    rows = run_json("--run", *folders)
    assert [row["run"] for row in rows] == ["x/s1", "y/s1", "s2"]
    table = write_table(tmp_path / "t.csv", [(n, c, SIZE, m) for n, c, m in LAYERS])
    plan = ["--table", table, "--method", "bp", "--batch", "4,8", "--epochs", 1, "--examples", 40]
    assert [row["batch"] for row in run_json(*plan)] == [4, 8]
    heading = next(line for line in simulate(*plan).stdout.splitlines() if "method" in line)
    assert "batch " in heading
    one = next(csv.DictReader(io.StringIO(simulate(*plan, "--csv").stdout)))
    assert one["batch"] == "4" and one["batches"] == "10"


def test_warnings_beside_the_numbers(tmp_path):
    groups = METHODS["adagp"][0]
    full = run_folder(tmp_path / "full", "adagp", groups, gp=10)
    half = run_folder(tmp_path / "half", "adagp", groups, gp=10, precision="bf16")
    assert "bf16" not in simulate("--run", full).stderr
    assert "bf16" not in simulate("--run", half).stderr
    assert "updates of bf16 runs move weights of two words" in simulate("--run", full, half).stderr
    small = simulate("--run", full, "--set", "predictor.memory_bytes=64").stderr
    assert "full: the predictor has" in small and "predictor.memory_bytes" in small
    only = simulate("--run", full, "--set", "predictor.memory_bytes=64", "--designs", "low").stderr
    assert "predictor.memory_bytes" not in only
