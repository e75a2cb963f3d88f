"""ZigZag's cost model as an oracle: MACs, cycles without stalls, and words between buffer and array.

`expected` has the formulas of both models, with a switch for what they do not share:

1. Folds. We cut M, K and N as wholes. ZigZag cuts the loops that they consist of one by one: 64 channels with
   3x3 taps on 12 rows are 48 folds of 576 rows, and 9 x 6 = 54 folds of channels.
2. Fill. A fold of ours takes the cycles of its stream and those in which the array fills and empties:
   2H + W - 2 (ws), H + W - 2 (os). ZigZag's takes the stream alone.
3. Windows. We move a point for each window that it lies in. ZigZag moves it once for all windows that are in the
   array at once, and takes whole positions and taps where they do not divide a side.
4. Rest. ZigZag does not read an operand again that stays as it was: in os, when the stream is one product long.
5. Sums that come back: all words that are written but the first of each result. Ours is a result of the matrix
   product, ZigZag's a point of the tensor, which windows share.
"""

from math import ceil, prod

import pytest
import zigzag_oracle as oracle
from simulator import run_json

LAYERS = oracle.layers()
PASSES = ["forward", "input_gradient", "weight_gradient"]
CASES = [(array, dataflow) for array in oracle.ARRAYS for dataflow in oracle.DATAFLOWS]


