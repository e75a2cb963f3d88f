"""What the package raises. The texts are those of the program, with arguments in place of flags."""

import re

_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*)( (?=['\"A-Z]|-?[0-9]|\w+=))?")
_NAMES = {"fw": "forward", "bw": "backward"}  # that are not the flag's own


def in_arguments(text: str) -> str:
    """The program's text about its flags as one about arguments. A command stays as it is.

    >>> in_arguments("--micro-batches: '0', expected 1 to 64; leave out --copies")
    "micro_batches: '0', expected 1 to 64; leave out copies="
    >>> in_arguments("--set buffer.byte: unknown key")
    'settings: buffer.byte: unknown key'
    """
    if re.search(r"\badagp [a-z]+ .*--", text):
        return text

    def argument(found: re.Match[str]) -> str:
        sentence = text[found.end() :].startswith((":", " is "))
        name = _NAMES.get(found[1], found[1].replace("-", "_"))
        return name + ("" if sentence else "=")

    text = re.sub(r"--set (?=[a-z])", "settings: ", text)
    return _FLAG.sub(argument, text)


class Error(RuntimeError):
    """Anything that went wrong."""


class UsageError(Error, ValueError):
    """An argument, a recipe or an option is wrong."""


class DataError(Error, OSError):
    """Data, weights or a run folder are missing, cut off or corrupt."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class DivergedError(Error, ArithmeticError):
    """Training produced NaN, infinity or a loss over the limit."""
