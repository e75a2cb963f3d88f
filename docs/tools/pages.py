#!/usr/bin/env python3
"""pages.py FOLDER: writes the pages of the documentation site there, from docs/, the README and the other
pages of the root.

Links between pages are rewritten to their places in the site. A link to another file of the repository becomes
its text. A link to nothing, or a page that no other page leads to, is an error: exit code 1, with each of them.
"""

import ast
import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OF_THE_ROOT = {"README.md": "index.md", "ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md",
               "CHANGELOG.md": "changelog.md"}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.M | re.S)


def pages(root):
    """Each page's path in the repository, with its path in the site."""
    found = {root / name: Path(place) for name, place in OF_THE_ROOT.items()}
    for path in sorted((root / "docs").rglob("*.md")):
        found[path] = path.relative_to(root / "docs")
    return found


def api(root):
    """The page of the Python package: a directive for each public name, which mkdocstrings fills."""
    tree = ast.parse((root / "python/adagp/__init__.py").read_text())
    places = next(ast.literal_eval(node.value) for node in tree.body
                  if isinstance(node, ast.Assign) and node.targets[0].id == "_LAZY")
    lines = ["# Python API", "", "The names of `import adagp`, from their docstrings."]
    for name, module in sorted(places.items(), key=lambda item: item[0].lower()):
        lines += ["", f"::: adagp.{module}.{name}"]
    return "\n".join(lines) + "\n"


class Site:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.places = pages(root)
        self.errors, self.reached = [], {root / "README.md"}

    def link(self, page, match):
        picture, text, target = match.groups()
        address, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not address:
            return match.group()
        path = Path(os.path.normpath(page.parent / address))
        if path in self.places:
            self.reached.add(path)
            place = self.places[path]
        elif not path.exists():
            self.errors.append(f"{page.relative_to(self.root)}: no file {address}")
            return text
        elif path.is_relative_to(self.root / "docs") and path.is_file():
            place = path.relative_to(self.root / "docs")
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, self.folder / place)
        else:
            return text if picture == "" else match.group()
        relative = os.path.relpath(place, self.places[page].parent)
        return f"{picture}[{text}]({relative}{'#' if anchor else ''}{anchor})"

    def write(self):
        for page, place in self.places.items():
            parts = FENCE.split(page.read_text())
            parts[::2] = [LINK.sub(lambda match: self.link(page, match), part) for part in parts[::2]]
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / place).write_text("".join(parts))
        (self.folder / "api.md").write_text(api(self.root))
        navigation = (self.root / "mkdocs.yml").read_text()
        for page, place in self.places.items():
            if page not in self.reached:
                self.errors.append(f"{page.relative_to(self.root)}: no page leads there")
            if f": {place}\n" not in navigation and not place.match("results/2*"):
                self.errors.append(f"{page.relative_to(self.root)}: mkdocs.yml does not list it in `nav`")


def main(folder, root=ROOT):
    site = Site(Path(root).resolve(), Path(folder))
    site.write()
    for error in site.errors:
        print(f"docs: {error}", file=sys.stderr)
    return 1 if site.errors else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: pages.py FOLDER [ROOT]")
    sys.exit(main(*sys.argv[1:]))
