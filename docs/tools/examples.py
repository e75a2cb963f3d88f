"""For mkdocstrings: puts the doctest examples of docstrings into code blocks."""

import re

import griffe

# Lines from ">>>" to the next empty line.
EXAMPLE = re.compile(r"^( *)>>> (?:.+\n?)+", re.M)


def fenced(match):
    indent = match.group(1)
    return f"{indent}```python\n{match.group().rstrip()}\n{indent}```\n"


class Examples(griffe.Extension):
    def on_object(self, *, obj, **_):
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(fenced, obj.docstring.value)
