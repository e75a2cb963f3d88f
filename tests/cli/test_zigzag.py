"""ZigZag's cost model as an oracle: MACs, cycles without stalls, and words between buffer and array.

The two models part in three places, and these tests hold the difference to the rule:

1. Folds. We cut M, K and N as wholes. ZigZag cuts the loops that they consist of one by one: 64 channels with
   3x3 taps on 12 rows are 48 folds of 576 rows, and 9 x 6 = 54 folds of channels. Every word count has the folds
   of one side as a factor, and nothing else in it differs.
2. Fill. A fold of ours takes the cycles of its stream and those in which the array fills and empties:
   2H + W - 2 (ws), H + W - 2 (os). ZigZag's takes the stream alone.
3. Sums that come back. Every word of a result is written once without being read before. For the input gradient
   we take a result for each window (M x N; windows are added elsewhere), ZigZag takes the map that windows share.
"""

import re
from math import ceil, prod

import pytest
import zigzag_oracle as oracle
from simulator import simulate

LAYERS = oracle.layers()
PASSES = ["forward", "input_gradient", "weight_gradient"]
CASES = [(array, dataflow) for array in oracle.ARRAYS for dataflow in oracle.DATAFLOWS]


def axes(row):
    """Depth, height, width: positions (of the smaller map), taps, size of the larger map, stride, dilation."""
    small, large = ("in", "out") if row["op"] == "conv_transpose" else ("out", "in")
    return [(row[f"{small}_{a}"], row[f"kernel_{a}"], row[f"{large}_{a}"], row[f"stride_{a}"], row[f"dilation_{a}"])
            for a in "dhw"]


def loops(row, name):
    """M, K and N of a product as lists of loops, and its groups."""
    groups, inputs, outputs = row["groups"], row["in_c"] // row["groups"], row["out_c"] // row["groups"]
    places = [axis[0] for axis in axes(row)][::-1]
    taps = [axis[1] for axis in axes(row)][::-1]
    if row["op"] == "matmul":  # every example is a group
        groups *= oracle.BATCH
    else:
        places.append(oracle.BATCH)
    m, k, n = places, [inputs], [outputs]
    (n if row["op"] == "conv_transpose" else k).extend(taps)
    if name == "input_gradient":
        k, n = n, k
    elif name == "weight_gradient":
        m, k = k, m
    return m, k, n, groups


def cut_one_by_one(sizes, side):
    """Folds when the first loop takes as much of a side as it can, the next one what is left, ..."""
    folds = 1
    for size in sizes:
        taken = min(size, side)
        folds *= ceil(size / taken)
        side //= taken
    return folds


def touched(axis):
    """Points of the larger map that windows reach, padding taken for points until the map is full."""
    places, taps, size, stride, dilation = axis
    reached = {stride * place + dilation * tap for place in range(places) for tap in range(taps)}
    return min(size, len(reached))


def result_words(row, name):
    """Of the tensor that is written."""
    if row["op"] == "matmul" or name == "weight_gradient":
        m, _, n, groups = loops(row, name)
        return prod(m) * prod(n) * groups
    larger = (name == "forward") == (row["op"] == "conv_transpose")
    channels = row["out_c" if name == "forward" else "in_c"]
    return oracle.BATCH * channels * prod(touched(a) if larger else a[0] for a in axes(row))


def expected_of_zigzag(row, name, array, dataflow):
    """By the rules above: numbers, and how many folds it has for one of ours."""
    m, k, n, groups = loops(row, name)
    rows, columns, stream = (k, n, m) if dataflow == "ws" else (m, n, k)
    row_folds, column_folds = cut_one_by_one(rows, array[0]), cut_one_by_one(columns, array[1])
    words = {"left": prod(m) * prod(k) * column_folds,
             "right": prod(k) * prod(n) * (1 if dataflow == "ws" else row_folds),
             "written": prod(m) * prod(n) * (row_folds if dataflow == "ws" else 1)}
    numbers = {"macs": prod(m) * prod(k) * prod(n), "cycles": prod(stream) * row_folds * column_folds, **words}
    numbers = {key: groups * value for key, value in numbers.items()}
    numbers["read_back"] = numbers["written"] - result_words(row, name)
    ours = ceil(prod(rows) / array[0]), ceil(prod(columns) / array[1])
    return numbers, (row_folds / ours[0], column_folds / ours[1])


