"""The command bench: times of steps, distance to the limit."""

import csv

import pytest

from harness import adagp, as_json


def test_bench():
    result = as_json("bench", "--model", "resnet8", "--input", "8x8", "--batch", "8", "--repeats",
                     "2", "--threads", "1", "--set", "head=exact")
    forward, gp, bp = (result[k] for k in ("fw_ms", "gp_ms", "bp_ms"))
    assert min(forward, gp, bp, result["bp_train_ms"], *result["peak_mib"].values()) > 0
    assert abs(result["ratio_gp_fw"] - gp / forward) < 1e-9
    assert result["spread"]["bp_ms"][0] <= bp <= result["spread"]["bp_ms"][1]
    assert result["graph"] is False and result["device"].startswith("CPU")
    ceiling = bp / (bp + result["gp_share"] * (forward - bp))  # GP = forward, BP + predictor = BP
    assert abs(result["ceiling"] - ceiling) < 1e-9


def test_bench_roofline(tmp_path):
    """Counted work beside measured time; twice the limits halve the time at the limit."""
    picture = tmp_path / "roof.svg"
    tiny = ["bench", "--roofline", "--input", "8x8", "--batch", "4", "--repeats", "2", "--threads", "1",
            "--peak-gflops", "10"]
    slow, fast = (as_json(*tiny, "--models", "resnet8,vgg8s", "--peak-bandwidth", str(rate),
                          "--plot", picture) for rate in (1e-6, 2e-6))
    assert [network["model"] for network in slow] == ["resnet8", "vgg8s"]
    for network, other in zip(slow, fast):
        for name, step in network["steps"].items():
            kinds = step["kinds"].values()
            # Memory this slow decides the time of every piece.
            assert abs(step["limit_ms"] / other["steps"][name]["limit_ms"] - 2) < 1e-6
            assert abs(sum(kind["flops"] for kind in kinds) / step["flops"] - 1) < 1e-9
            # The kinds and `other` are the whole step.
            assert abs(sum(kind["measured_ms"] for kind in kinds) / step["measured_ms"] - 1) < 1e-6
            assert step["kinds"]["convolution"]["measured_ms"] > 0
        assert network["steps"]["gp"]["kinds"]["predictor"]["measured_ms"] > 0
        assert network["steps"]["gp"]["kinds"]["summaries"]["measured_ms"] > 0
        assert network["steps"]["bp"]["kinds"]["optimizer"]["measured_ms"] > 0
        assert "predictor" not in network["steps"]["bp"]["kinds"]
        assert network["limits"]["given"] and network["not_counted"]
    drawn = picture.read_text()
    assert all(word in drawn for word in ("<svg", "resnet8: limit", "vgg8s: limit", "convolution"))
    text = adagp(*tiny, "--model", "resnet8").stdout  # the bandwidth is measured
    assert "10.0 GFLOP/s (a product as given)" in text and "share of the limit" in text and "not counted" in text


def test_bench_roofline_wants_names():
    tiny = ["bench", "--roofline", "--input", "8x8", "--batch", "2", "--repeats", "1", "--threads", "1"]
    for none in ("", " , "):
        assert "names no network" in adagp(*tiny, "--models", none, code=2).stderr
    assert "--models" in adagp(*tiny, "--model", "vgg8s", "--models", "resnet8", code=2).stderr
    done = adagp(*tiny, "--peak-gflops", "10", "--peak-bandwidth", "1", "--models", "resnet8,vgg8s")
    assert "network 1 of 2: resnet8" in done.stderr and "network 2 of 2: vgg8s" in done.stderr
    assert "CPU, 1 thread" in done.stdout and "1 threads" not in done.stdout


def test_bench_roofline_says_first_that_a_picture_cannot_be_written(tmp_path):
    done = adagp("bench", "--roofline", "--input", "8x8", "--batch", "2", "--repeats", "1", "--models",
                 "resnet8,vgg8s", "--plot", tmp_path / "missing" / "roof.svg", code=1)
    assert "roof.svg" in done.stderr and "network 1 of 2" not in done.stderr and done.stdout == ""
    wrong = adagp("bench", "--roofline", "--models", "resnet8,no-such-net", "--plot",
                  tmp_path / "roof.svg", code=2)
    assert "no-such-net" in wrong.stderr and not list(tmp_path.iterdir())


def test_bench_roofline_names_what_a_network_computes_twice():
    tiny = ["bench", "--roofline", "--input", "8x8", "--batch", "2", "--repeats", "1", "--threads",
            "1", "--peak-bandwidth", "1", "--models", "resnet8,revnet18s"]
    plain, reversible = (network["not_counted"] for network in as_json(*tiny))
    assert [what for what in reversible if what not in plain] == [
        "the second forward pass of reversible blocks in bp and bp-train"]
    assert {network["limits"]["product"] for network in as_json(*tiny)} == {"fp32"}


