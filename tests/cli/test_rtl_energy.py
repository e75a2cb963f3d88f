"""rtl/tools/energy.py: toggles times energies, on circuits and waveforms that can be computed by hand."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "rtl/tools"))
import energy  # noqa: E402
import gate_netlist  # noqa: E402
from liberty import BadInput, CellLibrary, Group, Table  # noqa: E402
from switching import delays, picojoules, toggle_energies, toggles  # noqa: E402

# 2 V: a toggle of a pin of 0.5 pF takes 1 pJ. INV's output takes 0.2 pJ without a load, 0.4 with 0.2 pF.
LIBERTY = """library (tiny) {
  nom_voltage : 2; capacitive_load_unit (1, pf);
  cell (INV) { area : 1; pin (A) { direction : input; capacitance : 0.5; }
    pin (Y) { direction : output; function : "(!A)";
      internal_power () { related_pin : "A";
        rise_power (t) { index_1 ("0.0, 0.2"); index_2 ("0.1, 0.3"); values ("0.2, 0.2", "0.4, 0.4"); }
        fall_power (t) { index_1 ("0.0, 0.2"); index_2 ("0.1, 0.3"); values ("0.0, 0.0", "0.2, 0.2"); } } } }
  cell (NAND) { area : 2;
    pin (A) { direction : input; capacitance : 0.5; } pin (B) { direction : input; capacitance : 0.5; }
    pin (Y) { direction : output; function : "(!(A B))"; } }
  cell (NOR) { area : 2;
    pin (A) { direction : input; capacitance : 0.5; } pin (B) { direction : input; capacitance : 0.5; }
    pin (Y) { direction : output; function : "(!(A+B))"; } }
  cell (BUF) { area : 2; pin (A) { direction : input; capacitance : 0.5; }
    pin (Y) { direction : output; function : "A"; } }
  /* cell (GONE) { area : 9; } */
  cell (REG) { area : 10;
    ff (IQ, IQN) { next_state : "D"; clocked_on : "CK"; }
    pin (D) { direction : input; capacitance : 0.1; }
    pin (CK) { direction : input; clock : true; capacitance : 0.25;
      internal_power () { rise_power (p) { index_1 ("0.1, 0.3"); values ("1, 3"); }
                          fall_power (p) { index_1 ("0.1, 0.3"); values ("0, 0"); } } }
    pin (Q) { direction : output; function : "IQ"; } }
}
"""


@pytest.fixture
def library(tmp_path):
    path = tmp_path / "tiny.lib"
    path.write_text(LIBERTY)
    return path


def netlist(a, inverted, q, clock):
    cells = {"front.$abc$1": {"type": "INV", "connections": {"A": [a], "Y": [inverted]}},
             "back.$dff$2": {"type": "REG", "connections": {"D": [inverted], "CK": [clock], "Q": [q]}}}
    return gate_netlist.Netlist({"ports": {}, "netnames": {}, "cells": cells})


def waveform(a, inverted, q, clock):
    """Codes ! clk, " a, # inverted, $ q: q takes the inverted value of a at each of two rising edges."""
    names = ("!", clock), ('"', a), ("#", inverted), ("$", q)
    head = ["$scope module TOP $end", "$var wire 1 ! clk $end", "$var wire 2 & state [1:0] $end",
            "$scope module adagp_top $end", "$scope begin s0 $end",
            *(f"$var wire 1 {code} n{wire} $end" for code, wire in names),
            "$upscope $end", "$upscope $end", "$upscope $end", "$enddefinitions $end"]
    body = ["#0", "b00 &", "0!", '0"', "1#", "0$",
            "#1", "1!", "1$",  # in state 0: the clock rises once, q rises once
            "#2", "0!", '1"', "0#", "b01 &",  # ... the clock falls, a rises, its inverse falls
            "#3", "1!", "0$",  # in state 1: the clock rises, q falls
            "#4", "0!", '0"', "1#"]  # ... the clock falls, a falls, its inverse rises
    return [line + "\n" for line in head + body]


