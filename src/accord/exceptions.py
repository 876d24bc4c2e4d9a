"""Errors that Accord raises on purpose.

They subclass the built-in error a scikit-learn user would expect, so ``except ValueError`` keeps working.
"""


class AccordError(Exception):
    """Base of every error raised on purpose by Accord.

    Examples
    --------
    >>> import accord
    >>> try:
    ...     accord.CRF(accord.MultiClass()).fit([[1.0]], [])
    ... except accord.AccordError as error:
    ...     print(type(error).__name__)
    InputError
    """


class InputError(AccordError, ValueError):
    """An argument cannot be used; the message names it, its index, what was expected and what to do.

    ``argument`` names one that may help; a program that calls it something else can show ``message`` and its own name.

    Examples
    --------
    >>> from accord import Classifier, InputError
    >>> try:
    ...     Classifier(time_budget=-1).fit(["good", "bad"], ["yes", "no"])
    ... except InputError as error:
    ...     print("time_budget" in str(error))
    True
    """

    def __init__(self, message: str, argument: str | None = None) -> None:
        super().__init__(message if argument is None else f"{message}; see {argument}=")
        self.message, self.argument = message, argument


class InputTypeError(InputError, TypeError):
    """Numbers were expected and something else came, which ``except TypeError`` is for as well."""


class FormatError(InputError):
    """A data file cannot be read; the message names the file and the line.

    Examples
    --------
    >>> from accord import FormatError
    >>> str(FormatError("no label", "few.conll", 3))
    'few.conll, line 3: no label'
    """

    def __init__(
        self, message: str, path: str | None = None, line: int | None = None, argument: str | None = None
    ) -> None:
        where = "" if path is None else f"{path}: " if line is None else f"{path}, line {line}: "
        super().__init__(where + message, argument)
        self.path = path
        self.line = line


class InfeasibleError(AccordError, ValueError):
    """No output satisfies the constraints (every allowed output scores minus infinity).

    Examples
    --------
    >>> from accord import CRF, InfeasibleError, Sequence
    >>> model = CRF(Sequence(constraints="iob2")).fit([["Ana", "Ruiz"]], [["B-PER", "I-PER"]])
    >>> try:
    ...     model.predict([["Ana"]], given=[["I-PER"]])  # a name cannot begin with I-PER
    ... except InfeasibleError as error:
    ...     print("infeasible")
    infeasible
    """


class ModelFileError(AccordError, ValueError):
    """A model file is truncated, foreign, damaged or of a newer format.

    Examples
    --------
    >>> import accord, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     try:
    ...         accord.load(file.name)
    ...     except accord.ModelFileError:
    ...         print("this is no model")
    this is no model
    """


class NoParseWarning(UserWarning):
    """Sentences that a grammar cannot parse got pieces of trees; ``indices`` are their numbers.

    ``bracketed`` are those among them that have a tree, but none with the brackets that were given.

    Examples
    --------
    >>> from accord import NoParseWarning
    >>> NoParseWarning([3, 1]).indices
    [1, 3]
    """

    def __init__(self, indices: list[int], bracketed: list[int] | None = None) -> None:
        self.indices, self.bracketed = sorted(indices), sorted(bracketed or [])
        plain = [i for i in self.indices if i not in self.bracketed]
        parts = []
        if plain:
            parts.append(
                f"no parse for {_named('X', plain)}: the grammar has no tree over the whole sentence. Its largest "
                "parts are joined below the root. Give more trees, or forget more context (horizontal=0, vertical=1)"
            )
        if self.bracketed:
            parts.append(
                f"no parse for {_named('X', self.bracketed)} with the brackets {_named('given', self.bracketed)}: the "
                "grammar has trees, but none that has them. The largest parts that agree with them are joined below "
                "the root. Give fewer brackets, or none"
            )
        super().__init__("; ".join(parts))


def _named(what: str, indices: list[int], most: int = 5) -> str:
    """``X[3], X[5]``, and how many more."""
    shown = ", ".join(f"{what}[{i}]" for i in indices[:most])
    return f"{shown} and {len(indices) - most} more" if len(indices) > most else shown


class MissingExtraError(AccordError, ImportError):
    """An optional dependency is not installed; the message says which extra brings it."""
