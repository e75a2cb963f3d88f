"""adagp simulate: wrong flags and broken files are refused with their place."""

import pytest
from simulator import simulate, topology, write_table


def refused(*args, code, words):
    err = simulate(*args, code=code).stderr
    for word in words:
        assert word in err, err


@pytest.mark.parametrize("args,words", [
    ([], ["--model", "--table", "--topology"]),
    (["--model", "resnet5"], ["did you mean 'resnet50'"]),
    (["--model", "resnet50", "--input", "cifar10"], ["imagenet", "cifar"]),
    (["--model", "resnet50", "--array", "0x4"], ["--array", "0x4"]),
    (["--model", "resnet50", "--array", "12by15"], ["--array", "12by15"]),
    (["--model", "resnet50", "--batch", "8..4"], ["--batch", "8..4"]),
    (["--model", "resnet50", "--batch", "-1"], ["--batch"]),
    (["--model", "resnet50", "--dataflow", "wss"], ["wss", "ws"]),
    (["--model", "resnet50", "--designs", "maxx"], ["did you mean 'max'"]),
    (["--model", "resnet50", "--epochs", "0"], ["--epochs"]),
    (["--model", "resnet50", "--accelerator", "eyeris"], ["did you mean 'eyeriss'"]),
    (["--model", "resnet50", "--set", "clock=1"], ["clock"]),
    (["--model", "resnet50", "--explain", "layer1.0.conv9"], ["layer1.0.conv"]),
    (["--model", "resnet50,vgg13_bn", "--per-layer"], ["--per-layer", "--json", "got 2 runs"]),
    (["--model", "resnet50,vgg13_bn", "--explain", "conv1"], ["--explain", "got 2"]),
    (["--model", "resnet50", "--per-layer", "--pareto", "cycles,energy"], ["--per-layer", "--pareto"]),
    (["--model", "resnet50", "--pareto", "cycles"], ["--pareto"]),
    (["--model", "resnet50", "--pareto", "cycles,enrgy"], ["did you mean 'energy'"]),
    (["--model", "resnet50", "--schedule", "4:x"], ["4:x"]),
])
def test_wrong_flags_are_usage_errors(args, words):
    refused(*args, code=2, words=words)


def test_an_input_without_a_known_size_needs_examples(tmp_path):
    table = write_table(tmp_path / "t.csv", [("a", 3, 8, 4)])
    refused("--table", table, code=2, words=["--examples"])
    simulate("--table", table, "--examples", 100)


@pytest.mark.parametrize("edit,words", [
    (lambda t: t.replace(",3,8,8,10,", ",0,8,8,10,"), ["in_c", "0"]),
    (lambda t: t.replace(",3,8,8,10,", ",-3,8,8,10,"), ["in_c", "-3"]),
    (lambda t: t.replace(",3,8,8,10,", ",three,8,8,10,"), ["in_c", "three"]),
    (lambda t: t.replace(",1,1,1,1,1,", ",1,1,1,1,2,", 1), ["groups"]),
    (lambda t: t.replace(",b,", ",a,"), ["a"]),
    (lambda t: t.replace(",in_w", ""), [":1"]),
    (lambda t: "", ["t.csv"]),
    (lambda t: t.splitlines()[0] + "\n", ["t.csv"]),
    (lambda t: t.replace(",3,8,8,10,", ",3037000500,3037000500,8,10,"), [":2"]),
    (lambda t: t.replace(",3,3,1,1,1,1,1,", ",30,30,1,1,1,1,1,", 1), [":2"]),
])
def test_bad_tables_are_data_errors_with_their_place(tmp_path, edit, words):
    path = write_table(tmp_path / "t.csv", [("a", 3, 8, 10), ("b", 10, 8, 7)])
    simulate("--table", path, "--examples", 10)
    path.write_text(edit(path.read_text()))
    refused("--table", path, "--examples", 10, code=3, words=["t.csv", *words])


def test_missing_files_are_named(tmp_path):
    refused("--table", tmp_path / "none.csv", code=3, words=["none.csv"])
    refused("--topology", tmp_path / "none.csv", code=3, words=["none.csv"])


def test_names_that_are_no_utf8_are_refused_with_their_place(tmp_path):
    table = write_table(tmp_path / "t.csv", [("a", 3, 8, 10), ("b", 10, 8, 7)])
    table.write_bytes(table.read_bytes().replace(b",b,conv2d", b",Convoluci\xf3n,conv2d"))
    refused("--table", table, "--examples", 10, "--json", code=3,
            words=["t.csv:3: column 3 (name)", "byte 10", "UTF-8"])
    net = topology(tmp_path / "net.csv", [["conv", 8, 8, 3, 3, 4, 8, 1]])
    net.write_bytes(net.read_bytes().replace(b"conv,", b"co\xffnv,"))
    refused("--topology", net, "--inference", code=3, words=["net.csv:2:3:", "UTF-8"])


def test_large_ranges_are_refused_at_once():
    for flags in (["--batch", "1..1000000"], ["--array", "1..65536x1..65536"],
                  ["--array", "1..1000x1..1000", "--dataflow", "ws,os"]):
        refused("--model", "resnet50", *flags, code=2, words=["1000000"])


def test_too_many_runs_for_a_picture(tmp_path):
    sweep = ["--model", "resnet8", "--input", "cifar", "--array", "1..15x1..15", "--plot",
             tmp_path / "a.svg"]
    refused(*sweep, code=2, words=["--plot", "200"])
    simulate(*sweep, "--pareto", "cycles,pes")
    assert (tmp_path / "a.svg").exists()


def test_too_many_epochs_are_named():
    refused("--model", "resnet8", "--input", "cifar", "--epochs", 2**63 - 1, code=2,
            words=["--epochs", "1 to 1000000"])


def test_explain_says_that_it_prints_text():
    for flag in (["--json"], ["--csv"], ["--per-layer"]):
        refused("--model", "resnet8", "--input", "cifar", "--explain", "conv1", *flag, code=2,
                words=["--explain", "--per-layer"])
