"""A machine as cells of a library: Yosys maps it, and the cells' functions make a model to simulate.

rtl/sim/bench.sv runs programs on it. Every wire is one signal n<number> in a scope s<number>; memory banks
stay what they are in rtl/bank.sv.
"""

import json
import re
import subprocess

from liberty import BadInput
from synth import BANK, ROOT, TOP, sources

BLOCK = 256  # wires of a scope: Icarus Verilog looks through all of a scope for each use of one


class Netlist:
    """Cells: {name: (type, {pin: wire})}; a wire is a number, or '0', '1', 'x'."""

    def __init__(self, module):
        self.ports = {name: (port["direction"], port["bits"]) for name, port in module["ports"].items()}
        self.names = {name: net["bits"] for name, net in module["netnames"].items()}
        self.cells, self.banks = {}, {}
        for name, cell in module["cells"].items():
            if cell["type"] == "bank":
                self.banks[name] = cell
            else:
                self.cells[name] = (cell["type"], {pin: bits[0] for pin, bits in cell["connections"].items()})


def path_of(name):
    """'$flatten\\main.\\array.$abc$12$34' -> 'main.array': the instance in which a cell stands."""
    parts = re.sub(r"^\$flatten", "", name).replace("\\", "").split(".")
    return ".".join(part for part in parts[:-1] if not part.startswith("$"))


def yosys_script(rtl, values, library):
    lines = [f"read_verilog -sv {'-lib ' if path.name == BANK else ''}{path}" for path in sources(rtl)]
    given = " ".join(f"-chparam {name} {value}" for name, value in values.items())
    return "\n".join([*lines, f"hierarchy -check -top {TOP} {given}", f"rename -top {TOP}", f"synth -top {TOP}",
                      f"dfflibmap -liberty {library}", f"abc -liberty {library}", "flatten", "opt_clean",
                      "write_json netlist.json", ""])


def run_yosys(folder, script):
    (folder / "cells.ys").write_text(script)
    with open(folder / "cells.log", "w") as log:
        done = subprocess.run(["yosys", "-Q", "cells.ys"], cwd=folder, stdout=log, stderr=log)
    if done.returncode != 0:
        errors = [line for line in (folder / "cells.log").read_text(errors="replace").splitlines() if "ERROR" in line]
        raise BadInput(f"Yosys: {(errors or ['it failed'])[0]} (log: {folder / 'cells.log'})")
    return Netlist(json.loads((folder / "netlist.json").read_text())["modules"][TOP])


def wire(bit):
    return f"s{bit // BLOCK}.n{bit}" if isinstance(bit, int) else f"1'b{0 if bit == 'x' else bit}"


def expression(function, pins):
    """A Liberty function over wires: a space is AND, + is OR, a quote behind a name is NOT."""
    text = re.sub(r"(\w+)\s*'", r"(!\1)", function)
    text = re.sub(r"(?<=[\w)])\s+(?=[\w(!])", " & ", text.strip())
    text = text.replace("*", "&").replace("+", "|").replace("!", "~")
    return re.sub(r"[A-Za-z_]\w*", lambda name: wire(pins[name.group()]), text)


def cell_line(name, cell, pins, delay=""):
    """The cell as a statement; `delay`: what stands before the value, such as '#0.2 '."""
    outputs = [(pin, one.function) for pin, one in cell.pins.items() if one.output and pin in pins]
    if not cell.flip_flop:
        if cell.latch:
            raise BadInput(f"{name}: a latch ({cell.name}); the model has flip-flops alone")
        return " ".join(f"assign {delay}{wire(pins[pin])} = {expression(function, pins)};"
                        for pin, function in outputs)
    values = cell.flip_flop.values
    if "clear" in values or "preset" in values or not re.fullmatch(r"\w+", values["clocked_on"]):
        raise BadInput(f"{name}: {cell.name}; the model has flip-flops of a rising edge without set and reset alone")
    state = cell.flip_flop.arguments[0]
    value = expression(values["next_state"], pins)
    places = [f"{wire(pins[pin])} <= {delay}{'' if function == state else '~'}({value});" for pin, function in outputs]
    return f"always_ff @(posedge {wire(pins[values['clocked_on']])}) begin {' '.join(places)} end"


def together(bits):
    return "{" + ", ".join(wire(bit) for bit in reversed(bits)) + "}"


def bits(port):
    return f"[{len(port) - 1}:0]"


def model(netlist, library, delays=None):
    """The text of the module. `delays`: {cell: ns}; without them a wire changes at most once after an edge."""
    registers = {pins[pin] for kind, pins in netlist.cells.values() if kind in library.cells
                 for pin, one in library.cells[kind].pins.items()
                 if one.output and library.cells[kind].flip_flop and pin in pins}
    wires = {bit for _, pins in netlist.cells.values() for bit in pins.values() if isinstance(bit, int)}
    for bank in netlist.banks.values():
        wires |= {bit for port in bank["connections"].values() for bit in port if isinstance(bit, int)}
    for _, port in netlist.ports.values():
        wires |= {bit for bit in port if isinstance(bit, int)}
    head = ", ".join(f"{direction} {bits(port)} {name}" for name, (direction, port) in netlist.ports.items())
    lines = ["`timescale 1ns/1ps", f"module {TOP} ({head});"]
    for first in range(0, max(wires) + 1, BLOCK):
        block = [f"logic n{bit}{' = 0' if bit in registers else ''};" for bit in range(first, first + BLOCK)
                 if bit in wires]
        lines.append(f"generate if (1) begin : s{first // BLOCK} {' '.join(block)} end endgenerate")
    for name, (direction, port) in netlist.ports.items():
        lines.append(f"assign {together(port)} = {name};" if direction == "input" else
                     f"assign {name} = {together(port)};")
    for name, (kind, pins) in netlist.cells.items():
        if kind not in library.cells:
            raise BadInput(f"{name}: a cell '{kind}', which the library has not")
        lines.append(cell_line(name, library.cells[kind], pins, f"#{delays[name]:.3f} " if delays else ""))
    for number, bank in enumerate(netlist.banks.values()):
        sizes = ", ".join(f".{name}({int(value, 2)})" for name, value in bank["parameters"].items())
        pins = ", ".join(f".{name}({together(port)})" for name, port in bank["connections"].items())
        lines.append(f"bank #({sizes}) bank_{number} ({pins});")
    return "\n".join([*lines, "endmodule", ""])


def simulate(folder, text, **sizes):
    """Runs descriptors.hex and outside.hex of the folder on the model; leaves cells.vcd and cells.hex there."""
    (folder / "cells.sv").write_text(text)
    rtl = ROOT / "rtl"
    given = [f"-PTOP.{name}={value}" for name, value in sizes.items()]
    for words in (["iverilog", "-g2012", "-s", "TOP", *given, "-o", "cells", rtl / "adagp_pkg.sv", rtl / BANK,
                   "cells.sv", rtl / "sim/bench.sv"], ["vvp", "-n", "cells"]):
        done = subprocess.run(words, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0 or "did not end" in done.stdout:
            raise BadInput(f"{words[0]}: {(done.stdout.strip().splitlines() or ['it failed'])[0]}")
