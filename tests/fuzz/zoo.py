"""A small file of every kind that Accord reads, and what is done with each once it is read."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import accord
from accord import (
    CRF,
    HMM,
    PCFG,
    RLSR,
    ArrayFeatures,
    BatchDetector,
    BrownClusters,
    CanonicalFeatures,
    Classifier,
    ClusteringSVM,
    CollectiveSpamFilter,
    ConcatenatedViews,
    CoPerceptron,
    CoRLSR,
    CoSVM,
    Deduplicator,
    DictFeatures,
    DistributionalFeatures,
    Embeddings,
    EncoderFeatures,
    FeatureGroups,
    GradientCoSVM,
    GradientSVM,
    GraphFeatures,
    IndependentSplit,
    KernelFeatures,
    LinkedFeatures,
    ListLikeness,
    MailPairs,
    Matching,
    MultiClass,
    OddEvenSplit,
    Partition,
    RandomSplit,
    RecordIndex,
    Select,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    SumOfViews,
    Tagger,
    Taxonomy,
    TextFeatures,
    TokenFeatures,
    TransductiveSVM,
    Tree,
    TypeConsistency,
    WordLists,
)
from accord.views import encoders

WORDS = [["Ana", "lives", "in", "Rome"], ["Tom", "left"], ["Ana", "left"], ["Eva", "saw", "Tom"]]
TAGS = [["PER", "O", "O", "LOC"], ["PER", "O"], ["PER", "O"], ["PER", "O", "PER"]]
SOME_TAGS = [*TAGS[:3], None]
NEW_WORDS = [["Tom", "lives", "in", "Oslo"], ["Rome", "left"]]
NUMBERS = np.random.default_rng(0).normal(size=(12, 3))
CLASSES = ["a", "b", "c"] * 4
SOME_CLASSES = [*CLASSES[:9], None, None, None]
TAXONOMY = {"a": "x", "b": "x", "c": "y", "x": "top", "y": "top"}
BETA = {"a": {"a": 1.0, "x": 0.5}, "b": {"b": 1.0, "x": 2.0}, "c": {"c": 1.0}}
TREES = ["(S (NP (D the) (N dog)) (V barks))", "(S (NP (N dogs)) (V bark))", "(S (NP (D the) (N cats)) (V sleep))"]
SENTENCES = [["the", "dog", "barks"], ["dogs", "bark"], ["the", "cats", "sleep"]]
TEXTS = ["Ana lives in Rome", "Tom left", "Eva saw Tom left Rome"] * 4
DICTS = [{"a": 1}, {"b": 2.0}, {"c": 1}] * 4
TARGETS = NUMBERS @ [1.0, 2.0, 3.0]
SOME_TARGETS = [*TARGETS[:8], None, None, None, None]
RECORDS = [
    {"name": f"john smith {i // 2}", "city": "rome" if i % 4 < 2 else "oslo", "born": f"19{40 + i // 2}-03-04"}
    for i in range(24)
]
IDS = [i // 2 for i in range(24)]
PAIRS = ([["uno", "dos"], ["one", "two"]], [["tres"], ["three", "four"]])


# Two processes compile all kernels, one from each end of the list of kinds, so that they seldom need the same ones:
# these come last, the others first.
NOT_CHAINS = {
    "pcfg", "pcfg-plain", "crf-trees", "perceptron-trees", "svm-tags", "matching", "rlsr", "co-rlsr", "clustering",
    "deduplicator", "record-index", "checkpoint", "mail-state", "mail-clustering", "spam-filter",
    "no parse", "joint features of any structure", "decoders of partitions", "mail between mail",
}  # fmt: skip


class Kind(NamedTuple):
    """How a file is written, and what is asked of it afterwards; the answer can be compared."""

    write: Callable[[Path], None]
    use: Callable[[Path], Any]


def _learner(make: Callable[[], Any], X: Any, Y: Any, new: Any, batch: Any = None) -> Kind:
    def write(path: Path) -> None:
        make().fit(X, Y).save(path)

    def use(path: Path) -> Any:
        model = accord.load(path)
        found = [model.predict(new)]
        for name in ("predict_k_best", "predict_marginals", "predict_views", "decision_function"):
            if hasattr(model, name) and not (name == "decision_function" and not hasattr(model.structure_, "loss_")):
                found.append(getattr(model, name)(new))
        if batch is not None:
            model.partial_fit(*batch)
            found.append(model.predict(new))
        return found

    return Kind(write, use)


def _encoded() -> Kind:
    """A model whose file does not hold the encoder."""

    def encode(batch: list[list[str]]) -> Any:
        return [np.array([[len(token), token[0].isupper(), ord(token[-1]) / 64] for token in x]) for x in batch]

    def write(path: Path) -> None:
        view = [TokenFeatures(), EncoderFeatures(encode, name="shapes", n_components=2, window=1)]
        CRF(Sequence(), view=view, random_state=0).fit(WORDS, TAGS).save(path)

    return Kind(write, lambda path: encoders.attach(accord.load(path), encode).predict(NEW_WORDS))


def _clustering() -> Kind:
    def use(path: Path) -> Any:
        return accord.load(path).predict([NUMBERS[:6].reshape(1, 6, 3).repeat(6, 0) * 0 + 1.0])

    def write(path: Path) -> None:
        rng = np.random.default_rng(1)
        sets = [s + s.swapaxes(0, 1) for s in rng.normal(size=(2, 6, 6, 3))]
        ClusteringSVM().fit(sets, [[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1]]).save(path)

    return Kind(write, use)


def _dedupe(index: bool) -> Kind:
    def write(path: Path) -> None:
        model = Deduplicator(self_training=False, random_state=0).fit(RECORDS, IDS)
        (model.index(RECORDS, IDS) if index else model).save(path)

    def use(path: Path) -> Any:
        if index:
            return RecordIndex.load(path).assign(RECORDS[3:6])
        model = accord.load(path)
        return [model.predict(RECORDS), model.similarity(RECORDS[0], RECORDS[1])]

    return Kind(write, use)


def _mail() -> dict[str, Kind]:
    from accord.mail.generator import MailGenerator

    mails = list(MailGenerator(0).stream(12))
    raw = [mail.raw for mail in mails]

    def write_state(path: Path) -> None:
        detector = BatchDetector(window=8)
        for t, one in enumerate(raw[:10]):
            detector.assign(one, 1000.0 + t)
        detector.save(path)

    def use_state(path: Path) -> Any:
        detector = BatchDetector.restore(path)
        return [detector.assign(one, 2000.0) for one in raw[8:]]

    def write_clustering(path: Path) -> None:
        ClusteringSVM(pair_features=MailPairs()).fit([raw], [[mail.batch for mail in mails]]).save(path)

    def write_filter(path: Path) -> None:
        CollectiveSpamFilter(n_buckets=256).fit(raw, [i % 2 == 0 for i in range(12)]).save(path)

    return {
        "mail-state": Kind(write_state, use_state),
        "mail-clustering": Kind(write_clustering, lambda path: accord.load(path).predict([raw[:4]])),
        "spam-filter": Kind(write_filter, lambda path: accord.load(path).decision_function(raw[:3])),
    }


def _checkpoint() -> Kind:
    from accord.federated import LocalSites, Site, agree

    shared = np.random.default_rng(3).normal(size=(6, 3))
    sites = [Site(NUMBERS[:, v : v + 2], TARGETS, shared[:, v : v + 2]) for v in range(2)]

    def use(path: Path) -> Any:
        return agree(LocalSites(sites), checkpoint=path, max_rounds=4).consensus

    return Kind(lambda path: agree(LocalSites(sites), checkpoint=path, max_rounds=2), use)


def kinds() -> dict[str, Kind]:
    """All of them by name."""
    seed = {"random_state": 0}
    text, some_text = (WORDS, TAGS, NEW_WORDS), (WORDS, SOME_TAGS, NEW_WORDS)
    plain, some_plain = (NUMBERS, CLASSES, NUMBERS[:4] + 0.1), (NUMBERS, SOME_CLASSES, NUMBERS[:4] + 0.1)
    trees = (SENTENCES, TREES, SENTENCES)
    weight = {"unlabeled_weight": 0.1, **seed}
    wide = {
        "t": TokenFeatures(window=1),
        "d": DistributionalFeatures(n_classes=(2,), n_components=2, min_count=1, window=1),
    }
    transductive = GraphFeatures(n_neighbors=3, method="transductive")
    vectors = {"rome": [1.0, 2.0], "left": [0.5, 0.1], "tom": [0.2, 0.9]}
    S, M = Sequence, MultiClass  # they occur in every line
    learners: dict[str, Any] = {
        "perceptron": (lambda: StructuredPerceptron(S(constraints=[("LOC", "PER")]), **seed), *text, (WORDS, TAGS)),
        "svm-order-2": (lambda: StructuredSVM(S(order=2), **seed), *text),
        "svm-f1": (lambda: StructuredSVM(S(loss="f1", ends=False, observed_transitions=True), **seed), *text),
        "crf": (lambda: CRF(S(), **seed), *text, (WORDS, TAGS)),
        "crf-classes": (lambda: CRF(M(), view=ArrayFeatures(standardize=True), **seed), *plain, (NUMBERS, CLASSES)),
        "svm-taxonomy": (lambda: StructuredSVM(Taxonomy(TAXONOMY, beta=BETA), **seed), *plain),
        "hmm": (lambda: HMM(S(), unlabeled_weight=0.5), *some_text),
        "hmm-gaussian": (lambda: HMM(M(), emission="gaussian", unlabeled_weight=0.0), *plain),
        "pcfg": (lambda: PCFG(Tree(), unlabeled_weight=0.0), *trees),
        "pcfg-plain": (lambda: PCFG(Tree(horizontal=None), smoothing=0, unlabeled_weight=0.0), *trees),
        "crf-trees": (lambda: CRF(Tree(), **seed), *trees, (SENTENCES, TREES)),
        "perceptron-trees": (
            lambda: StructuredPerceptron(Tree(span_features="rule", vertical=2, subtrees=True), **seed),
            *trees,
            (SENTENCES, TREES),
        ),
        "svm-tags": (
            lambda: StructuredSVM(Tree(terminals="tags"), **seed),
            [["D", "N", "V"], ["N", "V"], ["D", "N", "V"]],
            TREES,
            [["D", "N", "V"]],
        ),
        "co-perceptron": (lambda: CoPerceptron(S(), **weight), *some_text),
        "co-svm": (lambda: CoSVM(S(), **weight), *some_text),
        "gradient-svm": (lambda: GradientSVM(M(), **seed), *plain),
        "tsvm": (lambda: TransductiveSVM(M(), **weight), *some_plain),
        "gradient-co-svm": (lambda: GradientCoSVM(M(), **weight), *some_plain),
        "sum-of-views": (lambda: SumOfViews(StructuredPerceptron(S(), **seed)), *text),
        "type-consistency": (lambda: TypeConsistency(CRF(S()), strength=1.0, **seed), *some_text),
        "tagger": (lambda: Tagger(**seed), *some_text),
        "tagger-rules": (lambda: Tagger(rules={"PER": ["Ana", "Eva"]}, **seed), WORDS, [None] * 4, NEW_WORDS),
        "matching": (lambda: StructuredPerceptron(Matching(), **seed), PAIRS, [[(0, 0), (1, 1)], [(0, 0)]], PAIRS),
        "rlsr": (lambda: RLSR(), NUMBERS, TARGETS, NUMBERS[:3]),
        "co-rlsr": (lambda: CoRLSR(disagreement_weight=0.1, **seed), NUMBERS, SOME_TARGETS, NUMBERS[:3]),
        "kernel": (lambda: CRF(M(), view=KernelFeatures(ArrayFeatures(bias=False), gamma=0.5)), *plain),
        "nystroem": (lambda: CRF(M(), view=KernelFeatures(method="nystroem", n_components=5, random_state=0)), *plain),
        "graph": (lambda: GradientSVM(M(), view=GraphFeatures(n_neighbors=3), **seed), *plain),
        "graph-transductive": (
            lambda: GradientSVM(M(), view=transductive, **seed),
            NUMBERS,
            CLASSES,
            NUMBERS[:4],
        ),
        "random-split": (lambda: CoPerceptron(S(), views=RandomSplit(TokenFeatures(window=1)), **weight), *some_text),
        "odd-even": (lambda: CoPerceptron(M(), views=OddEvenSplit(ArrayFeatures()), **weight), *some_plain),
        "independent": (lambda: CoPerceptron(M(), views=IndependentSplit(ArrayFeatures()), **weight), *some_plain),
        "groups": (lambda: CoPerceptron(S(), views=FeatureGroups(TokenFeatures()), **weight), *some_text),
        "views": (lambda: CRF(S(), view=ConcatenatedViews(wide)), *text),
        "canonical": (lambda: CRF(S(), view=CanonicalFeatures(n_components=2, min_count=1, n_classes=2)), *text),
        "brown-clusters": (
            lambda: CRF(S(), view=BrownClusters({"rome": "010", "left": "11", "tom": "011"}, (1, 2), window=1)),
            *text,
        ),
        "word-lists": (lambda: CRF(S(), view=WordLists({"towns": ["Rome"], "names": ["Tom Ana"]}, window=1)), *text),
        "list-likeness": (lambda: CRF(S(), view=ListLikeness({"towns": ["Rome"], "names": ["Tom", "Ana"]})), *text),
        "embeddings": (lambda: CRF(S(), view=Embeddings(vectors, window=1)), *text),
        "dicts": (lambda: CRF(M(), view=DictFeatures(), **seed), DICTS, CLASSES, DICTS[:3], (DICTS, CLASSES)),
        "texts": (
            lambda: CRF(M(), view=TextFeatures(2, (2, 3), min_count=1), **seed),
            TEXTS,
            CLASSES,
            ["Tom saw Ana"],
            (TEXTS, CLASSES),
        ),
        "linked": (
            lambda: Classifier(view=LinkedFeatures([(0, 1), (1, 2), (3, 4)], table=NUMBERS), C=1.0, **seed),
            list(range(len(NUMBERS))),
            SOME_CLASSES,
            [0, 3],
        ),
        "classifier": (lambda: Classifier(**seed), TEXTS, SOME_CLASSES, ["Tom saw Ana", "in Rome"]),
        "classifier-rules": (
            lambda: Classifier(rules={"a": ["Ana"], "b": ["Tom"]}, **seed),
            TEXTS,
            SOME_CLASSES,
            ["Tom saw Ana"],
        ),
        "scaled-dicts": (lambda: CRF(M(), view=DictFeatures(standardize=True), **seed), DICTS, CLASSES, DICTS[:3]),
        "windows-of-numbers": (
            lambda: CRF(S(), view=ArrayFeatures(window=(1, 0))),
            [NUMBERS[:4], NUMBERS[4:6]],
            TAGS[:2],
            [NUMBERS[:3]],
        ),
        "select": (lambda: CRF(M(), view=Select([0, 2])), *plain),
    }
    found = {name: _learner(*arguments) for name, arguments in learners.items()}
    found["clustering"], found["encoded"] = _clustering(), _encoded()
    found["deduplicator"], found["record-index"] = _dedupe(False), _dedupe(True)
    found["checkpoint"] = _checkpoint()
    found |= _mail()
    return found


def write_all(folder: Path) -> dict[str, Kind]:
    """Write every kind once; what exists is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    found = kinds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, kind in found.items():
            if not (folder / name).exists():
                kind.write(folder / name)
    return found


