"""How comparisons are printed and shown in notebooks."""

from __future__ import annotations

import ast
import base64
import textwrap
from collections.abc import Iterable
from html import escape

from ..errors import DataError
from ..run import Run

_WIDTH = 100  # of printed sentences


def recipe(compared: Iterable[Run]) -> str:
    """Optimizer, learning rate and policy of the runs: "SGD, rate 0.1, policy triangle"."""
    found = {_recipe_of(run) for run in compared}
    if len(found) > 1:
        return "optimizer, rate or policy differ between the runs"
    return found.pop() if found else ""


def _recipe_of(run: Run) -> str:
    try:
        config = run.config
    except DataError:
        return ""
    optim, policy = config.get("optim"), config.get("policy")
    if isinstance(optim, dict):  # of the program
        name, rate = optim.get("name", ""), optim.get("lr")
    else:  # of adagp.compare: the class and a list of its options
        name, _, options = str(config.get("optimizer", "")).partition(" ")
        try:
            rate = dict(ast.literal_eval(options)).get("lr")
        except (ValueError, SyntaxError, TypeError):
            rate = None
    policy = policy.get("name") if isinstance(policy, dict) else policy
    parts = [name, f"rate {rate}" if rate is not None else "", f"policy {policy}" if policy else ""]
    return ", ".join(part for part in parts if part)


def heading(about: str, compared: Iterable[Run]) -> str:
    """The network, the data and the recipe, in a line or two."""
    return "\n".join(part for part in (about, recipe(compared)) if part)


def short_text(verdict: str, head: str, table: str) -> str:
    """What print() shows: the verdict, then the head and the first table."""
    paragraphs = [
        textwrap.fill(part, _WIDTH, break_long_words=False, break_on_hyphens=False) for part in verdict.split("\n\n")
    ]
    return "\n\n".join([*paragraphs, f"{head}\n\n{table.rstrip()}".lstrip()])


def page(verdict: str, head: str, table: str, picture: str = "", about: str = "score against seconds") -> str:
    """What a notebook shows. The picture is an image of its own: a notebook that is not trusted
    drops SVG elements, and the names in two pictures would be mixed up."""
    paragraphs = [f"<p>{escape(part)}</p>" for part in verdict.split("\n\n")]
    image = ""
    if picture:
        data = base64.b64encode(picture.encode()).decode()
        image = f'<img alt="{escape(about)}" src="data:image/svg+xml;base64,{data}">'
    lines = escape(head).replace("\n", "<br>")
    return "".join([image, f"<p>{lines}</p>", table, *paragraphs])