class Product:
    """Loops (name -> size) of a layer, and those along M, K and N in one pass."""

    def __init__(self, row, name):
        self.row, self.name = row, name
        self.transposed = row["op"] == "conv_transpose"
        self.groups = row["groups"]
        small = "in" if self.transposed else "out"
        self.sizes = {**{axis: row[f"{small}_{axis}"] for axis in "whd"}, "batch": oracle.BATCH,
                      **{f"tap_{axis}": row[f"kernel_{axis}"] for axis in "whd"},
                      "inputs": row["in_c"] // row["groups"], "outputs": row["out_c"] // row["groups"]}
        if row["op"] == "matmul":  # every example is a group
            self.groups *= oracle.BATCH
            self.sizes["batch"] = 1
        m, k, n = ["w", "h", "d", "batch"], ["inputs"], ["outputs"]
        (n if self.transposed else k).extend(["tap_w", "tap_h", "tap_d"])
        if name == "input_gradient":
            k, n = n, k
        elif name == "weight_gradient":
            m, k = k, m
        self.m, self.k, self.n = m, k, n

    def size(self, loops):
        return prod(self.sizes[loop] for loop in loops)

    def map_of_windows(self):
        """Which number counts the larger map: the input of a convolution, the output of a transposed one."""
        if self.row["op"] == "matmul":
            return ""
        as_input = {"forward": "left", "input_gradient": "written", "weight_gradient": "left"}
        as_output = {"forward": "written", "input_gradient": "left", "weight_gradient": "right"}
        return (as_output if self.transposed else as_input)[self.name]

    def axis(self, name):
        """Size of the larger map along an axis, stride, dilation."""
        return self.row[f"{'out' if self.transposed else 'in'}_{name}"], self.row[f"stride_{name}"], \
            self.row[f"dilation_{name}"]

    def result(self):
        """Words of the tensor that is written."""
        words = self.groups * self.size(self.m) * self.size(self.n)
        if self.map_of_windows() != "written":
            return words
        for name in "whd":
            size, stride, dilation = self.axis(name)
            places, taps = self.sizes[name], self.sizes[f"tap_{name}"]
            # Padding counts for points until the map is full.
            words = words // (places * taps) * min(size, distinct(places, taps, stride, dilation))
        return words


def distinct(places, taps, stride, dilation):
    """Points of the larger map that so many positions and taps reach."""
    return len({stride * place + dilation * tap for place in range(places) for tap in range(taps)})


def in_array(product, loops, side):
    """Loop -> how much of it lies along a side: the first takes what it can, the next one what is left."""
    out = {}
    for loop in loops:
        out[loop] = min(product.sizes[loop], side)
        side //= out[loop]
    return out


def shared(product, placed):
    """Points that ZigZag moves of the larger map, over those that we move (3.)."""
    share = 1
    for name in "whd":
        loops = name, f"tap_{name}"
        times = [ceil(product.sizes[loop] / placed.get(loop, 1)) for loop in loops]
        here = [product.sizes[loop] // time for loop, time in zip(loops, times, strict=True)]
        size, stride, dilation = product.axis(name)
        share *= min(size, distinct(*here, stride, dilation)) * prod(times) / product.size(loops)
    return share


def folds(product, loops, side, zigzag):
    if not zigzag:
        return ceil(product.size(loops) / side)
    return prod(ceil(product.sizes[loop] / part) for loop, part in in_array(product, loops, side).items())


def expected(product, array, dataflow, zigzag):
    """Cycles and words of one model."""
    ws = dataflow == "ws"
    rows, columns, stream = (product.k, product.n, product.m) if ws else (product.m, product.n, product.k)
    m, k, n = product.size(product.m), product.size(product.k), product.size(product.n)
    row_folds = folds(product, rows, array[0], zigzag)
    column_folds = folds(product, columns, array[1], zigzag)
    rests = zigzag and not ws and product.size(stream) == 1  # 4.
    words = {"left": m * k * column_folds, "right": k * n * (1 if ws or rests else row_folds),
             "written": m * n * (row_folds if ws else 1)}
    if zigzag and product.map_of_windows():
        placed = {**in_array(product, rows, array[0]), **in_array(product, columns, array[1])}
        words[product.map_of_windows()] *= shared(product, placed)
    fill = 0 if zigzag else (2 if ws else 1) * array[0] + array[1] - 2
    numbers = {"macs": m * k * n, "cycles": (product.size(stream) + fill) * row_folds * column_folds, **words}
    numbers = {key: product.groups * value for key, value in numbers.items()}
    results = product.result() if zigzag else product.groups * m * n
    return {**numbers, "read_back": numbers["written"] - results}


@pytest.fixture(scope="module", params=["stored", "package"])
def zigzag(request, tmp_path_factory):
    """ZigZag's numbers for a case: the stored ones, and the package's for our files of today, if it is installed."""
    if request.param == "stored":
        return lambda array, dataflow: oracle.read_golden()[array, dataflow]
    pytest.importorskip("zigzag", reason="ZigZag is not installed: scripts/nightly.sh zigzag")

    def run(array, dataflow):
        return oracle.run_zigzag(oracle.write_files(tmp_path_factory.mktemp("zigzag"), array, dataflow))

    return run


@pytest.mark.parametrize("array,dataflow", CASES)
def test_zigzag_counts_what_the_rules_say(zigzag, array, dataflow):
    theirs = zigzag(array, dataflow)
    assert len(LAYERS) == 20
    for layer, row in LAYERS.items():
        for name in PASSES:
            numbers = expected(Product(row, name), array, dataflow, zigzag=True)
            # ZigZag keeps shares of a loop as floats, and rounds some words.
            assert theirs[f"{layer}.{name}"] == pytest.approx(numbers, rel=1e-9, abs=1), (layer, name)


@pytest.mark.parametrize("array,dataflow", CASES)
def test_adagp_counts_what_the_rules_say(tmp_path, array, dataflow):
    machine = oracle.write_machine(tmp_path / "machine.toml", array, dataflow)
    table = oracle.write_table(tmp_path / "table.csv")
    found = run_json("--table", table, "--accelerator", machine, "--batch", oracle.BATCH, "--examples", oracle.BATCH,
                     "--products-only", "--per-layer")
    for layer in found["layers"][1:]:
        numbers = [expected(Product(LAYERS[layer["name"]], name), array, dataflow, zigzag=False) for name in PASSES]
        for name, one in zip(PASSES, numbers, strict=True):
            assert layer[f"{name}_cycles"] == one["cycles"], (layer["name"], name)
        for key, title in (("macs", "macs"), ("left", "sram_ifmap_words"), ("right", "sram_filter_words"),
                           ("written", "sram_ofmap_words"), ("read_back", "sram_sum_words")):
            assert layer[title] == sum(one[key] for one in numbers), (layer["name"], key)
    assert len(found["layers"]) == 21


def test_cutting_loops_one_by_one_never_saves_folds_and_costs_none_where_a_side_has_one_loop():
    for array, dataflow in CASES:
        for layer, row in LAYERS.items():
            for name in PASSES:
                product = Product(row, name)
                sides = (product.k, product.n) if dataflow == "ws" else (product.m, product.n)
                for loops, side in zip(sides, array, strict=True):
                    theirs, ours = (folds(product, loops, side, zigzag) for zigzag in (True, False))
                    one_loop = sum(product.sizes[loop] > 1 for loop in loops) <= 1
                    assert theirs == ours if one_loop else theirs >= ours, (array, dataflow, layer, name)
