"""Reads traces of MLCommons Chakra, by the field numbers of its et_def.proto: no code of ours or of protobuf."""

import struct

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
TYPES = {4: "compute", 5: "send", 6: "receive", 7: "collective"}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """field number -> its values in order."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == VARINT:
            value, at = varint(data, at)
        elif key & 7 == BYTES:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "cut short"
        else:
            size = {FIXED64: 8, FIXED32: 4}[key & 7]
            value, at = data[at:at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def packed(values):
    """A repeated field of whole numbers: packed, as proto3 writes it."""
    out = []
    for value in values:
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            out.append(number)
    return out


def attributes(values):
    """name -> value; the schema's numbers are 3 double, 7 int32, 9 int64, 27 bool, 29 string."""
    out = {}
    for message in values:
        one = fields(message)
        name = one.pop(1)[0].decode()
        (number, (value,)), = one.items()
        out[name] = {3: lambda v: struct.unpack("<d", v)[0], 29: lambda v: v.decode(), 27: bool}.get(
            number, lambda v: v)(value)
    return out


def messages(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        size, at = varint(data, at)
        assert at + size <= len(data), "cut short"
        yield fields(data[at:at + size])
        at += size


def read(path):
    """(attributes of the trace, its nodes)."""
    head, *rest = messages(path)
    assert head[1] == [b"1.0.0"]
    nodes = [{"id": node.get(1, [0])[0], "name": node[2][0].decode(), "type": TYPES[node[3][0]],
              "control": packed(node.get(4, [])), "data": packed(node.get(5, [])),
              "micros": node.get(7, [0])[0], **attributes(node[10])} for node in rest]
    return attributes(head[2]), nodes
