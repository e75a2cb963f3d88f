"""Toggles of a waveform times the energies of a cell library: pJ of each unit of the machine.

A cell pays for its own pins: half of capacitance times voltage squared for each toggle of an input, and the
library's internal energy for each toggle of a pin that has one. Wires between cells have no capacitance.
"""

from collections import Counter, defaultdict

from gate_netlist import path_of
from liberty import BadInput

UNKNOWN = str.maketrans("xz", "00")
SLEW_NS = 0.2  # of all signals: about that of a gate with the mean load
MOST_LOAD_PF = 0.5  # a net with more has buffers in a layout


def loads(netlist, library):
    """{wire: pF of the inputs on it}"""
    out = defaultdict(float)
    for kind, pins in netlist.cells.values():
        for pin, wire in pins.items():
            out[wire] += library.cells[kind].pins[pin].capacitance
    return out


def delays(netlist, library, slew=SLEW_NS):
    """{cell: ns from an input to its output}"""
    load, out = loads(netlist, library), {}
    for name, (kind, pins) in netlist.cells.items():
        cell = library.cells[kind]
        wire, pin = next((wire, cell.pins[pin]) for pin, wire in pins.items() if cell.pins[pin].output)
        out[name] = mean(pin.delays, min(load[wire], MOST_LOAD_PF), slew)
    return out


def mean(tables, *place):
    return sum(table.at(*place) for table in tables) / len(tables) if tables else 0.0


def toggle_energies(netlist, library, unit_of, slew=SLEW_NS):
    """{wire: ({unit: pJ of a rise}, {unit: pJ of a fall})}"""
    load, known = loads(netlist, library), {}
    out = defaultdict(lambda: (defaultdict(float), defaultdict(float)))
    for name, (kind, pins) in netlist.cells.items():
        unit = unit_of(path_of(name))
        for pin_name, wire in pins.items():
            if not isinstance(wire, int):
                continue
            pin = library.cells[kind].pins[pin_name]
            place = (min(load[wire], MOST_LOAD_PF), slew) if pin.output else (slew,)
            key = kind, pin_name, *place
            if key not in known:
                switched = pin.capacitance * library.volts**2 / 2
                known[key] = [switched + mean(tables, *place) for tables in (pin.rise, pin.fall)]
            for edge in (0, 1):
                out[wire][edge][unit] += known[key][edge]
    return out


def read_header(lines):
    """{code: wires n<number>} and {port: code}: of the scopes below the machine and of the bench around it."""
    wires, ports, depth = defaultdict(list), {}, 0
    for line in lines:
        words = line.split()
        if words[:1] == ["$scope"]:
            depth += 1
        elif words[:1] == ["$upscope"]:
            depth -= 1
        elif words[:1] == ["$enddefinitions"]:
            return wires, ports
        elif words[:1] == ["$var"]:
            name = words[4]
            if depth == 3 and name[0] == "n" and name[1:].isdigit():
                wires[words[3]].append(int(name[1:]))
            elif depth == 1:
                ports[name] = words[3]
    raise BadInput("the waveform has no end of its definitions")


def toggles(lines, watched, class_of):
    """{class: Counter of '1code' and '0code'} and {class: cycles}, and {code: wires}.

    `class_of` gets {port: value} of the watched ports, as they are before the changes that it puts into a class.
    The first values of a waveform are no changes.
    """
    lines = iter(lines)
    wires, ports = read_header(lines)
    missing = [name for name in (*watched, "clk") if name not in ports]
    if missing:
        raise BadInput(f"the waveform has no signal {missing[0]}")
    names = {ports[name]: name for name in watched}
    values, counts, block, kind = {}, defaultdict(Counter), [], None
    for line in lines:
        if line[0] == "#":
            if kind is not None:
                counts[kind].update(block)
            kind = class_of(values) if values else None
            block = []
            continue
        line = line.rstrip("\n")
        value, code = line[1:].split(" ") if line[0] == "b" else (line[0], line[1:])
        if code in names:
            values[names[code]] = int(value.translate(UNKNOWN), 2)
        elif line[0] != "b":
            block.append(line)
    if kind is not None:
        counts[kind].update(block)
    return counts, {kind: seen["1" + ports["clk"]] for kind, seen in counts.items()}, wires


def picojoules(counts, wires, energies):
    """{unit: pJ} of a Counter of changes."""
    out = defaultdict(float)
    for change, count in counts.items():
        for wire in wires.get(change[1:], ()) if change[0] in "01" else ():
            for unit, energy in energies[wire][change[0] == "0"].items():
                out[unit] += count * energy
    return out
