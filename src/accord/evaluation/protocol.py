"""The papers' resampling protocol: draws of labeled, unlabeled and holdout examples, and folds.

"In each experiment we draw a specified number of (labeled and unlabeled) training and holdout sentences without
replacement at random in each iteration. We assure that each label occurs at least once in the labeled training data;
otherwise, we discard and draw again." [multiview_sequential, Experiments; thesis 5.4, 6.5, 7.4]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from accord.evaluation.metrics import as_list, is_sequence
from accord.exceptions import InputError
from accord.learners.inputs import is_unlabeled, labeled_inputs, output_list, take
from accord.learners.safety import labeled_folds

Seed = int | Sequence[int] | np.random.Generator | None


@dataclass(frozen=True)
class Draw:
    """Disjoint index arrays of one repetition.

    `n_tries` counts the draws that were needed; `repaired` says that plain redrawing had been given up (see `draw`).

    Examples
    --------
    >>> X, Y = ["u", "v", "w", "x"], ["a", "b", "a", "b"]
    >>> parts = Draw(labeled=np.array([0, 1]), unlabeled=np.array([2]), holdout=np.array([3]))
    >>> parts.training(X, Y)
    (['u', 'v', 'w'], ['a', 'b', None])
    >>> parts.test(X, Y)
    (['x'], ['b'])
    """

    labeled: np.ndarray
    unlabeled: np.ndarray
    holdout: np.ndarray
    n_tries: int = 1
    repaired: bool = False

    def training(self, X: Any, Y: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Inputs and outputs to fit on: the labeled examples, then the unlabeled ones with None for their outputs."""
        both = np.concatenate([self.labeled, self.unlabeled])
        return take(X, both), [Y[i] for i in self.labeled] + [None] * len(self.unlabeled)

    def test(self, X: Any, Y: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Inputs and outputs of the holdout."""
        return take(X, self.holdout), [Y[i] for i in self.holdout]


class Fold(NamedTuple):
    """Indices to train on and to test on.

    Examples
    --------
    >>> fold = Fold(train=np.array([0, 2]), test=np.array([1]))
    >>> train, test = fold
    >>> fold.test
    array([1])
    """

    train: np.ndarray
    test: np.ndarray


def draw(
    Y: Sequence[Any],
    n_labeled: int,
    n_unlabeled: int = 0,
    n_holdout: int = 0,
    rng: Seed = None,
    *,
    every_label: bool = True,
    labels_of: Callable[[Any], Iterable[Hashable]] | None = None,
    max_tries: int = 1000,
) -> Draw:
    """Draw labeled, unlabeled and holdout examples without replacement, every label present in the labeled part.

    With the same `rng` seed and `n_labeled`, more unlabeled examples are only added to those of a smaller draw, and the
    labeled part and the holdout stay: learning curves over `n_unlabeled` are paired.

    Parameters
    ----------
    Y : outputs of the pool; examples with ``Y[i] is None`` can only be drawn as unlabeled ones
    n_labeled, n_unlabeled, n_holdout : sizes
    rng : seed or numpy Generator
    every_label : ask that each label that occurs in `Y` occurs in the labeled part
    labels_of : labels of one output; by default a sequence's labels, or the output itself
    max_tries : how often to discard and draw again. After as many failures the conditional distribution is given up for
        a repair, said by `Draw.repaired`: for every missing label a random example that has it replaces a random one,
        one whose labels all occur elsewhere if possible. It is tried as often, then an error names the missing labels.

    Examples
    --------
    >>> parts = draw(["a", "b", "a", "a", "b", "a"], n_labeled=2, n_unlabeled=1, n_holdout=2, rng=0)
    >>> len({*parts.labeled, *parts.unlabeled, *parts.holdout})
    5
    """
    rng = np.random.default_rng(rng)
    usable = np.array([i for i, y in enumerate(Y) if not is_unlabeled(y)], dtype=np.int64)
    _check_sizes(n_labeled, n_unlabeled, n_holdout, len(Y), len(usable))
    if every_label and n_labeled:
        has, names = _label_table([Y[i] for i in usable], labels_of)
        chosen, tries, repaired = _covering_draw(has, names, n_labeled, max_tries, rng)
    else:
        chosen, tries, repaired = rng.choice(len(usable), n_labeled, replace=False), 1, False
    labeled = usable[chosen]
    rest = rng.permutation(np.setdiff1d(usable, labeled))
    holdout = rest[:n_holdout]
    pool = rng.permutation(np.setdiff1d(np.arange(len(Y)), np.concatenate([labeled, holdout])))
    return Draw(labeled, pool[:n_unlabeled], holdout, tries, repaired)


def _check_sizes(n_labeled: int, n_unlabeled: int, n_holdout: int, n: int, n_usable: int) -> None:
    sizes = {"n_labeled": n_labeled, "n_unlabeled": n_unlabeled, "n_holdout": n_holdout}
    for name, size in sizes.items():
        if size < 0:
            raise InputError(f"{name} must not be negative, but it is {size}")
    if n_labeled + n_holdout > n_usable:
        raise InputError(
            f"n_labeled + n_holdout = {n_labeled + n_holdout} but only {n_usable} of the {n} examples of Y are labeled"
        )
    if sum(sizes.values()) > n:
        raise InputError(f"{' + '.join(sizes)} = {sum(sizes.values())} but Y has {n} examples: ask for fewer")


def _label_table(
    Y: list[Any], labels_of: Callable[[Any], Iterable[Hashable]] | None
) -> tuple[np.ndarray, list[Hashable]]:
    """Which example (row) has which label (column), and the labels' names."""
    labels_of = labels_of or (lambda y: as_list(y) if is_sequence(y) else [y])
    sets = [set(labels_of(y)) for y in Y]
    names = sorted(set().union(*sets), key=lambda v: (str(type(v)), str(v)))
    column = {name: k for k, name in enumerate(names)}
    has = np.zeros((len(Y), len(names)), dtype=bool)
    for i, labels in enumerate(sets):
        has[i, [column[name] for name in labels]] = True
    return has, names


def _covering_draw(
    has: np.ndarray, names: list[Hashable], size: int, max_tries: int, rng: np.random.Generator
) -> tuple[np.ndarray, int, bool]:
    """Rows that together have every label: by rejection, then by repair."""
    for tries in range(1, max_tries + 1):
        chosen = rng.choice(len(has), size, replace=False)
        if has[chosen].any(axis=0).all():
            return chosen, tries, False
    fewest: np.ndarray | None = None
    for tries in range(max_tries + 1, 2 * max_tries + 1):
        chosen = _repair(has, rng.choice(len(has), size, replace=False), rng)
        missing = np.flatnonzero(~has[chosen].any(axis=0))
        if not len(missing):
            return chosen, tries, True
        if fewest is None or len(missing) < len(fewest):
            fewest = missing
    lacking = "" if fewest is None else f"; the best draw lacked {', '.join(repr(names[k]) for k in fewest)}"
    raise InputError(
        f"n_labeled={size}: found no {size} examples that together have all {len(names)} labels{lacking}. "
        "Raise n_labeled or max_tries, or pass every_label=False"
    )


def _repair(has: np.ndarray, chosen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Swap examples with missing labels in; what was swapped in stays, so this ends."""
    chosen = chosen.copy()
    pinned = np.zeros(len(chosen), dtype=bool)
    while not pinned.all():
        counts = has[chosen].sum(axis=0)
        missing = np.flatnonzero(counts == 0)
        if not len(missing):
            break
        newcomer = rng.choice(np.flatnonzero(has[:, rng.choice(missing)]))
        needed = (has[chosen] & (counts == 1)).any(axis=1)  # the only one with some label
        spare = np.flatnonzero(~pinned & ~needed)
        place = rng.choice(spare if len(spare) else np.flatnonzero(~pinned))
        chosen[place], pinned[place] = newcomer, True
    return chosen


# ------------------------------------------------------------------------------------------------------------ folds
def folds(n: int, n_folds: int, rng: Seed = None, inverse: bool = False) -> list[Fold]:
    """Random folds for cross-validation of `n` examples; sizes differ by at most one, indices are sorted.

    Parameters
    ----------
    n : number of examples
    n_folds : number of folds
    rng : seed or numpy Generator
    inverse : train on one fold and test on the others, as in the thesis' regression experiments [4.4.1]

    Examples
    --------
    >>> for train, test in folds(5, 2, rng=0):
    ...     print(train, test)
    [0 1] [2 3 4]
    [2 3 4] [0 1]
    """
    if not 2 <= n_folds <= n:
        raise InputError(f"n_folds must lie between 2 and the number of examples, {n}, but it is {n_folds}")
    parts = np.array_split(np.random.default_rng(rng).permutation(n), n_folds)
    splits = [Fold(np.setdiff1d(np.arange(n), part), np.sort(part)) for part in parts]
    return [Fold(inside, outside) for outside, inside in splits] if inverse else splits


@dataclass
class LabeledFolds:
    """Folds of the labeled examples only; unlabeled ones are in every training part.

    Give it to scikit-learn as ``cv=``, whose own splitters would test on unlabeled examples, or fail to sort ``None``
    among labels. Labels that repeat are shared out, so that every fold has about as many of each.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    stratify : bool
        Whether single labels are shared out evenly; sequences and other outputs never are.
    random_state : seed or numpy Generator
    unlabeled : label, optional
        A label that means "unlabeled", as ``None`` and nan do.

    Examples
    --------
    >>> from accord.evaluation import LabeledFolds
    >>> for train, test in LabeledFolds(2).split(list("uvwxyz"), ["a", "b", None, "a", "b", None]):
    ...     print(train, test)
    [0 2 4 5] [1 3]
    [1 2 3 5] [0 4]
    """

    n_splits: int = 5
    _: KW_ONLY
    stratify: bool = True
    random_state: Seed = 0
    unlabeled: Any = None

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds, which scikit-learn asks for."""
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[Fold]:
        """Indices to train on, unlabeled examples included, and to test on."""
        outputs = output_list(X, y, self)  # which knows what means "unlabeled", as a structure does
        labeled = labeled_inputs(outputs)
        n = len(labeled)
        if not 2 <= self.n_splits <= n:
            raise InputError(
                f"n_splits must lie between 2 and the number of labeled examples, {n}, but it is {self.n_splits}"
            )
        rng = np.random.default_rng(self.random_state)
        classes = _strata([outputs[i] for i in labeled]) if self.stratify else None
        if classes is None:
            parts = [fold.test for fold in folds(n, self.n_splits, rng)]
        else:
            parts = labeled_folds(n, classes, rng, self.n_splits)
        for part in parts:
            yield Fold(np.setdiff1d(np.arange(len(outputs)), labeled[part]), labeled[part])


def _strata(outputs: list[Any]) -> np.ndarray | None:
    """Numbers of single labels that repeat; None: sequences, or numbers that hardly ever do."""
    if any(is_sequence(y) or not isinstance(y, Hashable) for y in outputs):
        return None
    number: dict[Hashable, int] = {}
    classes = np.array([number.setdefault(y, len(number)) for y in outputs])
    return classes if 2 * len(number) <= len(outputs) else None


def per_class_folds(
    y: Sequence[Any],
    n_per_class: int,
    n_folds: int,
    rng: Seed = None,
    small: Literal["keep", "drop"] = "keep",
) -> list[Fold]:
    """Folds with `n_per_class` training examples of every class, all others to test on (svm_interdependent Table 1.1).

    The folds' training sets are disjoint as far as a class has examples enough, then they start over.

    Parameters
    ----------
    y : class of each example
    n_per_class : training examples per class
    n_folds : number of folds
    rng : seed or numpy Generator
    small : what to do with classes of `n_per_class` examples or fewer: "keep" trains on all of them, so that they are
        never tested; "drop" leaves the class out

    Examples
    --------
    >>> train, test = per_class_folds(["a", "a", "a", "b", "b"], n_per_class=1, n_folds=2, rng=0)[0]
    >>> len(train), len(test)
    (2, 3)
    """
    if n_per_class < 1 or n_folds < 1:
        raise InputError(f"n_per_class and n_folds must be at least 1, but they are {n_per_class} and {n_folds}")
    if small not in ("keep", "drop"):
        raise InputError(f'small must be "keep" or "drop", but it is {small!r}')
    rng = np.random.default_rng(rng)
    members: dict[Hashable, list[int]] = {}
    for i, label in enumerate(y):
        members.setdefault(label, []).append(i)
    if small == "drop":
        members = {label: rows for label, rows in members.items() if len(rows) > n_per_class}
        if not members:
            raise InputError(f"no class of y has more than n_per_class={n_per_class} examples: nothing is left")
    mixed = [rng.permutation(rows) for rows in members.values()]
    everything = np.sort(np.concatenate(mixed))
    splits = []
    for fold in range(n_folds):
        window = np.arange(fold * n_per_class, (fold + 1) * n_per_class)
        train = np.unique(np.concatenate([np.take(rows, window, mode="wrap") for rows in mixed]))
        splits.append(Fold(train, np.setdiff1d(everything, train)))
    return splits