def more_uses() -> dict[str, Callable[[], Any]]:
    """What runs kernels that no kind of file needs."""
    mails = [b"From: a@example.org\n\nSome words to be looked at, number %d" % k for k in range(4)]
    some = {"unlabeled_weight": 0.1, "random_state": 0}

    def unlikely() -> None:
        structure = Sequence().fit(TAGS)
        structure.marginals(structure.parts(1000.0 * np.eye(structure.n_labels_)))

    def decoders() -> None:
        for decoder in ("lp", "exact", "moves"):
            Partition().loss_augmented(NUMBERS.ravel()[:28], np.repeat(range(4), 2), decoder)

    return {
        "smooth machines of chains": lambda: GradientSVM(Sequence()).fit(WORDS, TAGS),
        "balance": lambda: CoSVM(MultiClass(), balance=True, **some).fit(NUMBERS, SOME_CLASSES),
        "unlikely scores": unlikely,
        "brackets": lambda: TokenFeatures().fit_rows([["(", "a", ")"]]),
        "many tokens": lambda: StructuredPerceptron(Sequence()).fit(WORDS, TAGS).predict(NEW_WORDS * 50),
        "no parse": lambda: PCFG(Tree()).fit(SENTENCES, TREES).predict([["barks", "the", "the"]]),
        "joint features of any structure": lambda: StructuredSVM(Matching()).fit(PAIRS, [[(0, 0), (1, 1)], [(0, 0)]]),
        "decoders of partitions": decoders,
        "mail between mail": lambda: MailPairs().fit([mails]).between(mails[:2], mails[2:]),
        "frank-wolfe": lambda: StructuredSVM(Sequence(), solver="frank-wolfe", random_state=0).fit(WORDS, TAGS),
    }


def compile_kernels(claims: Path, backwards: bool) -> None:
    """Use every kind that no other process has claimed: whoever runs tests next finds their kernels compiled."""
    uses: dict[str, Callable[[], Any]] = {**more_uses()}

    def write_and_use(name: str, kind: Kind) -> None:
        kind.write(claims / f"{name}.file")
        kind.use(claims / f"{name}.file")

    for name, kind in kinds().items():
        uses[name] = partial(write_and_use, name, kind)
    order = sorted(uses, key=lambda name: name in NOT_CHAINS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in order[::-1] if backwards else order:
            try:
                (claims / name).mkdir()
            except FileExistsError:
                continue
            uses[name]()


if __name__ == "__main__":
    compile_kernels(Path(sys.argv[1]), sys.argv[2] == "backwards")