def test_bench_roofline_as_csv_and_markdown():
    tiny = ["bench", "--roofline", "--input", "8x8", "--batch", "4", "--repeats", "1", "--threads", "1",
            "--peak-gflops", "10", "--peak-bandwidth", "1", "--models", "resnet8,vgg8s"]
    rows = list(csv.DictReader(adagp(*tiny, "--csv").stdout.splitlines()))
    assert {row["network"] for row in rows} == {"resnet8", "vgg8s"}
    for network in ("resnet8", "vgg8s"):
        for step in ("forward", "gp", "bp", "bp-train"):
            own = {row["kind"]: row for row in rows if (row["network"], row["step"]) == (network, step)}
            whole = own.pop("all")
            # The kinds add up to the whole, counted and measured.
            for column in ("flops", "bytes", "limit_ms", "measured_ms"):
                parts = sum(float(row[column]) for row in own.values())
                assert abs(parts / float(whole[column]) - 1) < 1e-6, (network, step, column)
    lines = adagp(*tiny, "--markdown").stdout.splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 2 * 4 and "convolution" in table[0] and table[2].startswith("| resnet8 |")


def test_bench_roofline_refuses_what_does_not_fit():
    for wrong, told in ((["--models", "resnet8"], "--roofline"),
                        (["--roofline", "--models", "resnet8,resnet9"], "resnet9"),
                        (["--roofline", "--models", ","], "names no network"),
                        (["--roofline", "--only", "bp"], "--only"),
                        (["--roofline", "--precision", "fast"], "fast"),
                        (["--roofline", "--peak-gflops", "0"], "--peak-gflops: got '0', expected a number from 1e-06"),
                        (["--roofline", "--csv", "--json"], "--json"),
                        (["--csv"], "--roofline"), (["--peak-bandwidth", "5"], "--roofline")):
        assert told in adagp("bench", "--input", "8x8", *wrong, code=2).stderr


def test_bench_of_one_step_names_nothing_that_it_did_not_measure():
    tiny = ["bench", "--model", "resnet8", "--input", "8x8", "--batch", "2", "--repeats", "2",
            "--device", "cpu"]
    for kind, name in (("forward", "forward, no graph"), ("bp", "BP "), ("bp-train", "BP + pred")):
        text = adagp(*tiny, "--only", kind).stdout
        assert name in text
        for absent in ("inf", "nan", "speed-up", "peak memory", "GP"):
            assert absent not in text, text
    assert "speed-up over BP" in adagp(*tiny).stdout


@pytest.mark.rivals
def test_bench_times_a_full_batch_of_another_method():
    tiny = ["bench", "--model", "resnet8", "--input", "8x8", "--batch", "2", "--repeats", "2"]
    assert as_json(*tiny, "--method", "modules", "--set", "modules.signal=delayed")["method_ms"] > 0
    found = as_json(*tiny, "--method", "dropback")
    assert found["method"] == "dropback" and found["method_ms"] > 0
    assert abs(found["ratio_method_bp"] - found["method_ms"] / found["bp_ms"]) < 1e-9
    text = adagp(*tiny, "--set", "method=dropback", "--only", "method").stdout
    assert "full batch of dropback" in text and "BP" not in text
    assert "method_ms" not in as_json(*tiny, "--method", "adagp")
    for wrong, told in ((["--method", "dropbak"], "dropback"), (["--only", "method"], "--method"),
                        (["--method", "auto"], "name one of them"),
                        (["--method", "dropback", "--roofline"], "--roofline")):
        assert told in adagp(*tiny, *wrong, code=2).stderr


def test_bench_takes_the_length_of_sentences():
    tiny = ["bench", "--model", "transformer", "--batch", "2", "--repeats", "2", "--threads", "1",
            "--set", "model.width=16", "--set", "model.heads=2", "--set", "model.hidden=32"]
    short, long = (as_json(*tiny, "--input", f"tokens:{n},{n}") for n in (4, 200))
    assert min(short["fw_ms"], long["fw_ms"]) > 0
    # The predictor's work is the same: its share of the forward pass falls with the words.
    ratio = short["predictor_macs_over_forward"] / long["predictor_macs_over_forward"]
    assert ratio > 50  # products of attention grow with the square
    for wrong, told in (("cifar", "tokens:SRC,TGT"), ("tokens:8,600", "model.longest")):
        refused = adagp(*tiny, "--input", wrong, code=2)
        assert told in refused.stderr
