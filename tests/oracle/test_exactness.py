"""What structures declare about their loss-augmented decoding, and that the declaration is honest both ways."""

import enumerate_losses as el
import numpy as np
import pytest
from enumerate_chain import Chain, violations

from accord import MultiClass, Sequence, Taxonomy

LABELS = ["O", "a", "b"]
SETTINGS = [(rescaling, norm) for rescaling in ("margin", "slack") for norm in (1, 2)]
ALWAYS = {
    "multiclass 0/1": MultiClass(labels=LABELS),
    "multiclass costs": MultiClass(labels=LABELS, loss=[[0, 1.7, 0.3], [np.pi, 0, 2], [100, 1e-3, 0]]),
    "taxonomy 0/1": Taxonomy({"a": "r", "b": "r"}, loss="zero-one"),
    "taxonomy tree": Taxonomy({"a": "r", "b": "r", "c": "a", "d": "a"}, predict="all"),
    "sequence 0/1": Sequence("zero-one", LABELS),
    "sequence Hamming": Sequence("hamming", LABELS, normalize=True),
    "sequence Hamming count": Sequence("hamming", LABELS),
    "sequence Hamming, weights 1:2:7": Sequence(labels=LABELS, label_weights={"O": 0.1, "a": 0.2, "b": 0.7}),
    "sequence Hamming, weights 0 and 1": Sequence(labels=LABELS, label_weights={"O": 0.0}),
    "sequence micro F1": Sequence("f1", LABELS),
    "sequence micro F1, order 2": Sequence("f1", LABELS, order=2),
}
ONLY_MARGIN_OF_NORM_1 = {
    "weights without a common unit": Sequence(labels=LABELS, label_weights={"O": 1.0, "a": 1.5, "b": 2.2}),
    "too many levels": Sequence(labels=LABELS, label_weights={"O": 0.01, "a": 1.0}),
    "nearly a common unit": Sequence(labels=LABELS, label_weights={"a": 1.0 + 5e-9}),
    "tiny weights without a common unit": Sequence(
        labels=LABELS, label_weights=dict(zip(LABELS, [1e-9, 1.4e-9, 2e-9]))
    ),
}


@pytest.mark.parametrize("structure", ALWAYS.values(), ids=ALWAYS.keys())
def test_exact_in_every_setting(structure):
    assert all(structure.fit([]).exact(rescaling, norm) for rescaling, norm in SETTINGS)


@pytest.mark.parametrize("structure", ONLY_MARGIN_OF_NORM_1.values(), ids=ONLY_MARGIN_OF_NORM_1.keys())
def test_exact_where_the_loss_adds_up(structure):
    structure.fit([])
    assert [structure.exact(rescaling, norm) for rescaling, norm in SETTINGS] == [True, False, False, False]


@pytest.mark.parametrize("order", [1, 2])
def test_macro_f1_is_never_declared_exact(order):
    structure = Sequence("macro-f1", LABELS, order=order).fit([])
    assert not any(structure.exact(rescaling, norm) for rescaling, norm in SETTINGS)


def shortfall(structure, loss, rescaling, norm, seed, n_tokens=4):
    """By how much the returned violation falls short of the largest one, for a random input."""
    rng = np.random.default_rng(seed)
    unary = rng.normal(size=(n_tokens, len(LABELS)))
    y = tuple(int(c) for c in rng.integers(0, len(LABELS), n_tokens))
    chain = Chain(len(LABELS), unary.tolist())
    largest = max(h for h, _ in violations(chain, y, loss, rescaling, norm))
    return largest - structure.oracle(structure.parts(unary), np.array(y), rescaling, norm)[1]


WEIGHTS = [1.0, 1.5, 2.2]


@pytest.mark.parametrize(
    ("arguments", "loss"),
    [
        ({"loss": "macro-f1"}, lambda y, z: el.macro_f1(y, z, [1, 2])),
        (
            {"label_weights": dict(zip(LABELS, WEIGHTS)), "normalize": True},
            lambda y, z: el.hamming(y, z, weights=WEIGHTS),
        ),
    ],
    ids=["macro F1", "real weights"],
)
def test_what_is_declared_inexact_misses_sometimes_but_not_often(arguments, loss):
    """If it never missed the declaration would be stale; four tokens are few, so it must find most."""
    structure = Sequence(labels=LABELS, **arguments).fit([])
    inexact = [setting for setting in SETTINGS if not structure.exact(*setting)]
    missed = [sum(shortfall(structure, loss, *setting, seed) > 1e-9 for seed in range(60)) for setting in inexact]
    assert 0 < max(missed) < 15
