"""Twenty layers on two arrays, for ZigZag's cost model and for ours."""

import csv

from harness import ROOT, adagp

BATCH = 2
ARRAYS = [(12, 15), (32, 32)]
DATAFLOWS = ["ws", "os"]
NUMBERS = ["macs", "cycles", "left", "right", "written", "read_back"]

# Strides, 1x1, 1x7 and 7x7 windows, depthwise layers, products of activations.
PICKED = {
    "resnet18-imagenet": ["conv1", "layer1.0.conv1", "layer2.0.conv1", "layer2.0.downsample.0", "fc"],
    "resnet50-imagenet": ["layer1.0.conv3", "layer4.0.conv2"],
    "mobilenet_v2-imagenet": ["features.1.conv.0.0", "features.2.conv.0.0", "features.2.conv.1.0"],
    "inception_v3-imagenet": ["Mixed_5b.branch5x5_2.conv", "Mixed_6b.branch7x7_2.conv"],
    "densenet121-imagenet": ["features.denseblock1.denselayer1.conv2"],
    "transformer-multi30k": ["transformer.encoder.layers.0.self_attn.in_proj",
                             "transformer.encoder.layers.0.self_attn.in_proj/matmul",
                             "transformer.encoder.layers.0.linear1"],
}
SIZES = ["in_c", "in_h", "in_w", "out_c", "out_h", "out_w", "kernel_h", "kernel_w", "stride_h", "stride_w",
         "padding_h", "padding_w", "groups", "dilation_h", "dilation_w", "in_d", "out_d", "kernel_d",
         "stride_d", "padding_d", "dilation_d"]
# Dilation, groups, a transposed convolution and a third axis: name, op, SIZES.
MADE = [("dilated", "conv2d", 24, 20, 20, 40, 16, 16, 3, 3, 1, 1, 0, 0, 1, 2, 2, 1, 1, 1, 1, 0, 1),
        ("grouped", "conv2d", 64, 14, 14, 96, 14, 14, 3, 3, 1, 1, 1, 1, 4, 1, 1, 1, 1, 1, 1, 0, 1),
        ("up", "conv_transpose", 48, 7, 7, 20, 14, 14, 2, 2, 2, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1),
        ("volume", "conv3d", 10, 9, 9, 30, 9, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 6, 6, 3, 1, 1, 1)]


def layers():
    """name -> sizes and op of the twenty layers."""
    out = {}
    for table, names in PICKED.items():
        with open(ROOT / f"configs/layers/{table}.csv", newline="") as file:
            rows = {row["name"]: row for row in csv.DictReader(file)}
        for name in names:
            # A third axis of size 1, where a table has none.
            sizes = {size: int(rows[name].get(size, 0 if size.startswith("padding") else 1)) for size in SIZES}
            out[f"{table.partition('-')[0]}.{name}".replace("/", ".")] = {"op": rows[name]["op"], **sizes}
    for name, op, *sizes in MADE:
        out[name] = {"op": op, **dict(zip(SIZES, sizes, strict=True))}
    return out


def write_table(path):
    """The layers as a layer table. The first row is one that no number is taken of: it has no input gradient."""
    titles = ["model", "input", "name", "op", *SIZES[:13], "macs", "weights", "bias", "input_bytes",
              "output_bytes", *SIZES[13:]]
    first = {"op": "linear", **dict.fromkeys(SIZES, 1), "padding_h": 0, "padding_w": 0, "padding_d": 0}
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, titles)
        out.writeheader()
        for name, row in {"first": first, **layers()}.items():
            macs, weights = work_of(row)
            areas = [row[f"{side}_c"] * row[f"{side}_d"] * row[f"{side}_h"] * row[f"{side}_w"]
                     for side in ("in", "out")]
            both = row["in_c"] * row["out_c"] // row["groups"] if row["op"] == "matmul" else 0
            out.writerow({"model": "oracle", "input": "mixed", "name": name, **row, "macs": macs,
                          "weights": weights, "bias": 0, "input_bytes": 4 * (areas[0] + both),
                          "output_bytes": 4 * areas[1]})
    return path


