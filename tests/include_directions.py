#!/usr/bin/env python3
"""Includes of src/adagp and apps point one way, and torch stays where it belongs.

include_directions.py ROOT        checks the tree; exit 1 with file:line for each violation
include_directions.py --self-test checks on made-up trees that violations are caught

Three rules:
  1. a folder includes only itself and the folders below it (BELOW, transitively), and the DEPENDS
     lists of src/adagp/CMakeLists.txt say nothing else;
  2. files that promise to be free of torch reach no torch header, directly or through our headers;
  3. no file sees both torch and fmt/spdlog: torch brings an fmt of its own.
"""

import re
import sys
import tempfile
from pathlib import Path

# What each folder may include, beside what those may include. layers/ is two units: the table and
# the reader of exported networks are torch-free, the rest is the bridge from models. io/archive is a
# unit of its own, because they need it, and so is tensor_files (safetensors) for machine/. `options` are the
# plain structs of OPTIONS, which stand beside what they configure: config/ binds them to keys, the simulator counts the predictor's sizes. `umbrella`
# are the headers beside the folders (adagp.h, ...), which are for users alone.
BELOW = {
    "core": [],
    "options": [],
    "schedule": ["core"],
    "rtl": ["core"],
    "config": ["core", "schedule", "options"],
    "plan": ["config"],
    "archives": ["core"],
    "layer_table": ["core", "archives"],
    "tensor_files": ["core"],
    "accel": ["layer_table", "schedule", "options", "rtl"],
    "machine": ["accel", "tensor_files"],
    "pipeline": ["layer_table", "schedule"],
    "scalesim": ["accel"],
    "zoo": ["accel"],
    "report": ["schedule", "layer_table", "accel", "pipeline"],
    "page": ["report"],
    "study": ["machine", "scalesim", "zoo", "report"],
    "io": ["archives", "tensor_files"],
    "cuda": ["core"],
    "device": ["cuda"],
    "data": ["io", "device", "plan"],
    "nn": ["device"],
    "models": ["nn", "options"],
    "layers": ["layer_table", "models", "pipeline"],
    "optim": ["device", "options"],
    "predictor": ["nn", "optim", "schedule"],
    "metrics": ["core"],
    "run": ["config", "report", "io", "models"],
    "task": ["run", "data", "metrics"],
    "step": ["task", "predictor"],
    "method": ["plan", "step", "layers"],
    "train": ["method"],
    "experiment": ["train", "study"],
    "comm": ["models"],
    "parallel": ["comm", "step", "pipeline", "layers"],
    "doctor": ["comm", "data"],
    "umbrella": ["study", "page", "experiment"],
}
OPTIONS = {"data/config.h", "models/duplex_options.h", "models/transformer_options.h", "optim/config.h",
           "predictor/config.h"}
TORCH_FREE_UNITS = {"core", "options", "schedule", "rtl", "config", "plan", "archives", "layer_table", "accel",
                    "tensor_files", "machine", "pipeline", "scalesim", "zoo", "study", "report", "page", "cuda"}
TORCH_FREE_FILES = re.compile(r"^(data/sets/cifar\.h|io/(safetensors|crc32c|events|jsonl|image|archive)\.)")
# A header comment that makes the promise binds its file.
CLAIM = re.compile(r"^//.*\b(no torch here|torch-free|without torch)\b", re.I | re.M)

TORCH = re.compile(r"^(torch|ATen|c10)/")
FMT = re.compile(r"^(fmt|spdlog)/")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".h", ".cpp", ".cu", ".cuh"}


def closure(unit):
    seen, todo = set(), [unit]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += BELOW.get(name, [])
    return seen


def unit_of(path):
    """'layers/table.h' -> 'layer_table', 'io/x.h' -> 'io' (paths below src/adagp)."""
    if path in OPTIONS:
        return "options"
    if path.startswith("io/archive."):
        return "archives"
    if path.startswith(("io/safetensors", "io/crc32c.", "io/checksum_keys.")):
        return "tensor_files"
    if "/" not in path:
        return "umbrella"
    folder, _, rest = path.partition("/")
    return "layer_table" if folder == "layers" and rest.startswith(("table", "pt2")) else folder


