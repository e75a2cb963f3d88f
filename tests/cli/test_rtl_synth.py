"""rtl/tools/synth.py on a machine of a few lines, whose resources can be counted by hand."""

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "rtl/tools"))
from resources import BadInput, Library, Mapped, increment, source_name, xilinx_resources  # noqa: E402

NEEDS_YOSYS = pytest.mark.skipif(not shutil.which("yosys"),
                                 reason="Yosys is not installed (scripts/setup.sh --sim --synth)")

LIBERTY = """library (tiny) {
  cell (INV)  { area : 1.5; pin (A) { direction : input; } pin (Y) { direction : output; function : "!A"; } }
  cell (NAND) { area : 2;
    pin (A) { direction : input; } pin (B) { direction : input; }
    pin (Y) { direction : output; function : "!(A B)"; } }
  /* cell (GONE) { area : 99; ff (x, y) {} } */
  cell ("REG") { area : 10;
    ff (IQ, IQN) { next_state : "D"; clocked_on : "CK"; }
    pin (D) { direction : input; } pin (CK) { direction : input; clock : true; }
    pin (Q) { direction : output; function : "IQ"; } }
}
"""

# DESIGN d has 8 + 4 d flip-flops, one multiplier (two in MAX) and one bank of 4096 x 16 bits
# (two from Efficient on): every number below follows.
TOP = """module adagp_top #(parameter int DESIGN = 0, parameter int ROWS = 1, parameter int COLS = 1,
  parameter int PROWS = 1, parameter int PCOLS = 1, parameter int FORMAT = 0, parameter int PMODES = 0) (
  input logic clk, input logic [15:0] a, input logic [15:0] b, output logic [31:0] y, output logic [31:0] z,
  output logic [31:0] q);
  logic [7+4*DESIGN:0] r;
  always_ff @(posedge clk) r <= {b, a};
  assign q = 32'(r);
  times u (.a(a), .b(b), .y(y));
  logic [15:0] rd;
  bank #(.BITS(16), .ADDRESS_BITS(12)) m (
    .clk(clk), .we(a[0]), .wa(b[11:0]), .wd(a), .re(1'b1), .ra(a[11:0]), .rd(rd));
  logic [15:0] rd2;
  generate
    if (DESIGN >= 2) begin : g_memory
      bank #(.BITS(16), .ADDRESS_BITS(12)) m2 (
        .clk(clk), .we(a[1]), .wa(b[11:0]), .wd(a), .re(1'b1), .ra(a[11:0]), .rd(rd2));
    end else begin : g_none
      assign rd2 = 16'd0;
    end
    if (DESIGN == 3) begin : g_array
      times u2 (.a(rd), .b(rd2), .y(z));
    end else begin : g_no_array
      assign z = {rd, rd2};
    end
  endgenerate
endmodule
"""
TIMES = "module times (input logic [15:0] a, input logic [15:0] b, output logic [31:0] y);" \
        " assign y = $signed(a) * $signed(b); endmodule\n"


@pytest.fixture
def rtl(tmp_path):
    folder = tmp_path / "rtl"
    folder.mkdir()
    shutil.copy(ROOT / "rtl/bank.sv", folder)
    (folder / "times.sv").write_text(TIMES)
    (folder / "top.sv").write_text(TOP)
    (folder / "files.txt").write_text("bank.sv\ntimes.sv\ntop.sv\n")
    return folder


def synth(rtl, *more, code=0):
    done = subprocess.run([sys.executable, ROOT / "rtl/tools/synth.py", "--rtl", rtl, "-o", rtl.parent / "out",
                           *map(str, more)], text=True, capture_output=True)
    assert done.returncode == code, done.stderr
    return done


@NEEDS_YOSYS
def test_counts_are_those_of_the_source(rtl):
    done = synth(rtl, "--formats", "fixed", "--targets", "xc7")
    rows = list(csv.DictReader(open(rtl.parent / "out/resources.csv")))
    found = {(row["design"], row["resource"]): row for row in rows}
    for number, design in enumerate(("baseline", "low", "efficient", "max")):
        expected = {"FF": 8 + 4 * number, "DSP48E1": 1 + (number == 3), "RAMB36": 2 * (1 + (number >= 2)),
                    "memory bits": 65536 * (1 + (number >= 2))}
        for resource, count in expected.items():
            row = found[design, resource]
            assert float(row["count"]) == count, (design, resource)
            base = float(found["baseline", resource]["count"])
            assert float(row["percent_over_baseline"]) == pytest.approx(100 * (count / base - 1), abs=0.005)
    assert "s in all" in done.stdout and "GB" in done.stdout
    modules = list(csv.DictReader(open(rtl.parent / "out/modules.csv")))
    times = [row for row in modules if row["module"] == "times" and row["resource"] == "DSP48E1"]
    assert {row["design"]: row["instances"] for row in times} == {
        "baseline": "1", "low": "1", "efficient": "1", "max": "2", "max-three-modes": "2"}


@NEEDS_YOSYS
def test_cells_leave_the_banks_out(rtl, tmp_path):
    second = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
    if not second.exists():
        pytest.skip("the distribution's cell libraries are not installed (scripts/setup.sh --sim --synth)")
    shutil.copy(second, tmp_path / "other.lib")
    synth(rtl, "--formats", "fixed", "--targets", "cells", "--designs", "low", "--liberty", tmp_path / "other.lib")
    rows = csv.DictReader(open(rtl.parent / "out/resources.csv"))
    found = {(row["design"], row["target"], row["resource"]): float(row["count"]) for row in rows}
    for target, area in (("other", 96), ("osu035", 384)):
        assert found["low", target, "flip-flops"] == 12  # 12 registers; a bank would add 65536
        assert found["low", target, "sequential area"] == 12 * area
        assert found["low", target, "cell area"] == (found["low", target, "sequential area"] +
                                                     found["low", target, "combinational area"])


