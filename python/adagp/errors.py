"""What the package raises. The texts are those of the program."""


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