# INV: a's pin 1 pJ; its output with 0.1 pF behind it 0.3 (rise) and 0.1 (fall).
# REG: D 0.2 pJ; CK 0.5 pJ and, at 0.2 ns, 2 more when it rises; Q has no energy.
BY_HAND = {0: {"front": 1 + 0.1, "back": 0.2 + 0.5 + 2 + 0.5}, 1: {"front": 1 + 0.3, "back": 0.2 + 0.5 + 2 + 0.5}}


def check(circuit, lines, library):
    counts, cycles, wires = toggles(lines, ("state",), lambda values: values["state"])
    energies = toggle_energies(circuit, library, lambda path: path, slew=0.2)
    assert cycles == {0: 1, 1: 1}
    for state, units in BY_HAND.items():
        found = picojoules(counts[state], wires, energies)
        assert {unit: pytest.approx(energy) for unit, energy in units.items()} == found


def test_known_toggles_take_the_energy_computed_by_hand(library):
    check(netlist(5, 6, 7, 2), waveform(5, 6, 7, 2), CellLibrary(library))


@pytest.mark.skipif(not shutil.which("yosys"), reason="Yosys is not installed (scripts/setup.sh --sim --synth)")
def test_the_cells_of_yosys_take_the_same(library, tmp_path):
    rtl = tmp_path / "rtl"
    rtl.mkdir()
    (rtl / "files.txt").write_text("bank.sv\nparts.sv\ntop.sv\n")
    shutil.copy(ROOT / "rtl/bank.sv", rtl)
    (rtl / "parts.sv").write_text("module inverter (input logic a, output logic y); assign y = ~a; endmodule\n"
                                  "module register (input logic clk, input logic d, output logic q);"
                                  " always_ff @(posedge clk) q <= d; endmodule\n")
    (rtl / "top.sv").write_text("module adagp_top (input logic clk, input logic a, output logic q); logic y;"
                                " inverter front (.a(a), .y(y)); register back (.clk(clk), .d(y), .q(q)); endmodule\n")
    found = gate_netlist.run_yosys(tmp_path, gate_netlist.yosys_script(rtl, {}, library))
    assert sorted(kind for kind, _ in found.cells.values()) == ["INV", "REG"]
    port = {name: bits[0] for name, (_, bits) in found.ports.items()}
    inverted = next(pins["Y"] for kind, pins in found.cells.values() if kind == "INV")
    check(found, waveform(port["a"], inverted, port["q"], port["clk"]), CellLibrary(library))


GLITCH_BENCH = """`timescale 1ns/1ps
module TOP; reg clk = 0; reg a = 0; wire y; adagp_top dut (.a(a), .y(y));
  initial begin $dumpfile("a.vcd"); $dumpvars(1, TOP); $dumpvars(2, TOP.dut);
    #10 a = 1; #10 a = 0; #10 clk = 1; #10 $finish; end
endmodule
"""


