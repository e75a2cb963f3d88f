#!/usr/bin/env python3
"""Includes of src/adagp and apps point one way, and torch stays where it belongs.

include_directions.py ROOT        checks the tree; exit 1 with file:line for each violation
include_directions.py --self-test checks on made-up trees that violations are caught

The graph is that of src/adagp/CMakeLists.txt, the adagp_folder(AREA/FOLDER ... DEPENDS ...) calls. Six rules:
  1. a folder includes only itself and what it depends on, directly or through others;
  2. a dependency that is declared is used: some file includes a header of it;
  3. folders depend on their own area and on areas that stand before it;
  4. folders without TORCH, and files that promise it, reach no torch header, directly or through our headers;
  5. no file sees both torch and fmt/spdlog: torch brings an fmt of its own;
  6. simulator.h, which is public, reaches no third-party header: users of the simulators need the standard library.
The headers beside the areas (adagp.h, ...) are for users alone: they include anything, and nobody includes them.
"""

import re
import sys
import tempfile
from pathlib import Path

CALL = re.compile(r"^[ \t]*adagp_folder\(([^)]*)\)", re.M)
KEYWORDS = {"NAME", "SUB", "DEPENDS", "LIBS", "EXCLUDE", "TORCH", "COLD"}
# Files of a folder with TORCH that are free of it without saying so.
TORCH_FREE_FILES = re.compile(r"^engine/data/sets/cifar\.h")
# A header comment that makes the promise binds its file.
CLAIM = re.compile(r"^//.*\b(no torch here|torch-free|without torch)\b", re.I | re.M)

TORCH = re.compile(r"^(torch|ATen|c10)/")
FMT = re.compile(r"^(fmt|spdlog)/")
# What is neither ours nor of the standard library.
THIRD_PARTY = re.compile(r"^(?!adagp/)(.*/|.*\.h(pp)?$)")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".h", ".cpp", ".cu", ".cuh"}
UMBRELLA = "umbrella"


class Folder:
    """One adagp_folder(...) call."""

    def __init__(self, words, line):
        self.path, self.line = words[0], line
        parts, key = {}, None
        for word in words[1:]:
            if word in KEYWORDS:
                key = word
                parts[key] = []
            else:
                parts[key].append(word)
        self.area, _, last = self.path.partition("/")
        self.name = parts["NAME"][0] if "NAME" in parts else last.rpartition("/")[2]
        self.depends = parts.get("DEPENDS", [])
        self.torch = "TORCH" in parts
        self.folders = [self.path] + [f"{self.path}/{sub}" for sub in parts.get("SUB", [])]


class Graph:
    def __init__(self, text):
        self.folders = {}
        for call in CALL.finditer(text):
            folder = Folder(call.group(1).split(), text.count("\n", 0, call.start(1)) + 1)
            self.folders[folder.name] = folder
        self.areas = list(dict.fromkeys(folder.area for folder in self.folders.values()))
        self.of_path = {path: f.name for f in self.folders.values() for path in f.folders}

    def unit_of(self, path):
        """'base/core/text.h' -> 'core'; None for a folder that no call names (paths below src/adagp)."""
        return self.of_path.get(path.rpartition("/")[0]) if "/" in path else UMBRELLA

    def closure(self, unit):
        seen, todo = set(), [unit]
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo += self.folders[name].depends if name in self.folders else []
        return seen


