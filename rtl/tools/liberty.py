"""Reads a cell library (a Liberty file): areas, functions, capacitances of pins, energies of a toggle."""

import re
from dataclasses import dataclass, field
from pathlib import Path

TOKEN = re.compile(r'"[^"]*"|[(){};:,]|[^\s(){};:,"]+')


class BadInput(Exception):
    """One sentence for the user."""


@dataclass
class Group:
    """`kind (arguments) { name : value; ... group ... }`"""

    kind: str
    arguments: list
    values: dict = field(default_factory=dict)
    groups: list = field(default_factory=list)

    def all(self, *kinds):
        return [group for group in self.groups if group.kind in kinds]


def parse(text):
    """The group of the file, `library (NAME) { ... }`."""
    text = re.sub(r"/\*.*?\*/|\\\n", " ", text, flags=re.S)
    tokens = iter([*TOKEN.findall(text), None])
    top = Group("file", [])
    fill(top, tokens)
    return top


def read(path):
    """The groups `library` of a file: one, or none where it is something else."""
    try:
        return parse(Path(path).read_text(errors="replace")).all("library")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error


def fill(group, tokens):
    """Statements up to the group's `}`, or to the end of the text."""
    for name in tokens:
        if name in (None, "}"):
            return
        if name in (";", ","):
            continue
        after = next(tokens)
        if after == ":":
            group.values[name] = " ".join(word.strip('"') for word in until(tokens, ";"))
        elif after == "(":
            arguments = [word.strip('"') for word in until(tokens, ")") if word != ","]
            after = next(tokens)
            if after == "{":
                group.groups.append(Group(name, arguments))
                fill(group.groups[-1], tokens)
            else:
                group.values[name] = arguments


def until(tokens, end):
    words = []
    for word in tokens:
        if word in (end, None):
            break
        words.append(word)
    return words


def numbers(words):
    return [float(word) for text in words for word in text.replace(",", " ").split()]


class Table:
    """Values over one or two axes, linear between their points and constant outside."""

    def __init__(self, group):
        self.values = numbers(group.values["values"])
        axes = [group.values.get(f"index_{i}") for i in (1, 2)]
        self.axes = [numbers(axis) for axis in axes if axis]

    def at(self, *place):
        """`place`: one number for each axis."""
        parts = [(0, 1.0)]
        for axis, value in zip(self.axes, place):
            parts = [(at * len(axis) + i, share * more) for at, share in parts for i, more in between(axis, value)]
        return sum(self.values[at] * share for at, share in parts)


def between(axis, value):
    """[(place, share)] of the one or two points of the axis around `value`."""
    if value <= axis[0]:
        return [(0, 1.0)]
    for i in range(1, len(axis)):
        if value <= axis[i]:
            share = (value - axis[i - 1]) / (axis[i] - axis[i - 1])
            return [(i - 1, 1 - share), (i, share)]
    return [(len(axis) - 1, 1.0)]


@dataclass
class Pin:
    capacitance: float  # pF
    output: bool
    function: str
    rise: list  # tables of the internal energy of a toggle, pJ; several: one for each input that causes it
    fall: list
    delays: list  # tables of the time from an input to this output, ns


class Cell:
    def __init__(self, group):
        self.name = group.arguments[0]
        self.leakage_nw = float(group.values.get("cell_leakage_power", 0))
        self.flip_flop = next(iter(group.all("ff")), None)
        self.latch = bool(group.all("latch"))
        self.pins = {pin.arguments[0]: read_pin(pin) for pin in group.all("pin")}


def read_pin(group):
    power = group.all("internal_power")
    tables = {edge: [Table(t) for one in power for t in one.all(edge)] for edge in ("rise_power", "fall_power")}
    delays = [Table(t) for one in group.all("timing") for t in one.all("cell_rise", "cell_fall")]
    return Pin(float(group.values.get("capacitance", 0)), group.values.get("direction") == "output",
               group.values.get("function", ""), tables["rise_power"], tables["fall_power"], delays)


class CellLibrary:
    """The cells of a file by name, and the voltage. Capacitances in pF and volts make energies pJ."""

    def __init__(self, path):
        try:
            top = next(iter(read(path)))
            self.cells = {cell.name: cell for cell in map(Cell, top.all("cell"))}
            self.volts = float(top.values["nom_voltage"])
            unit = [word.lower() for word in top.values["capacitive_load_unit"]]
        except (KeyError, ValueError, IndexError, StopIteration) as error:
            raise BadInput(f"{path}: no Liberty file with nom_voltage, capacitive_load_unit and cells") from error
        if float(unit[0]) != 1 or unit[1] != "pf":
            raise BadInput(f"{path}: capacitances in {' '.join(unit)}; expected 1 pf")
