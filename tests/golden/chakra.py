#!/usr/bin/env python3
"""Writes tests/golden/fixtures/chakra: the traces of a small pipeline, by Google's protobuf from Chakra's schema.

    pip install grpcio-tools
    python -m grpc_tools.protoc -I CHAKRA/schema/protobuf --python_out=. et_def.proto   # of mlcommons/chakra
    python chakra.py

Two stages and two copies of them, one micro-batch, one batch of backprop, --bytes 8 --weight-bytes 16. Each node
is written out here; nothing comes from the program.
"""

from pathlib import Path

from et_def_pb2 import (
    COMM_COLL_NODE, COMM_RECV_NODE, COMM_SEND_NODE, COMP_NODE, AttributeProto, GlobalMetadata, Node,
)  # fmt: skip
from google.protobuf.internal.encoder import _VarintBytes

FOLDER = Path(__file__).parent / "fixtures/chakra"
PLACE = "micro-batch 0, batch 0"


def attribute(name, **value):
    return AttributeProto(name=name, **value)


def node(number, name, kind, *attributes, control=(), data=(), micros=0):
    return Node(id=number, name=name, type=kind, ctrl_deps=control, data_deps=data, duration_micros=micros,
                attr=[attribute("is_cpu_op", bool_val=False), *attributes])


def compute(number, name, **rest):
    return node(number, name, COMP_NODE, attribute("phase", string_val="BP"), **rest)


def message(number, name, kind, source, target, tag, **rest):
    return node(number, name, kind, attribute("comm_src", int32_val=source), attribute("comm_dst", int32_val=target),
                attribute("comm_tag", int32_val=tag), attribute("comm_size", int64_val=8), **rest)


def all_reduce(number, stage, **rest):
    return node(number, f"all-reduce, stage {stage}, batch 0", COMM_COLL_NODE, attribute("comm_type", int64_val=0),
                attribute("comm_size", int64_val=16), attribute("pg_name", string_val=str(stage)), **rest)


def first_stage(base):
    return [
        compute(1, f"forward, stage 0, {PLACE}", micros=1000),
        message(2, f"send of activations, stage 0, {PLACE} (with device 1)", COMM_SEND_NODE, base, base + 1, 0,
                data=[1]),
        message(3, f"receive of a gradient, stage 0, {PLACE} (with device 1)", COMM_RECV_NODE, base + 1, base, 2,
                control=[1]),
        compute(4, f"backward, stage 0, {PLACE}", control=[1], data=[3], micros=2000),
        all_reduce(5, 0, data=[4]),
        compute(6, "optimizer, all stages, batch 0", control=[4], data=[5]),
    ]


def second_stage(base):
    return [
        message(1, f"receive of activations, stage 1, {PLACE} (with device 0)", COMM_RECV_NODE, base, base + 1, 0),
        compute(2, f"forward, stage 1, {PLACE}", data=[1], micros=1000),
        compute(3, f"backward, stage 1, {PLACE}", control=[2], micros=2000),
        all_reduce(4, 1, data=[3]),
        message(5, f"send of a gradient, stage 1, {PLACE} (with device 0)", COMM_SEND_NODE, base + 1, base, 2,
                data=[3]),
        compute(6, "optimizer, all stages, batch 0", control=[3], data=[4]),
    ]


def write(rank, nodes):
    head = GlobalMetadata(version="1.0.0", attr=[attribute("time_unit", string_val="steps"),
                                                 attribute("micros_per_unit", double_val=1000)])
    with open(FOLDER / f"pipeline.{rank}.et", "wb") as file:
        for one in (head, *nodes):
            body = one.SerializeToString()
            file.write(_VarintBytes(len(body)) + body)


FOLDER.mkdir(parents=True, exist_ok=True)
for copy in (0, 1):
    write(2 * copy, first_stage(2 * copy))
    write(2 * copy + 1, second_stage(2 * copy))