@NEEDS_YOSYS
def test_what_yosys_refuses_is_said_with_its_words(rtl):
    (rtl / "times.sv").write_text("module times (input logic a; endmodule\n")
    said = synth(rtl, "--targets", "xc7", code=3).stderr
    assert "times.sv" in said and "ERROR" in said and "Traceback" not in said


def test_wrong_options_and_files(rtl, tmp_path):
    assert "no array" in synth(rtl, "--array", "0x5", code=2).stderr
    assert "'medium' is unknown" in synth(rtl, "--designs", "medium", code=2).stderr
    assert "NAME=NUMBER" in synth(rtl, "--set", "LX", code=2).stderr
    assert "cannot be read" in synth(rtl, "--liberty", tmp_path / "none.lib", code=3).stderr
    (rtl / "top.sv").unlink()
    assert "top.sv is missing" in synth(rtl, "--targets", "xc7", code=3).stderr
    (rtl / "files.txt").write_text("times.sv\n")
    assert "no bank.sv" in synth(rtl, "--targets", "xc7", code=3).stderr


def test_place_and_route_says_what_is_missing():
    done = subprocess.run([sys.executable, ROOT / "rtl/tools/place.py", "--nextpnr", "/none/nextpnr"], text=True,
                          capture_output=True)
    assert done.returncode == 3 and "is missing" in done.stderr and "Traceback" not in done.stderr


def test_a_library_without_flip_flops_is_refused(tmp_path):
    path = tmp_path / "a.lib"
    path.write_text(LIBERTY)
    library = Library(path)
    assert library.area == {"INV": 1.5, "NAND": 2, "REG": 10} and library.sequential == {"REG"}
    assert library.resources({"INV": 2, "REG": 3, "bank": 7}) == {
        "combinational area": 3, "sequential area": 30, "cell area": 33, "flip-flops": 3}
    path.write_text("PNG\0\1\2")
    with pytest.raises(BadInput, match="0 cells"):
        Library(path)


def test_a_total_is_the_sum_over_the_tree():
    stat = {"top": {"num_cells_by_type": {"$paramod$0f\\pe": 6, "LUT6": 2, "FDRE": 1}},
            "$paramod$0f\\pe": {"num_cells_by_type": {"\\mac": 1, "LUT2": 3, "INV": 5}},
            "mac": {"num_cells_by_type": {"DSP48E1": 1, "FDSE": 2}},
            "other": {"num_cells_by_type": {"LUT1": 1000}}}
    mapped = Mapped(stat, xilinx_resources)
    assert mapped.total("top") == {"LUT": 20, "FF": 13, "DSP48E1": 6}
    assert mapped.by_source("top")["pe"] == [6, {"LUT": 18}]
    assert source_name("$paramod\\pe\\FORMAT=s32'1") == source_name("$paramod$0f\\pe") == source_name("pe")
    assert increment(3, 2) == 50 and increment(3, 0) is None
    with pytest.raises(BadInput, match="no module 'none'"):
        mapped.total("none")


def test_the_pictures_are_those_of_the_script():
    subprocess.run([sys.executable, ROOT / "rtl/tools/draw_hardware.py", "--check"], check=True)


@pytest.mark.skipif(not shutil.which("verilator"), reason="Verilator is not installed (make test WHAT=rtl)")
def test_the_waveform_is_what_the_rtl_does(tmp_path):
    """The script itself stops when the array gives another product or the cycles are not the counter's."""
    subprocess.run([sys.executable, ROOT / "rtl/tools/draw_tile.py", tmp_path / "tile.svg"], check=True)
    assert (tmp_path / "tile.svg").read_text() == (ROOT / "docs/img/hardware-tile.svg").read_text()


def test_the_document_has_the_numbers_of_the_committed_run():
    """docs/hardware.md: counts and increments by hand would drift from docs/results/*-rtl-resources.csv."""
    newest = max((ROOT / "docs/results").glob("*-rtl-resources.csv"))
    found = {(r["format"], r["target"], r["resource"], r["design"]): r for r in csv.DictReader(open(newest))}
    lines = [[cell.strip() for cell in line.strip("|\n").split("|")]
             for line in open(ROOT / "docs/hardware.md") if line.startswith("|")]
    counts = [cells for cells in lines if cells[0] in ("fixed", "bf16")]
    assert len(counts) == 18
    for number_format, target, resource, *cells in counts:
        for design, cell in zip(("baseline", "low", "efficient", "max", "max-three-modes"), cells):
            row = found[number_format, target, resource, design]
            assert cell.split(" (")[0].replace(" ", "") == f"{float(row['count']):.0f}", (resource, design)
            if design != "baseline" and row["percent_over_baseline"]:
                assert f"({float(row['percent_over_baseline']):+.1f} %)" in cell, (resource, design)
    places = {"LUT": ("xc7", "LUT"), "FF": ("xc7", "FF"), "RAMB36": ("xc7", "RAMB36"), "DSP": ("xc7", "DSP48E1"),
              "combinational area": ("osu035", "combinational area"),
              "sequential area": ("osu035", "sequential area"), "cell area": ("osu035", "cell area")}
    compared = [cells for cells in lines if cells[0] in places and len(cells) == 5]
    assert len(compared) == len(places)
    for name, _, fixed, bf16, _ in compared:
        for number_format, cell in (("fixed", fixed), ("bf16", bf16)):
            ours = [f"{float(found[(number_format, *places[name], d)]['percent_over_baseline']):+.1f}"
                    for d in ("low", "efficient", "max")]
            assert cell == " / ".join(ours), (name, number_format)