def ours(folder, array, dataflow, layer):
    """Pass -> numbers of adagp simulate --explain."""
    machine = oracle.write_machine(folder / "machine.toml", array, dataflow)
    text = simulate("--table", oracle.write_table(folder / "table.csv"), "--accelerator", machine, "--batch",
                    oracle.BATCH, "--examples", oracle.BATCH, "--explain", layer).stdout
    text = text.partition("\npredictor,")[0]
    macs = re.findall(r"MACs = M\*K\*N(?:\*groups)? = (\d+)", text)
    cycles = re.findall(r"cycles = ceil.*\n.*\n.* = (\d+)\n", text)
    words = re.findall(r"buffer words: ifmap (\d+), filter (\d+), ofmap (\d+)(?:, sums read back (\d+))?", text)
    return [dict(zip(oracle.NUMBERS, map(int, [a, b, *(word or 0 for word in c)]), strict=True))
            for a, b, c in zip(macs, cycles, words, strict=True)]


@pytest.fixture(scope="module", params=["golden", "package"])
def zigzag(request, tmp_path_factory):
    """Numbers of ZigZag for a case: those that are stored, and those of the package, if it is installed."""
    if request.param == "golden":
        return lambda array, dataflow: oracle.read_golden()[array, dataflow]
    pytest.importorskip("zigzag", reason="ZigZag is not installed (scripts/nightly.sh zigzag)")
    found = {}

    def run(array, dataflow):
        if (array, dataflow) not in found:
            folder = tmp_path_factory.mktemp("zigzag")
            found[array, dataflow] = oracle.run_zigzag(oracle.write_files(folder, array, dataflow))
        return found[array, dataflow]

    return run


@pytest.mark.parametrize("array,dataflow", CASES)
def test_zigzag_counts_what_the_rules_say(zigzag, array, dataflow):
    theirs = zigzag(array, dataflow)
    assert len(LAYERS) == 20
    for layer, row in LAYERS.items():
        for name in PASSES:
            expected, _ = expected_of_zigzag(row, name, array, dataflow)
            assert theirs[f"{layer}.{name}"] == expected, (layer, name)


@pytest.mark.parametrize("array,dataflow", CASES)
def test_our_numbers_are_zigzags_but_for_folds_fill_and_shared_windows(tmp_path, array, dataflow):
    theirs = oracle.read_golden()[array, dataflow]
    equal_folds = 0
    for layer, row in LAYERS.items():
        for name, our in zip(PASSES, ours(tmp_path, array, dataflow, layer), strict=True):
            their = theirs[f"{layer}.{name}"]
            m, k, n, groups = loops(row, name)
            _, (by_rows, by_columns) = expected_of_zigzag(row, name, array, dataflow)
            where = layer, name
            assert their["macs"] == our["macs"], where
            assert their["left"] == pytest.approx(our["left"] * by_columns), where
            assert their["right"] == pytest.approx(our["right"] * (by_rows if dataflow == "os" else 1)), where
            assert their["written"] == pytest.approx(our["written"] * (by_rows if dataflow == "ws" else 1)), where
            stream = prod(m if dataflow == "ws" else k)
            fill = (2 if dataflow == "ws" else 1) * array[0] + array[1] - 2
            assert their["cycles"] == pytest.approx(our["cycles"] * stream / (stream + fill) * by_rows * by_columns)
            # Words that are written for the first time: each result, or each point of the map.
            assert our["written"] - our["read_back"] == groups * prod(m) * prod(n), where
            assert their["written"] - their["read_back"] == result_words(row, name), where
            equal_folds += by_rows == by_columns == 1
    assert equal_folds >= 20  # the first rule is no excuse for everything
