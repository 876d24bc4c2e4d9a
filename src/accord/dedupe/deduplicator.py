"""De-duplication: which records of a table are about the same thing, learned from records whose clusters are known.

Weights and bias of similarities (:class:`RecordSimilarity`) are means over machines that compare records in different
ways (:class:`Machines`); their scale s is the median of logistic fits to similarities of held-out labeled records, one
for each fold, which makes differences of similarities logarithms of odds. How clusters are found from similarities,
and from which, is what serves held-out labeled clusters best (:mod:`accord.dedupe.choosing`); unlabeled records take
part by self-training (:class:`SelfTraining`), if it serves them, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, overload

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from accord.dedupe.choosing import HeldOut, Similarity, Trial, cannot_be_better, choose, clearly_better, report, try_all
from accord.dedupe.compared import ComparedPairs
from accord.dedupe.decoding import LINKAGES, Rule
from accord.dedupe.index import RecordIndex
from accord.dedupe.labels import (
    Labeled,
    can_learn,
    check_ids,
    check_pairs,
    folds_of_clusters,
    size_costs,
    training_sets,
)
from accord.dedupe.machines import FoldModel, Machines, alone, held_out_models, learned, with_prior
from accord.dedupe.mixture import mixture
from accord.dedupe.pairs import RecordPairs, as_records, check_fields
from accord.dedupe.self_training import METHODS as SELF_TRAINING_METHODS
from accord.dedupe.self_training import SelfTraining, no_copies, some_neighbourhoods
from accord.dedupe.similarity import RecordSimilarity
from accord.dedupe.stored_index import StoredIndex
from accord.dedupe.suspects import Doubted, doubted_records
from accord.dedupe.values import Record
from accord.exceptions import InputError
from accord.forms import FLAG, REPORT, array, fitted, items, optional
from accord.kernels.partitions.condensed import pair_numbers
from accord.learners.clustering import METHODS, ClusteringSVM
from accord.model_file import save
from accord.progress import Progress
from accord.settings import NUMBER, POSITIVE, check, generator, one_of, whole
from accord.structures.partitions.partition import DECODERS

_ROUNDS = 3  # of clustering without labels
_SPREAD = 6.0  # of similarities of candidates: few labels are easily told apart, and say little of how sure to be


@dataclass(eq=False, repr=False)
class Deduplicator(RecordSimilarity, BaseEstimator):
    """Learn from records with known clusters which records of a table belong together.

    Parameters
    ----------
    fields : dict of str to {"text", "number", "date", "category", "vector"}, or None
        What to compare, see :class:`RecordPairs`; None guesses.
    method : "pairwise", "sequential", "iterative" or "compact"
        How weights are learned, see :class:`ClusteringSVM`.
    decoder : "agglomerative", "sequential", "lp" or "exact"
        How clusters are found from similarities.
    C : float
        Weight of the slacks.
    threshold : float
        Taken off every similarity; 0 is what suits held-out labeled clusters. Above 0 prefers precision: calibrated
        similarities differ by logarithms of odds, so with 2.3 two records have to be ten times as likely the same.
        Below 0 prefers recall.
    linkage : "auto", "correlation", "average" or "components"
        What clusters are: of the largest sum of similarities, found by ``decoder``; with positive mean similarity
        between any two parts that are joined; or whatever similar pairs connect. "auto" chooses.
    calibrate : bool
        Choose by labeled clusters that are held out: the scale of similarities, the linkage, where similar begins, and
        whether clusters larger than labeled ones need more. Without it similarities are those of the support vector
        machine, and the linkage "auto" is "correlation".
    n_folds : int
        Folds of the labeled clusters for that.
    self_training : bool
        Learn again, from labeled records and from clusters found among the unlabeled ones, if clusters of held-out
        labeled records get better. Only with ``calibrate``, and by methods "pairwise" and "sequential".
    n_candidates : int
        Nearest records by rare words and trigrams that each record is compared with. All pairs within the components
        that similar pairs make are then compared as well; other pairs never are, and count as different.
    set_size : int
        Labeled records are compared in sets of at most so many, each of records that are alike.
    tol : float
        Precision of the weights, see :class:`ClusteringSVM`.
    random_state : int, optional
        Seed of folds, and of what is left out of very large clusters and large tables.
    n_jobs : int or None
        Threads.
    verbose : int
        1 shows progress on a terminal.

    Attributes
    ----------
    view_ : RecordPairs
    weights_ : ndarray (d,)
    bias_ : float
    slope_ : float
        Scale of similarities; 1 without calibration.
    n_calibration_ : float or None
        n0 of similarities; None without calibration.
    size_costs_ : ndarray
        What pairs of a cluster of 0, 1, 2, ... records have to be similar by; the last one is for all larger clusters.
        0 without calibration. Without labels by the clusters of the table of ``fit``, for tables of up to twice as many
        records.
    linkage_ : str
        How clusters are found.
    report_ : list of dict, or None
        What was tried on held-out labeled clusters: a row for each similarity and rule with its best threshold, the
        precision and recall of pairs that it leads to expect, F1 of pairs and B³, and whether it was chosen. None
        without calibration, and with too few labels to hold some out.
    machines_ : list of ClusteringSVM
        None without labels; else one for each way to compare records, see :meth:`RecordPairs.ways`.
    self_trained_ : bool
        Whether they learned from unlabeled records.
    held_out_f1_ : ndarray (folds, 2), or None
        F1 of pairs of held-out labeled records, without and with self-training; None if it was not tried.
    interrupted_ : bool
        Ctrl-C ended self-training, and the model is what labeled records taught.

    Examples
    --------
    >>> from accord import Deduplicator
    >>> records = [{"name": n} for n in ("Ann Lee", "Lee, Ann", "Bob Kay", "Bob Kaye", "Cy Orr", "Di Roe", "D. Roe")]
    >>> model = Deduplicator({"name": "text"}, calibrate=False).fit(records, [0, 0, 1, 1, 2, 3, 3])
    >>> model.predict([{"name": "Eva Moss"}, {"name": "Jo Ray"}, {"name": "Moss Eva"}])
    [0, 1, 0]
    """

    fields: dict[str, str] | None = None
    method: str = "pairwise"
    decoder: str = "agglomerative"
    C: float = 1.0
    threshold: float = 0.0
    linkage: str = "auto"
    calibrate: bool = True
    n_folds: int = 4
    self_training: bool = True
    n_candidates: int = 20
    set_size: int = 200
    tol: float = 1e-3
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    expects: ClassVar = {
        "method": one_of(*METHODS),
        "decoder": one_of(*DECODERS),
        "linkage": one_of("auto", *LINKAGES),
        "threshold": NUMBER,
        "n_folds": whole(2),
        "n_candidates": whole(1),
        "set_size": whole(3),
    }

    # -- training -----------------------------------------------------------------------------------------------
    stored: ClassVar = {
        "view_": fitted("RecordPairs"),
        "machines_": items(fitted("ClusteringSVM")),
        "weights_": array("f8", "view.names"),
        "bias_": NUMBER,
        "slope_": NUMBER,
        "n_calibration_": optional(POSITIVE),
        "size_costs_": array("f8", "*"),
        "linkage_": optional(one_of(*LINKAGES)),
        "report_": optional(REPORT),
        "self_trained_": FLAG,
        "held_out_f1_": optional(REPORT),
        "interrupted_": FLAG,
        "input_": optional(REPORT),
    }
    former: ClassVar = {"linkage": "correlation"}  # what files of earlier versions, which do not say it, mean
    agrees: ClassVar = {"size_costs_ has a number": lambda self: self.size_costs_.size > 0}

    def fit(self, records: Any, ids: Sequence[Hashable | None] | None = None) -> Deduplicator:
        """Learn from records, dicts or rows of a DataFrame, and the cluster of each; None where it is not known.

        Records without a cluster say which words and values are frequent, how a table is best clustered, and take part
        in self-training. Without any clusters, or too few to hold some out, candidate pairs are taken as a mixture of
        two kinds, see :mod:`accord.dedupe.mixture`.
        """
        check(self)
        check_fields(self.fields)
        records = as_records(records, "records")
        if len(records) < 2:
            raise InputError(f"records has {len(records)} entries; expected at least two, to compare them")
        clusters = np.full(len(records), -1) if ids is None else check_ids(ids, len(records))
        labeled = np.flatnonzero(clusters >= 0)
        truth = clusters[labeled]
        self.view_ = RecordPairs(self.fields).fit([records])
        if not can_learn(truth):
            unlabeled = [records[i] for i in np.flatnonzero(clusters < 0)]
            return self._without_labels([records[i] for i in labeled], unlabeled, truth)
        table = self.view_.table([records[i] for i in labeled])
        rng = generator(self.random_state)
        sets = training_sets(table, truth, int(self.set_size), rng)
        with Progress(len(sets), "comparing", bool(self.verbose)) as progress:
            pairs = []
            for members in sets:
                j, k = pair_numbers(members.size)
                pairs.append(table.compare(members[j], members[k]))
                progress.advance()
        labeled_sets = Labeled(pairs, sets, truth, folds_of_clusters(truth, int(self.n_folds), rng))
        others: list[Record] = []
        if self.calibrate:
            unlabeled = [records[i] for i in np.flatnonzero(clusters < 0)]
            others = no_copies(unlabeled, [records[i] for i in labeled], self.view_.fields_)
        learn_again = bool(others) and self.self_training and self.method in SELF_TRAINING_METHODS
        n_fits = (2 + int(labeled_sets.folds.max())) * (2 if learn_again else 1) if self.calibrate else 1
        with self._machines(n_fits) as machines:
            self._learn(machines, pairs, [truth[members] for members in sets])
            models = held_out_models(machines, labeled_sets) if self.calibrate else []
            if models and np.median([model.slope for model in models]) > 0:
                compared = self._compared([records[i] for i in labeled], others, rng)
                self._choose(machines, labeled_sets, models, compared, truth.size + len(others), learn_again, rng)
            elif self.calibrate:
                return self._without_labels([records[i] for i in labeled], others, truth)
        return self

    def fit_pairs(self, records: Any, matches: Any, distinct: Any) -> Deduplicator:
        """Learn from pairs of record numbers: pairs that belong together, and pairs that do not.

        How rare matches are in a table cannot be told from pairs that somebody chose, so nothing is calibrated; if too
        much is put together, raise ``threshold``.

        Examples
        --------
        >>> records = [{"name": n} for n in ("Ann Lee", "Lee, Ann", "Bob Kay", "Bob Kaye", "Cy Orr", "Di Roe")]
        >>> model = Deduplicator({"name": "text"}).fit_pairs(records, [(0, 1), (2, 3)], [(0, 2), (4, 5)])
        >>> model.predict(records)
        [0, 0, 1, 1, 2, 3]
        """
        check(self)
        records = as_records(records, "records")
        left, right, same = check_pairs(matches, distinct, len(records))
        self.view_ = RecordPairs(self.fields).fit([records])
        pairs = self.view_.table(records).compare(left, right)
        with self._machines(1) as machines:
            self._learn(machines, [row[None] for row in pairs], [np.array([0, 1 - int(one)]) for one in same])
        return self

    @contextmanager
    def _machines(self, n_fits: int) -> Iterator[Machines]:
        """Machines to fit so many times, showing progress."""
        machine = ClusteringSVM(self.method, self.decoder, C=self.C, tol=self.tol)
        ways = self.view_.ways()
        with Progress(n_fits * len(ways), "learning", bool(self.verbose)) as progress:
            yield Machines(machine, ways, self.n_jobs, progress.advance)

    def _compared(self, known: list[Record], others: list[Record], rng: np.random.Generator) -> ComparedPairs:
        """Pairs of a table that has the labeled records first, and all others or some of very many."""
        records = [*known, *others]
        table = self.view_.table(records)
        chosen = some_neighbourhoods(table, len(known), self.n_candidates, self.n_jobs, rng)
        if chosen.size < len(table):
            table = self.view_.table([records[i] for i in chosen])
        return ComparedPairs(table, self.n_candidates, self.n_jobs)

    def _without_labels(self, known: list[Record], others: list[Record], truth: np.ndarray) -> Deduplicator:
        """Learn from how alike records are; labels, if there are some, are no more than pairs that are known."""
        rng = generator(self.random_state)
        compared = self._compared(known, others, rng)
        found = mixture(self.view_, compared, truth, rng)
        self.machines_: list[ClusteringSVM] = []
        self.weights_, self.bias_, self.slope_ = found.weights, found.bias, 1.0
        self.n_calibration_, self.size_costs_ = float(len(known) + len(others)), np.zeros(1)
        self.linkage_ = "average" if self.linkage == "auto" else self.linkage
        for _ in range(_ROUNDS):  # sizes of clusters say which sizes are probable
            rule = Rule(self.linkage_, self.decoder, self.size_costs_)
            self.size_costs_ = size_costs(compared.clusters(self.weights_, self.bias_, rule))
        self.self_trained_, self.held_out_f1_, self.interrupted_, self.report_ = False, None, False, None
        return self

    def _learn(self, machines: Machines, pairs: list[np.ndarray], truth: list[np.ndarray]) -> None:
        self.machines_ = machines.fit(pairs, truth)
        self.weights_, self.bias_ = machines.mean(self.machines_, len(self.view_.names_))
        self.slope_, self.n_calibration_, self.size_costs_ = 1.0, None, np.zeros(1)
        self.linkage_ = "correlation" if self.linkage == "auto" else self.linkage
        self.self_trained_, self.held_out_f1_, self.interrupted_, self.report_ = False, None, False, None

    def _choose(
        self,
        machines: Machines,
        labeled: Labeled,
        models: list[FoldModel],
        compared: ComparedPairs,
        n_records: int,
        learn_again: bool,
        rng: np.random.Generator,
    ) -> None:
        """Similarity, rule and threshold by held-out clusters; `compared` has the labeled records first."""
        spread = float(np.std(compared.scores(*compared.candidates, self.weights_)))
        slope = min(float(np.median([model.slope for model in models])), _SPREAD / max(spread, 1e-9))
        held_out = HeldOut(compared, labeled.truth, labeled.folds, self.decoder)
        n_folds = int(labeled.folds.max()) + 1
        guessed = mixture(self.view_, compared, np.empty(0, np.int64), rng)
        guessed = guessed._replace(without=[(guessed.weights, guessed.bias)] * n_folds)
        taught = learned(self.weights_, self.bias_, models, slope, n_folds)
        first = with_prior(taught, guessed, np.unique(labeled.truth).size)
        rules = held_out.rules(first, self.linkage)
        similarities = [first, taught, *alone(self.view_, labeled), guessed]
        trials: list[list[Trial]] = []
        for one in similarities:
            trials += [] if cannot_be_better(trials) else try_all(held_out, one, rules)
        self.n_calibration_, self.slope_ = float(n_records), slope
        chosen = choose(trials)
        similarity = next(one for one in similarities if one.name == chosen.similarity)
        self.size_costs_ = size_costs(labeled.truth) if chosen.sizes else np.zeros(1)
        if learn_again and chosen.can_be_beaten() and any(similarity is one for one in (first, taught)):
            rule = Rule(chosen.linkage, self.decoder, self.size_costs_)
            training = SelfTraining(machines, labeled, compared, rule, chosen.threshold, rng)
            similarity, chosen = self._learn_again(training, held_out, similarity, chosen)
            trials += [[chosen]] if self.self_trained_ else []
        self.report_ = report(trials, chosen)
        self.linkage_ = chosen.linkage
        threshold = held_out.as_strict(similarity, chosen.threshold)
        self.weights_, self.bias_ = similarity.weights / slope, (similarity.bias - threshold) / slope

    def _learn_again(
        self, training: SelfTraining, held_out: HeldOut, before: Similarity, chosen: Trial
    ) -> tuple[Similarity, Trial]:
        """Self-training, and what it does to held-out records; what was there before if it does not serve them."""
        if not training.n_guessed:
            return before, chosen
        try:
            again, self.held_out_f1_ = training.try_it(held_out, before, chosen)
            if again is not None:
                trial = held_out.judge(again, chosen.linkage, chosen.sizes, chosen.threshold)
                if clearly_better(trial, chosen):
                    self.machines_, weights, bias = training.learn(before.weights, before.bias)
                    self.self_trained_ = True
                    return again._replace(weights=weights, bias=bias), trial
        except KeyboardInterrupt:  # what labeled records taught is complete
            self.interrupted_ = True
            warnings.warn(
                "self-training was stopped by Ctrl-C; the model is what labeled records taught",
                ConvergenceWarning,
                stacklevel=4,
            )
        return before, chosen

    # -- use ----------------------------------------------------------------------------------------------------
    def doubted(
        self, records: Any, ids: Sequence[Hashable | None], n_splits: int, rng: np.random.Generator
    ) -> list[Doubted]:
        """What copies of this learner think of the labels of clusters that they have not seen; see `suspects`."""
        check(self)
        return doubted_records(self, records, ids, n_splits, rng)

    @overload
    def index(self, records: Any = (), ids: Sequence[Hashable] = (), path: None = None) -> RecordIndex: ...
    @overload
    def index(self, records: Any = (), ids: Sequence[Hashable] = (), *, path: str | Path) -> StoredIndex: ...
    def index(
        self, records: Any = (), ids: Sequence[Hashable] = (), path: str | Path | None = None
    ) -> RecordIndex | StoredIndex:
        """A table with its clusters that grows: in memory, see :class:`RecordIndex`, or in a new file, see
        :class:`StoredIndex`."""
        check_is_fitted(self, "weights_")
        return RecordIndex(self, records, ids) if path is None else StoredIndex.create(path, self, records, ids)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file (arrays and JSON, no code); see :func:`accord.load`."""
        check_is_fitted(self, "weights_")
        save(self, path)