def without_block_comments(text):
    return re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.src = self.root / "src" / "adagp"
        self.includes = {}  # file -> [(line, header, quoted)]
        self.claims = set()
        for base in (self.src, self.root / "apps"):
            for path in sorted(base.rglob("*")) if base.is_dir() else []:
                if path.suffix in SOURCES:
                    self.read(path)
        self.violations = []

    def read(self, path):
        text = without_block_comments(path.read_text(encoding="utf-8"))
        lines = enumerate(text.splitlines(), 1)
        matches = [(number, INCLUDE.match(line)) for number, line in lines]
        self.includes[path] = [(n, m.group(2), m.group(1) == '"') for n, m in matches if m]
        if self.below(path) and CLAIM.search(text.partition("\nnamespace")[0]):
            self.claims.add(path)

    def below(self, path):
        """The path below src/adagp, or '' for a file of apps."""
        return path.relative_to(self.src).as_posix() if path.is_relative_to(self.src) else ""

    def fail(self, path, line, message):
        self.violations.append(f"{path.relative_to(self.root).as_posix()}:{line}: {message}")

    def resolve(self, path, header):
        """The file of ours behind an include, or None for a foreign one."""
        beside, ours = path.parent / header, self.root / "src" / header
        return ours if ours in self.includes else beside if beside in self.includes else None

    def reaches(self, path, pattern, seen=None):
        """(line, chain) of the first include through which `path` sees `pattern`, or None."""
        seen = set() if seen is None else seen
        seen.add(path)
        for line, header, _ in self.includes[path]:
            if pattern.match(header):
                return line, [header]
            target = self.resolve(path, header)
            if target and target not in seen:
                found = self.reaches(target, pattern, seen)
                if found:
                    return line, [header] + found[1]
        return None

    def check_directions(self):
        for path, includes in self.includes.items():
            own = self.below(path)
            for line, header, quoted in includes:
                target = header.removeprefix("adagp/")
                if header.startswith("adagp/"):
                    if not (self.root / "src" / header).exists():
                        self.fail(path, line, f"no such header: {header}")
                    elif own and unit_of(target) not in closure(unit_of(own)):
                        self.fail(path, line, f"{unit_of(own)} must not include {unit_of(target)} "
                                              f"({header}); it may: {self.allowed(own)}")
                elif own and quoted:
                    self.fail(path, line, f'write "{header}" from the root, "adagp/..."')
            if own and unit_of(own) not in BELOW:
                self.fail(path, 1, f"folder {unit_of(own)} is not in BELOW of "
                                   "tests/include_directions.py; give it its place")

    @staticmethod
    def allowed(own):
        return ", ".join(sorted(closure(unit_of(own)) - {unit_of(own)})) or "nothing"

    def check_cmake(self):
        path = self.src / "CMakeLists.txt"
        if not path.exists():
            return
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            call = re.match(r"\s*adagp_(?:folder|library)\((\w+)(.*)\)", text)
            depends = call and re.search(r"\bDEPENDS((?:\s+[a-z_]+)+)", call.group(2))
            for name in depends.group(1).split() if depends else []:
                if name not in closure(call.group(1)):
                    self.fail(path, line, f"{call.group(1)} must not depend on {name}")

    def torch_free(self, path):
        own = self.below(path)
        return own and (unit_of(own) in TORCH_FREE_UNITS or path in self.claims
                        or TORCH_FREE_FILES.match(own))

    def check_torch(self):
        for path in self.includes:
            torch, fmt = self.reaches(path, TORCH), self.reaches(path, FMT)
            if torch and self.torch_free(path):
                self.fail(path, torch[0], "promises to be free of torch, but includes "
                          + " -> ".join(torch[1]))
            if torch and fmt:
                self.fail(path, fmt[0], "sees torch (" + " -> ".join(torch[1]) + ") and "
                          + " -> ".join(fmt[1]) + ": use core::cat() and core/log.h")

    def check(self):
        self.check_directions()
        self.check_cmake()
        self.check_torch()
        return self.violations


# ---------------------------------------------------------------- self-test