@pytest.mark.skipif(not shutil.which("iverilog"), reason="Icarus Verilog is not installed (setup.sh --sim --synth)")
def test_a_wire_glitches_where_gates_need_time(library, tmp_path):
    """y = !(a & !a) is always 1, but for the time that the inverter needs after a rises: 2 ns with 0.5 pF."""
    cells = {"i": {"type": "INV", "connections": {"A": [2], "Y": [3]}},
             "n": {"type": "NAND", "connections": {"A": [2], "B": [3], "Y": [4]}}}
    ports = {"a": {"direction": "input", "bits": [2]}, "y": {"direction": "output", "bits": [4]}}
    circuit = gate_netlist.Netlist({"ports": ports, "netnames": {}, "cells": cells})
    tiny = CellLibrary(library)
    tiny.cells["INV"].pins["Y"].delays = [Table(Group("t", [], {"index_1": ["0, 1"], "index_2": ["0, 1"],
                                                                "values": ["1, 1", "3, 3"]}))]
    late = delays(circuit, tiny)
    assert late == {"i": pytest.approx(2), "n": 0}
    (tmp_path / "bench.sv").write_text(GLITCH_BENCH)
    for given, expected in ((late, 2), (None, 0)):
        (tmp_path / "dut.sv").write_text(gate_netlist.model(circuit, tiny, given))
        subprocess.run(["iverilog", "-g2012", "-o", "a", "bench.sv", "dut.sv"], cwd=tmp_path, check=True)
        subprocess.run(["vvp", "-n", "a"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
        with open(tmp_path / "a.vcd") as lines:
            counts, _, wires = toggles(lines, ("y",), lambda values: "all")
        code = next(code for code, names in wires.items() if 4 in names)
        assert counts["all"]["0" + code] + counts["all"]["1" + code] == expected


def test_an_events_energy_is_what_lies_above_the_stopped_machine():
    names = {step for step, *_ in energy.EVENTS} | {"weights"}
    cycles = {"stopped": 10, **dict.fromkeys(names, 130)}
    idle = {"stopped": {"PE": 10 * 12.0}}  # 12 pJ a cycle; no other unit has a clock here
    found = {**idle, **{step: {"PE": 130 * 12.0} for step in names}}
    found["forward"] = {"PE": 130 * 12 + energy.N * energy.ROWS * energy.COLS * 7.0, "memory ports": 240.0}
    result = dict(energy.events(found, cycles))
    assert result["MAC, forward"] == pytest.approx(7) and result["MAC, input gradient"] == pytest.approx(0)
    assert result["row of the main array beside its PEs"] == pytest.approx(240 / energy.N)
    assert result["stopped, a cycle: PE, each"] == pytest.approx(12 / (energy.ROWS * energy.COLS))


def test_functions_become_expressions():
    pins = {"A": 3, "B": 4, "C": "1", "S": 5}
    assert gate_netlist.expression("(!((A B)+C))", pins) == "(~((s0.n3 & s0.n4)|1'b1))"
    assert gate_netlist.expression("(!((S A) + (!S B)))", pins) == "(~((s0.n5 & s0.n3) | (~s0.n5 & s0.n4)))"
    assert gate_netlist.expression("((A^B)^C)", pins) == "((s0.n3^s0.n4)^1'b1)"
    assert gate_netlist.expression("A' B", pins) == "(~s0.n3) & s0.n4"
    assert gate_netlist.path_of("$flatten\\main.\\cells.\\g_row[0].\\c.$abc$12$auto$34") == "main.cells.g_row[0].c"
    assert gate_netlist.path_of("main.cells.$abc$12") == "main.cells"


def test_a_table_is_linear_between_its_points():
    table = Table(Group("t", [], {"index_1": ["0, 2"], "index_2": ["1, 3"], "values": ["0, 4", "2, 10"]}))
    assert table.at(0, 1) == 0 and table.at(2, 3) == 10 and table.at(1, 1) == 1 and table.at(1, 2) == 4
    assert table.at(9, 9) == 10 and table.at(-1, -1) == 0


def test_what_is_no_library_is_refused(tmp_path):
    path = tmp_path / "a.lib"
    for text in ("PNG\0\1", "library (x) { nom_voltage : 1; }", LIBERTY.replace("(1, pf)", "(1, ff)")):
        path.write_text(text)
        with pytest.raises(BadInput, match="a.lib"):
            CellLibrary(path)
    done = subprocess.run([sys.executable, ROOT / "rtl/tools/energy.py", "--formats", "fp8"], text=True,
                          capture_output=True)
    assert done.returncode == 2 and "'fp8' is unknown" in done.stderr


def test_a_latch_and_an_unknown_cell_are_refused(library):
    cells = CellLibrary(library)
    cells.cells["INV"].latch = True
    with pytest.raises(BadInput, match="latch"):
        gate_netlist.cell_line("x", cells.cells["INV"], {"A": 1, "Y": 2})
    del cells.cells["INV"]
    with pytest.raises(BadInput, match="'INV'"):
        gate_netlist.model(netlist(5, 6, 7, 2), cells)