def without_block_comments(text):
    return re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.src = self.root / "src" / "adagp"
        self.cmake = self.src / "CMakeLists.txt"
        self.graph = Graph(self.cmake.read_text(encoding="utf-8") if self.cmake.exists() else "")
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

    def check_include(self, path, line, header):
        unit, target = self.graph.unit_of(self.below(path)), self.graph.unit_of(header.removeprefix("adagp/"))
        if unit != UMBRELLA and target not in self.graph.closure(unit):
            allowed = ", ".join(sorted(self.graph.closure(unit) - {unit})) or "nothing"
            self.fail(path, line, f"{unit} must not include {target} ({header}); it may: {allowed}")

    def check_directions(self):
        for path, includes in self.includes.items():
            own = self.below(path)
            if own and self.graph.unit_of(own) is None:
                self.fail(path, 1, f"no adagp_folder() of {self.cmake.relative_to(self.root)} has this folder")
                continue
            for line, header, quoted in includes:
                if header.startswith("adagp/"):
                    if not (self.root / "src" / header).exists():
                        self.fail(path, line, f"no such header: {header}")
                    elif own:
                        self.check_include(path, line, header)
                elif own and quoted:
                    self.fail(path, line, f'write "{header}" from the root, "adagp/..."')

    def check_graph(self):
        used = {(self.graph.unit_of(self.below(path)), self.graph.unit_of(header.removeprefix("adagp/")))
                for path, includes in self.includes.items() if self.below(path)
                for _, header, _ in includes if header.startswith("adagp/")}
        areas = self.graph.areas
        for folder in self.graph.folders.values():
            for name in folder.depends:
                target = self.graph.folders.get(name)
                if target is None:
                    self.fail(self.cmake, folder.line, f"{folder.name} depends on {name}, which is no folder")
                elif areas.index(target.area) > areas.index(folder.area):
                    self.fail(self.cmake, folder.line, f"{folder.name} of {folder.area} must not depend on {name} "
                              f"of {target.area}, which stands below it")
                elif (folder.name, name) not in used:
                    self.fail(self.cmake, folder.line, f"{folder.name} depends on {name} and includes nothing of it")

    def torch_free(self, path):
        own = self.below(path)
        folder = self.graph.folders.get(self.graph.unit_of(own)) if own else None
        return own and (folder is not None and not folder.torch or path in self.claims
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

    def check_simulator(self):
        seen, todo = set(), [self.src / "simulator.h"]
        while todo:
            path = todo.pop()
            if path in seen:
                continue
            seen.add(path)
            for line, header, _ in self.includes.get(path, []):
                target = self.resolve(path, header)
                if target:
                    todo.append(target)
                elif THIRD_PARTY.match(header):
                    self.fail(path, line, f"adagp/simulator.h includes this file, and must not need {header}")

    def check(self):
        self.check_directions()
        self.check_graph()
        self.check_torch()
        self.check_simulator()
        return self.violations


# ---------------------------------------------------------------- self-test

GRAPH = """
adagp_folder(base/core)
adagp_folder(sim/layers NAME layer_table DEPENDS core)
if(ADAGP_TORCH)
  adagp_folder(engine/nn TORCH SUB part
               DEPENDS core LIBS adagp_png)
  adagp_folder(engine/train TORCH DEPENDS nn)
endif()
"""
# What uses every edge of GRAPH.
USES = {
    "src/adagp/base/core/a.h": "#include <string>\n",
    "src/adagp/sim/layers/table.h": '#include "adagp/base/core/a.h"\n',
    "src/adagp/engine/nn/l.h": '#include <torch/types.h>\n#include "adagp/base/core/a.h"\n',
    "src/adagp/engine/train/t.h": '#include "adagp/engine/nn/l.h"\n',
}
# name -> (files beside GRAPH and USES, what the one expected violation must contain; None: no violation)
CASES = {
    "a clean tree": ({
        "src/adagp/base/core/a.cpp": '#include "adagp/base/core/a.h"\n#include <fmt/core.h>\n',
        "src/adagp/engine/train/t.cpp": '#include "adagp/base/core/a.h"\n',
        "src/adagp/engine/nn/part/p.cpp": '#include "adagp/engine/nn/l.h"\n',
        "apps/adagp/c.h": "",
        "apps/adagp/m.cpp": '#include "c.h"\n#include "adagp/engine/train/t.h"\n',
    }, None),
    "an include upwards": ({
        "src/adagp/base/core/b.h": '\n#include "adagp/sim/layers/table.h"\n',
    }, "src/adagp/base/core/b.h:2: core must not include layer_table"),
    "an include sideways": ({
        "src/adagp/engine/nn/m.cpp": '#include "adagp/sim/layers/table.h"\n',
    }, "src/adagp/engine/nn/m.cpp:1: nn must not include layer_table"),
    "an umbrella over two folders": ({
        "src/adagp/adagp.h": '#include "adagp/engine/train/t.h"\n#include "adagp/sim/layers/table.h"\n',
    }, None),
    "an umbrella inside the library": ({
        "src/adagp/engine/train/t.cpp": '#include "adagp/adagp.h"\n', "src/adagp/adagp.h": "",
    }, "src/adagp/engine/train/t.cpp:1: train must not include umbrella"),
    "a header that is not there": ({
        "src/adagp/engine/nn/t.cpp": '#include "adagp/base/core/none.h"\n',
    }, "src/adagp/engine/nn/t.cpp:1: no such header"),
    "a relative include": ({
        "src/adagp/engine/nn/t.cpp": '#include "l.h"\n',
    }, "src/adagp/engine/nn/t.cpp:1: write"),
    "a folder without a place": ({"src/adagp/sim/misc/m.h": ""}, "src/adagp/sim/misc/m.h:1: no adagp_folder()"),
    "a subfolder that nobody compiles": ({"src/adagp/sim/layers/sub/m.cpp": ""}, "m.cpp:1: no adagp_folder()"),
    "an edge that nobody uses": ({
        "src/adagp/engine/train/t.h": "#include <torch/types.h>\n",
    }, "src/adagp/CMakeLists.txt:7: train depends on nn and includes nothing of it"),
    "an edge to nothing": ({
        "src/adagp/CMakeLists.txt": GRAPH.replace("DEPENDS nn", "DEPENDS nn none"),
    }, "train depends on none, which is no folder"),
    "an area that depends on one below it": ({
        "src/adagp/CMakeLists.txt": GRAPH.replace("DEPENDS core)", "DEPENDS core nn)"),
    }, "layer_table of sim must not depend on nn of engine"),
    "torch in a torch-free folder": ({
        "src/adagp/base/core/a.cpp": "#include <ATen/ATen.h>\n",
    }, "src/adagp/base/core/a.cpp:1: promises to be free of torch"),
    "torch behind a promise": ({
        "src/adagp/engine/nn/sizes.h": '// Sizes. No torch here.\n#include "adagp/engine/nn/l.h"\n',
    }, "src/adagp/engine/nn/sizes.h:2: promises to be free of torch, but includes "
       "adagp/engine/nn/l.h -> torch/types.h"),
    "torch and fmt in one file": ({
        "src/adagp/engine/nn/l.cpp": "#include <torch/types.h>\n#include <fmt/core.h>\n",
    }, "src/adagp/engine/nn/l.cpp:2: sees torch"),
    "torch and spdlog through a header": ({
        "src/adagp/base/core/log.h": "#include <spdlog/spdlog.h>\n",
        "src/adagp/engine/nn/l.cpp": '#include <torch/types.h>\n\n#include "adagp/base/core/log.h"\n',
    }, "src/adagp/engine/nn/l.cpp:3: sees torch"),
    "torch and fmt in a command": ({
        "apps/adagp/c.cpp": '#include "adagp/engine/nn/l.h"\n#include <fmt/core.h>\n',
    }, "apps/adagp/c.cpp:2: sees torch"),
    "the standard library in a public header": ({
        "src/adagp/simulator.h": '#include "adagp/sim/layers/table.h"\n',
        "src/adagp/sim/layers/table.h": '#include <vector>\n#include "adagp/base/core/a.h"\n',
        "src/adagp/sim/layers/table_json.h": '#include <nlohmann/json_fwd.hpp>\n#include "adagp/sim/layers/table.h"\n',
    }, None),
    "a library behind a public header": ({
        "src/adagp/simulator.h": '#include "adagp/sim/layers/table.h"\n',
        "src/adagp/base/core/a.h": "#include <string>\n#include <nlohmann/json_fwd.hpp>\n",
    }, "src/adagp/base/core/a.h:2: adagp/simulator.h includes this file, and must not need nlohmann/json_fwd.hpp"),
    "a C header in a public header": ({
        "src/adagp/simulator.h": '#include "adagp/sim/layers/table.h"\n',
        "src/adagp/base/core/a.h": "#include <png.h>\n",
    }, "src/adagp/base/core/a.h:1: adagp/simulator.h includes this file, and must not need png.h"),
    "an include inside a comment": ({
        "src/adagp/base/core/b.h": '/*\n#include "adagp/engine/nn/l.h"\n*/\n// #include <torch/types.h>\n',
    }, None),
}


def self_test():
    failures = 0
    for name, (files, expected) in CASES.items():
        with tempfile.TemporaryDirectory() as root:
            for path, text in {"src/adagp/CMakeLists.txt": GRAPH, **USES, **files}.items():
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