# name -> (files, what the one expected violation must contain; None: no violation)
CASES = {
    "a clean tree": ({
        "src/adagp/core/a.h": "#include <string>\n",
        "src/adagp/core/a.cpp": '#include "adagp/core/a.h"\n#include <fmt/core.h>\n',
        "src/adagp/io/t.h": '#include <torch/types.h>\n#include "adagp/core/a.h"\n',
        "src/adagp/train/t.h": '#include "adagp/io/t.h"\n#include "adagp/report/r.h"\n',
        "src/adagp/report/r.h": '#include "adagp/layers/table.h"\n',
        "src/adagp/layers/table.h": '#include "adagp/core/a.h"\n',
        "apps/adagp/c.h": "",
        "apps/adagp/m.cpp": '#include "c.h"\n#include "adagp/train/t.h"\n',
        "src/adagp/CMakeLists.txt": "adagp_folder(io TORCH DEPENDS core LIBS adagp_png)\n",
    }, None),
    "an include upwards": ({
        "src/adagp/core/a.h": '\n#include "adagp/io/t.h"\n', "src/adagp/io/t.h": "",
    }, "src/adagp/core/a.h:2: core must not include io"),
    "an include sideways": ({
        "src/adagp/optim/o.h": '#include "adagp/nn/l.h"\n', "src/adagp/nn/l.h": "",
    }, "src/adagp/optim/o.h:1: optim must not include nn"),
    "the bridge used from the table's side": ({
        "src/adagp/report/r.cpp": '#include "adagp/layers/from_model.h"\n',
        "src/adagp/layers/from_model.h": "",
    }, "src/adagp/report/r.cpp:1: report must not include layers"),
    "an umbrella over two folders": ({
        "src/adagp/adagp.h": '#include "adagp/train/t.h"\n#include "adagp/zoo/z.h"\n',
        "src/adagp/train/t.h": "#include <torch/types.h>\n", "src/adagp/zoo/z.h": "",
    }, None),
    "an umbrella inside the library": ({
        "src/adagp/train/t.cpp": '#include "adagp/adagp.h"\n', "src/adagp/adagp.h": "",
    }, "src/adagp/train/t.cpp:1: train must not include umbrella"),
    "a header that is not there": ({
        "src/adagp/io/t.cpp": '#include "adagp/core/none.h"\n',
    }, "src/adagp/io/t.cpp:1: no such header"),
    "a relative include": ({
        "src/adagp/io/t.cpp": '#include "t.h"\n', "src/adagp/io/t.h": "",
    }, "src/adagp/io/t.cpp:1: write"),
    "a folder without a place": ({"src/adagp/misc/m.h": ""}, "src/adagp/misc/m.h:1: folder misc"),
    "CMake lists against the order": ({
        "src/adagp/CMakeLists.txt": "\n  adagp_folder(nn TORCH DEPENDS core train)\n",
    }, "src/adagp/CMakeLists.txt:2: nn must not depend on train"),
    "torch in a torch-free folder": ({
        "src/adagp/core/a.cpp": "#include <ATen/ATen.h>\n",
    }, "src/adagp/core/a.cpp:1: promises to be free of torch"),
    "torch in a torch-free file": ({
        "src/adagp/io/safetensors.cpp": "#include <c10/util/Half.h>\n",
    }, "src/adagp/io/safetensors.cpp:1: promises"),
    "torch behind a promise": ({
        "src/adagp/nn/l.h": "#include <torch/types.h>\n",
        "src/adagp/models/sizes.h": '// Sizes. No torch here.\n#include "adagp/nn/l.h"\n',
    }, "src/adagp/models/sizes.h:2: promises to be free of torch, but includes "
       "adagp/nn/l.h -> torch/types.h"),
    "torch and fmt in one file": ({
        "src/adagp/nn/l.cpp": "#include <torch/types.h>\n#include <fmt/core.h>\n",
    }, "src/adagp/nn/l.cpp:2: sees torch"),
    "torch and spdlog through a header": ({
        "src/adagp/core/log.h": "#include <spdlog/spdlog.h>\n",
        "src/adagp/nn/l.cpp": '#include <torch/types.h>\n\n#include "adagp/core/log.h"\n',
    }, "src/adagp/nn/l.cpp:3: sees torch"),
    "torch and fmt in a command": ({
        "src/adagp/nn/l.h": "#include <torch/types.h>\n",
        "apps/adagp/c.cpp": '#include "adagp/nn/l.h"\n#include <fmt/core.h>\n',
    }, "apps/adagp/c.cpp:2: sees torch"),
    "an include inside a comment": ({
        "src/adagp/core/a.h": '/*\n#include "adagp/io/t.h"\n*/\n// #include <torch/types.h>\n',
        "src/adagp/io/t.h": "",
    }, None),
}


def self_test():
    failures = 0
    for name, (files, expected) in CASES.items():
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                file = Path(root) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            found = Tree(root).check()
        good = not found if expected is None else len(found) == 1 and expected in found[0]
        if not good:
            failures += 1
            print(f"FAILED: {name}: expected {expected or 'nothing'}, found {found}")
    print(f"include_directions self-test: {len(CASES) - failures} of {len(CASES)} cases pass")
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        print("usage: include_directions.py ROOT | --self-test", file=sys.stderr)
        return 2
    tree = Tree(sys.argv[1])
    if not any(tree.below(path) for path in tree.includes):
        print(f"include_directions: no sources in {tree.src}", file=sys.stderr)
        return 2
    for violation in tree.check():
        print(violation)
    promised = sum(bool(tree.torch_free(path)) for path in tree.includes)
    print(f"include_directions: {len(tree.includes)} files, {promised} of them torch-free, "
          f"{len(tree.violations)} violations")
    return 1 if tree.violations else 0


if __name__ == "__main__":
    sys.exit(main())
