"""Scores of another model as features: those of its decision function, in a model file, too."""

import numpy as np

import accord
from accord import CRF, Sequence, TokenFeatures
from accord.views.label_scores import LabelScores

X = [["Ana", "met", "Tom"], ["Rome", "is", "big"], ["Tom", "left", "Rome"]]
Y = [["P", "O", "P"], ["L", "O", "O"], ["P", "O", "L"]]


def test_features_are_the_centred_scores_of_the_other_model(tmp_path):
    other = CRF(Sequence(), TokenFeatures(window=1)).fit(X, Y)
    view = LabelScores(scale=2.0).learn(other.view_, other.weights_.unary)
    scores = np.concatenate(other.decision_function(X))
    found = view.fit_rows(X).matrix().toarray()
    np.testing.assert_allclose(found, 2.0 * (scores - scores.mean(axis=1, keepdims=True)), atol=1e-9)
    assert view.feature_names([2]) == ["score:2"]
    model = CRF(Sequence(), view=[TokenFeatures(), view]).fit(X[:1], Y[:1])
    model.save(tmp_path / "m.accord")
    assert accord.load(tmp_path / "m.accord").predict(X) == model.predict(X)