def work_of(row):
    """MACs of one example, weights."""
    pairs = row["in_c"] * row["out_c"] // row["groups"] * row["kernel_d"] * row["kernel_h"] * row["kernel_w"]
    side = "in" if row["op"] == "conv_transpose" else "out"
    return pairs * row[f"{side}_d"] * row[f"{side}_h"] * row[f"{side}_w"], 0 if row["op"] == "matmul" else pairs


def write_machine(path, array, dataflow):
    path.write_text(f'dataflow = "{dataflow}"\n[array]\nrows = {array[0]}\ncolumns = {array[1]}\n')
    return path


def write_files(folder, array, dataflow):
    """Our files for ZigZag, in the folder that is returned."""
    table = write_table(folder / "table.csv")
    machine = write_machine(folder / "machine.toml", array, dataflow)
    adagp("layers", "--table", table, "--accelerator", machine, "--examples", BATCH, "--to", "zigzag",
          folder / "zigzag")
    return folder / "zigzag"


def run_zigzag(folder):
    """Product -> NUMBERS of ZigZag's cost model: cycles with all stalls, words at the level `buffer`."""
    from zigzag.mapping.temporal_mapping import TemporalMappingType
    from zigzag.stages.evaluation.cost_model_evaluation import CostModelStage
    from zigzag.stages.main import MainStage
    from zigzag.stages.mapping.spatial_mapping_generation import SpatialMappingGeneratorStage
    from zigzag.stages.mapping.temporal_mapping_generator_stage import TemporalMappingGeneratorStage
    from zigzag.stages.parser.accelerator_parser import AcceleratorParserStage
    from zigzag.stages.parser.workload_parser import WorkloadParserStage
    from zigzag.stages.workload_iterator import WorkloadStage

    stages = [WorkloadParserStage, AcceleratorParserStage, WorkloadStage, SpatialMappingGeneratorStage,
              TemporalMappingGeneratorStage, CostModelStage]
    found = MainStage(stages, workload=str(folder / "workload.yaml"), mapping=str(folder / "mapping.yaml"),
                      accelerator=str(folder / "accelerator.yaml"), loma_lpf_limit=6,
                      loma_show_progress_bar=False, nb_mappings_generated=1,
                      enable_mix_spatial_mapping_generation=False,
                      access_same_data_considered_as_no_access=True,
                      temporal_mapping_type=TemporalMappingType.UNEVEN).run()
    return {cost.layer.name: counts(cost) for cost, _ in found}


def counts(cost):
    from zigzag.hardware.architecture.memory_port import DataDirection

    words = {}
    for operand in cost.layer.layer_operands:
        memory = cost.layer.memory_operand_links.layer_to_mem_op(operand)
        names = [level.name for level in cost.accelerator.memory_hierarchy.get_memory_levels(memory)]
        moved = cost.mapping.unit_mem_data_movement[operand][names.index("buffer")]
        moved = moved.get_attribute("data_elem_move_count")
        words[operand.name] = {direction.name: moved.get(direction) for direction in DataDirection}
    return dict(zip(NUMBERS, [cost.layer.total_mac_count, cost.latency_total0, words["I"]["RD_OUT_TO_LOW"],
                              words["W"]["RD_OUT_TO_LOW"], words["O"]["WR_IN_BY_LOW"],
                              words["O"]["RD_OUT_TO_LOW"]]))


def read_golden():
    """(array, dataflow) -> product -> NUMBERS."""
    out = {}
    with open(ROOT / "tests/golden/zigzag.csv", newline="") as file:
        for row in csv.DictReader(file):
            key = (int(row["rows"]), int(row["columns"])), row["dataflow"]
            out.setdefault(key, {})[row["product"]] = {name: float(row[name]) for name in NUMBERS}
    return out
