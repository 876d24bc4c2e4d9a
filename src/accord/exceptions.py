"""Errors that Accord raises on purpose.

They subclass the built-in error a scikit-learn user would expect, so ``except ValueError`` keeps working.
"""


class AccordError(Exception):
    """Base of every error raised on purpose by Accord."""


class InputError(AccordError, ValueError):
    """An argument cannot be used; the message names it, its index, what was expected and what to do."""


class FormatError(InputError):
    """A data file cannot be read; the message names the file and the line."""

    def __init__(self, message: str, path: str | None = None, line: int | None = None) -> None:
        where = "" if path is None else f"{path}: " if line is None else f"{path}, line {line}: "
        super().__init__(where + message)
        self.path = path
        self.line = line


class InfeasibleError(AccordError, ValueError):
    """No output satisfies the constraints (every allowed output scores minus infinity)."""


class ModelFileError(AccordError, ValueError):
    """A model file is truncated, foreign, damaged or of a newer format."""


class NoParseWarning(UserWarning):
    """Sentences that a grammar cannot parse got pieces of trees; ``indices`` are their numbers."""

    def __init__(self, indices: list[int]) -> None:
        self.indices = indices
        which = f"X[{indices[0]}]" if len(indices) == 1 else f"{len(indices)} sentences, the first is X[{indices[0]}]"
        super().__init__(
            f"no parse for {which}: the grammar has no tree over the whole sentence. Its largest parts are joined "
            "below the root. Give more trees, or forget more context (horizontal=0, vertical=1)"
        )


class MissingExtraError(AccordError, ImportError):
    """An optional dependency is not installed; the message says which extra brings it."""
