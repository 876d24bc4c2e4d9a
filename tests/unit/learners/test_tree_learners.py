"""Every learner of trees: fits a generated treebank, predicts trees, and survives saving, copying and threads."""

import itertools
import math
import pickle
import warnings

import numpy as np
import pytest
from row_tables import each_row
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import accord
from accord import (
    CRF,
    HMM,
    PCFG,
    CoPerceptron,
    CoSVM,
    GradientCoSVM,
    GradientSVM,
    InputError,
    RandomSplit,
    StructuredPerceptron,
    StructuredSVM,
    SumOfViews,
    TokenFeatures,
    TransductiveSVM,
    Tree,
    TypeConsistency,
)
from accord.datasets import grammar_sentences
from accord.datasets.trees import bracketed, constituents, leaves, tags
from accord.evaluation import bracket_scores
from accord.exceptions import NoParseWarning

X, Y = grammar_sentences(24, max_depth=6, random_state=0)
X_NEW, Y_NEW = grammar_sentences(12, max_depth=6, random_state=1)
PARTLY = [None if i % 4 == 3 else y for i, y in enumerate(Y)]
# phrases with prepositions may belong to any noun or verb before them
AMBIGUOUS = [
    ["she", "saw", "the", "dog", "in", "the", "garden", "with", "the", "telescope"],
    ["the", "dog", "found", "the", "letter", "near", "the", "bridge", "in", "the", "garden"],
    ["every", "dog", "watch", "the", "saw", "in", "the", "garden", "near", "a", "bridge"],
]
PAIRS, PAIRS_NEW = ([list(zip(leaves(y), tags(y))) for y in trees] for trees in (Y, Y_NEW))
WORDS = TokenFeatures(window=0, affixes=(2,), case_positions=0)

MAKERS = {
    "pcfg": lambda s, **p: PCFG(s, **{"unlabeled_weight": 0.3, "max_iter": 3, **p}),
    "perceptron": lambda s, **p: StructuredPerceptron(s, WORDS, **{"max_iter": 5, "random_state": 0, **p}),
    "plain perceptron": lambda s, **p: StructuredPerceptron(
        s, WORDS, **{"max_iter": 5, "averaged": False, "random_state": 0, **p}
    ),
    "svm": lambda s, **p: StructuredSVM(s, WORDS, **{"tol": 0.1, "random_state": 0, **p}),
    "svm, all, slack, 2-norm": lambda s, **p: StructuredSVM(
        s, WORDS, **{"tol": 0.1, "reoptimize": "all", "rescaling": "slack", "norm": 2, "random_state": 0, **p}
    ),
    "crf": lambda s, **p: CRF(s, WORDS, **{"tol": 1e-3, **p}),
    "crf, sgd": lambda s, **p: CRF(s, WORDS, **{"solver": "sgd", "max_iter": 3, "random_state": 0, **p}),
    "co-perceptron": lambda s, **p: CoPerceptron(
        s, RandomSplit(WORDS), **{"unlabeled_weight": 0.1, "max_iter": 4, "random_state": 0, **p}
    ),
    "co-svm": lambda s, **p: CoSVM(
        s, RandomSplit(WORDS),
        **{"unlabeled_weight": 0.1, "max_iter": 3, "ramp": 2, "tol": 0.1, "random_state": 0, **p},
    ),
    "gradient svm": lambda s, **p: GradientSVM(s, WORDS, **{"random_state": 0, **p}),
    "transductive svm": lambda s, **p: TransductiveSVM(s, WORDS, **{"unlabeled_weight": 0.1, "random_state": 0, **p}),
    "gradient co-svm": lambda s, **p: GradientCoSVM(
        s, RandomSplit(WORDS), **{"unlabeled_weight": 0.1, "ramp": 2, "random_state": 0, **p}
    ),
    "sum of views": lambda s, **p: SumOfViews(StructuredPerceptron(s, WORDS, max_iter=4, random_state=0), 3, **p),
    "sum of machines": lambda s, **p: SumOfViews(StructuredSVM(s, WORDS, tol=0.1, random_state=0), 2, **p),
}  # fmt: skip
PROBABILISTIC = ["pcfg", "crf", "crf, sgd"]
ONLINE = ["perceptron", "plain perceptron", "crf, sgd"]
each_learner = pytest.mark.parametrize("name", MAKERS)
# Which terminals there are is up to the structure; of learners, one for each way to use it is enough.
TAGGED = ["pcfg", "perceptron", "svm", "crf", "co-svm", "gradient svm"]
each_learner_and_terminals = pytest.mark.parametrize(
    ("name", "terminals"), [*((name, "words") for name in MAKERS), *((name, "tags") for name in TAGGED)]
)


@pytest.fixture(scope="module")
def fitted():
    """A fitted model of each name, made once."""
    made = {}

    def get(name, terminals="words"):
        if (name, terminals) not in made:
            model = MAKERS[name](Tree(terminals=terminals))
            made[name, terminals] = quiet(model.fit, X if terminals == "words" else PAIRS, PARTLY)
        return made[name, terminals]

    return get


def quiet(function, *args, **options):
    """What a function returns, without word of sentences that the grammar cannot parse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoParseWarning)
        return function(*args, **options)


def numbers(model):
    return np.concatenate([model.weights_.flat(), getattr(model, "emissions_", np.empty(0))])


# -- predictions --------------------------------------------------------------------------------------------------
@each_learner_and_terminals
def test_predictions_are_trees_over_the_words_and_mostly_right(fitted, name, terminals):
    model, given = fitted(name, terminals), X_NEW if terminals == "words" else PAIRS_NEW
    found = quiet(model.predict, given)
    assert [leaves(tree) for tree in found] == X_NEW
    if terminals == "tags":
        assert [tags(tree) for tree in found] == [tags(tree) for tree in Y_NEW]
    score = quiet(model.score, given, Y_NEW)
    assert score == pytest.approx(bracket_scores(Y_NEW, found).f1, rel=1e-12)
    assert score > 0.75
    assert quiet(model.score, X if terminals == "words" else PAIRS, PARTLY) > 0.9


@each_learner
def test_empty_sentences_and_no_sentences(fitted, name):
    model = fitted(name)
    assert model.predict([]) == []
    found = model.predict([[], X[0], []])
    assert (found[0], found[2]) == ([], [])
    assert found[1:2] == model.predict([X[0]])


@each_learner
def test_a_sentence_without_a_parse_is_named_and_gets_a_tree(fitted, name):
    model = fitted(name)
    with pytest.warns(NoParseWarning, match=r"no parse for X\[1\]") as seen:
        found = model.predict([X[0], ["slept", "slept", "near"], X[1]])
    assert seen[0].message.indices == [1]
    assert leaves(found[1]) == ["slept", "slept", "near"]
    assert found[1][0] == "S"
    assert [found[0], found[2]] == model.predict([X[0], X[1]])
    assert model.predict_k_best([["slept", "slept", "near"]], 3) == [[]]


@pytest.mark.parametrize("name", ["pcfg", "perceptron"])
def test_unknown_words_get_tags_of_words_that_look_alike(name):
    model = MAKERS[name](Tree(rare=100)).fit(X, Y)  # all words are rare
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (tree,) = model.predict([["Zoe", "found", "Xanthippe"]])
    assert tags(tree)[0] == tags(tree)[2] == "NNP"


@each_learner
def test_k_best(fitted, name):
    model, given = fitted(name), X_NEW + AMBIGUOUS
    best, many = quiet(model.predict, given), model.predict_k_best(given, 4)
    for x, first, found in zip(given, best, many):
        scores = [score for _, score in found]
        assert scores == sorted(scores, reverse=True)
        shown = [bracketed(tree) for tree, _ in found]
        assert len(set(shown)) == len(shown) <= 4
        assert all(leaves(tree) == x for tree, _ in found)
        assert not found or found[0][0] == first
    assert max(map(len, many)) == 4


@each_learner
def test_given_brackets_are_in_the_tree(fitted, name):
    model = fitted(name)
    for x, trees in zip(AMBIGUOUS, model.predict_k_best(AMBIGUOUS, 8)):
        best, *others = (constituents(tree) for tree, _ in trees)
        wanted = next(other for other in others if not set(other) <= set(best))
        (found,) = model.predict([x], given=[wanted])
        expected = next(other for other in others if set(wanted) <= set(other))
        assert sorted(constituents(found)) == sorted(expected)
    assert model.predict([X[0], X[1]], given=[None, []]) == model.predict([X[0], X[1]])


def test_given_brackets_without_label_are_in_the_tree():
    flat, deep = "(S (A a) (B b) (C c))", "(S (A a) (D (B b) (C c)))"
    model = PCFG(Tree()).fit([["a", "b", "c"]] * 4, [flat, flat, flat, deep])
    assert [bracketed(tree) for tree in model.predict([["a", "b", "c"]], given=[[(1, 3)]])] == [deep]


@each_row(
    ("given", "message"),
    [
        ([("NP", 0, 2)], r"given has 1 entries but X has 2 inputs"),
        ([None, [("XP", 0, 2)]], r"given\[1\]\[0\] has the label 'XP'; expected one of \['NP'"),
        ([None, [("NP", 0, 1), (3, 99)]], r"given\[1\]\[1\] is \(3, 99\); expected 0 <= left < right <= "),
    ],
)
def test_wrong_brackets(fitted, given, message):
    with pytest.raises(InputError, match=message):
        fitted("perceptron").predict(X[:2], given=given)


@each_row("bracket", [3, ("NP", 0, 2, 3), ("NP", "0", "2"), ("NP",)])
def test_brackets_that_are_none(fitted, bracket):
    try:
        fitted("perceptron").predict(X[:1], given=[[bracket]])
    except InputError as error:
        assert "given[0][0]" in str(error)  # noqa: PT017


@each_row("name", PROBABILISTIC)
def test_marginals_are_those_of_the_listed_trees(fitted, name):
    model = fitted(name)
    for found, trees in zip(model.predict_marginals(AMBIGUOUS), model.predict_k_best(AMBIGUOUS, 300)):
        assert 1 < len(trees) < 300
        top = max(score for _, score in trees)
        total = math.fsum(math.exp(score - top) for _, score in trees)
        expected = {}
        for tree, score in trees:
            for constituent in constituents(tree)[1:]:  # the root is in all of them and does not count
                expected[constituent] = expected.get(constituent, 0.0) + math.exp(score - top) / total
        assert {k for k, p in found.items() if p > 1e-9} == {k for k, p in expected.items() if p > 1e-9}
        for constituent, p in expected.items():
            assert found.get(constituent, 0.0) == pytest.approx(p, abs=1e-8)


def test_marginals_of_no_tokens_and_no_parse(fitted):
    model = fitted("pcfg")
    with pytest.warns(NoParseWarning, match=r"X\[1\]"):
        assert model.predict_marginals([[], ["slept", "slept", "near"]]) == [{}, {}]


def test_trees_have_no_scores_of_single_labels(fitted):
    with pytest.raises(InputError, match="decision_function needs a label for every row"):
        fitted("perceptron").decision_function(X)


# -- copies -------------------------------------------------------------------------------------------------------
@each_learner_and_terminals
def test_saved_and_pickled_models_predict_the_same(fitted, name, terminals, tmp_path):
    model, given = fitted(name, terminals), X_NEW if terminals == "words" else PAIRS_NEW
    expected, best = quiet(model.predict, given), model.predict_k_best(given, 3)
    model.save(tmp_path / "m.accord")
    loaded = accord.load(tmp_path / "m.accord")
    for copy in (loaded, pickle.loads(pickle.dumps(model))):
        assert type(copy) is type(model)
        assert quiet(copy.predict, given) == expected
        assert copy.predict_k_best(given, 3) == best
        assert np.array_equal(numbers(copy), numbers(model))
    loaded.save(tmp_path / "again.accord")
    assert (tmp_path / "again.accord").read_bytes() == (tmp_path / "m.accord").read_bytes()


@each_learner
def test_clones_fit_the_same_with_any_number_of_threads(fitted, name):
    model = fitted(name)
    copy = clone(model)
    assert not [attribute for attribute in vars(copy) if attribute.endswith("_")]
    quiet(copy.set_params(n_jobs=2).fit, X, PARTLY)
    np.testing.assert_allclose(numbers(copy), numbers(model), rtol=1e-9, atol=1e-12)
    assert quiet(copy.predict, X_NEW) == quiet(model.predict, X_NEW)


class Node(list):
    """A tree as NLTK has them: a list of children with a label."""

    def __init__(self, tree):
        super().__init__(child if isinstance(child, str) else Node(child) for child in tree[1:])
        self.name = tree[0]

    def label(self):
        return self.name


def test_trees_may_come_as_lists_strings_or_objects(fitted):
    expected = numbers(fitted("perceptron"))
    for form in (bracketed, Node, lambda tree: (tree[0], *tree[1:])):
        given = [None if y is None else form(y) for y in PARTLY]
        assert np.array_equal(numbers(MAKERS["perceptron"](Tree()).fit(X, given)), expected)


def test_scikit_learn_cross_validation():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoParseWarning)
        scores = cross_val_score(PCFG(Tree(), unlabeled_weight=0.0), X, Y, cv=4)
    assert len(scores) == 4
    assert scores.mean() > 0.7


# -- batches ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ONLINE)
def test_batches(name):
    """The grammar is that of the first batch and of the treebank of the constructor."""
    model = MAKERS[name](Tree(grammar=Y))
    for first in range(0, 24, 6):
        model.partial_fit(X[first : first + 6], PARTLY[first : first + 6])
    assert quiet(model.score, X, Y) > 0.75
    again = MAKERS[name](Tree(grammar=Y)).fit_batches([(X[f : f + 6], PARTLY[f : f + 6]) for f in range(0, 24, 6)])
    assert np.array_equal(numbers(again), numbers(model))


@pytest.mark.parametrize("name", ONLINE)
def test_a_batch_with_a_new_rule_is_refused_and_changes_nothing(name):
    model = MAKERS[name](Tree()).partial_fit(X, Y)
    before, size = quiet(model.predict, X_NEW), model.view_.n_dims_
    with pytest.raises(
        InputError, match=r"Y\[1\] uses the rule S -> VP\+VBD VP\+VBD, which no tree of the grammar has"
    ):
        model.partial_fit([X[0], ["slept", "left"]], [Y[0], "(S (VP (VBD slept)) (VP (VBD left)))"])
    with pytest.raises(InputError, match=r"Y\[0\] has the leaf S\+XX, which no tree of the grammar has"):
        model.partial_fit([["brandnew"]], ["(S (XX brandnew))"])
    assert model.view_.n_dims_ == size
    assert quiet(model.predict, X_NEW) == before


def test_a_batch_with_other_words_changes_nothing():
    model = MAKERS["perceptron"](Tree()).partial_fit(X, Y)
    size = model.view_.n_dims_
    with pytest.raises(InputError, match=r"X\[0\]\[0\] is 'brandnew' but the tree"):
        model.partial_fit([["brandnew", *X[0][1:]]], [Y[0]])
    assert model.view_.n_dims_ == size


def test_with_a_grammar_the_first_batch_may_be_unlabeled():
    model = MAKERS["perceptron"](Tree(grammar=Y)).partial_fit(X[:3], [None] * 3).partial_fit(X, Y)
    assert model.score(X, Y) > 0.75


# -- machines -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("loss", "rescaling", "norm"), list(itertools.product(["f1", "hamming", "zero-one"], ["margin", "slack"], [1, 2]))
)
def test_machines_of_every_loss(loss, rescaling, norm):
    machine = StructuredSVM(
        Tree(loss=loss), WORDS, C=10.0, rescaling=rescaling, norm=norm, tol=0.05, random_state=0
    ).fit(X[:12], Y[:12])
    assert machine.converged_
    adds_up = loss == "zero-one" or (loss, rescaling, norm) == ("hamming", "margin", 1)
    assert machine.exact_ == (adds_up or max(map(len, X[:12])) <= machine.structure.exact_length)
    assert 0 < machine.dual_objective_ <= machine.objective_ * (1 + 1e-9)
    assert machine.score(X[:12], Y[:12]) > 0.9
    support = machine.support_outputs()
    assert len(support) == machine.n_constraints_ > 0
    for i, tree, alpha in support:
        assert alpha > 0
        assert leaves(tree) == X[i]
        assert tree != Y[i]


def test_support_trees_name_the_examples_of_x():
    machine = StructuredSVM(Tree(), WORDS, tol=0.1, random_state=0).fit(X, PARTLY)
    assert all(PARTLY[i] is not None and leaves(tree) == X[i] for i, tree, _ in machine.support_outputs())


def test_frank_wolfe_is_not_for_trees():
    with pytest.raises(InputError, match="solver='frank-wolfe' needs passes of Frank-Wolfe"):
        StructuredSVM(Tree(), solver="frank-wolfe").fit(X, Y)


# -- several views ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["co-perceptron", "co-svm", "sum of views", "sum of machines"])
def test_views_share_the_features_and_are_summed(fitted, name):
    model = fitted(name)
    weights = sum(w.flat() for w in model.view_weights_)
    if name.startswith("sum"):
        weights = weights / model.n_views_
    else:  # a random split: only what is true of every token may be in both views
        used = [(w.unary != 0).any(axis=1) for w in model.view_weights_]
        assert min(u.sum() for u in used) > 10
        assert (used[0] & used[1]).sum() <= 3
    np.testing.assert_allclose(model.weights_.flat(), weights, rtol=1e-12, atol=1e-15)
    alone = quiet(model.predict_views, X_NEW)
    assert len(alone) == model.n_views_
    assert all([leaves(tree) for tree in found] == X_NEW for found in alone)
    assert 0 <= quiet(model.disagreement, X_NEW) < 0.7


@each_row("name", ["co-perceptron", "co-svm"])
def test_transduction_is_what_is_predicted_for_the_unlabeled_sentences(fitted, name):
    model = fitted(name)
    hidden = [x for x, y in zip(X, PARTLY) if y is None]
    assert model.transduction_ == quiet(model.predict, hidden)


@pytest.mark.parametrize("name", ["co-perceptron", "co-svm"])
def test_the_views_learn_from_each_other(name):
    few = [y if i < 6 else None for i, y in enumerate(Y)]
    makers = [MAKERS[name](Tree(grammar=Y), unlabeled_weight=weight) for weight in (0.0, 1.0)]
    without, with_ = (quiet(model.fit, X, few) for model in makers)
    assert not np.allclose(numbers(with_), numbers(without))
    assert with_.disagreement(X) <= without.disagreement(X) + 0.01


@pytest.mark.parametrize("name", ["co-perceptron", "co-svm"])
def test_auto_tells_what_it_compared(name):
    few = [y if i < 5 else None for i, y in enumerate(Y[:12])]
    model = quiet(MAKERS[name](Tree(grammar=Y), unlabeled_weight="auto").fit, X[:12], few)
    report = model.auto_report_
    tried = [("one view", 0.0), ("2 views", 0.0), ("2 views", 0.1), ("2 views", 1.0)]
    assert [(entry["candidate"], entry["unlabeled_weight"]) for entry in report] == tried
    assert all(len(entry["fold_errors"]) == 4 and 0 <= min(entry["fold_errors"]) <= 1 for entry in report)
    (chosen,) = [entry for entry in report if entry["chosen"]]
    assert model.unlabeled_weight_ == chosen["unlabeled_weight"]


@pytest.mark.parametrize("name", ["co-perceptron", "co-svm"])
def test_without_unlabeled_sentences_there_is_a_warning(name):
    with pytest.warns(UserWarning, match="Y has no unlabeled example"):
        MAKERS[name](Tree()).fit(X[:8], Y[:8])


def test_auto_without_unlabeled_sentences_tries_no_weights():
    model = quiet(MAKERS["co-perceptron"](Tree(), unlabeled_weight="auto").fit, X[:8], Y[:8])
    assert [entry["unlabeled_weight"] for entry in model.auto_report_] == [0.0, 0.0]


@pytest.mark.parametrize("name", ["pcfg", "co-perceptron", "co-svm"])
def test_an_unlabeled_sentence_without_a_parse_is_named_by_its_number_in_x(name):
    with pytest.warns(NoParseWarning) as seen:
        MAKERS[name](Tree()).fit([*X[:8], ["slept", "slept", "near"]], [*Y[:8], None])
    assert [w.message.indices for w in seen if isinstance(w.message, NoParseWarning)] == [[8]]


@pytest.mark.parametrize("name", ["pcfg", "co-perceptron", "co-svm"])
def test_unlabeled_sentences_without_a_parse_do_no_harm(name):
    more = [["slept", "slept", "near"], []]
    model = quiet(MAKERS[name](Tree()).fit, [*X[:8], *more], [*Y[:8], None, None])
    assert [leaves(tree) if tree else [] for tree in model.transduction_] == more
    assert quiet(model.score, X[:8], Y[:8]) > 0.9


def test_views_may_disagree_about_a_sentence_without_a_parse(fitted):
    for name in ("co-perceptron", "co-svm"):
        for n in range(2, 9):
            assert 0 <= quiet(fitted(name).disagreement, [["slept"] * n, X[0]]) <= 1


def test_one_view_without_unlabeled_sentences_is_the_machine():
    options = {"C": 2.0, "tol": 0.01, "random_state": 0}
    one = quiet(CoSVM(Tree(loss="hamming"), WORDS, unlabeled_weight=0.0, **options).fit, X[:15], Y[:15])
    machine = StructuredSVM(Tree(loss="hamming"), WORDS, **options).fit(X[:15], Y[:15])
    assert one.n_views_ == 1
    # both are within C * tol per example of the same optimum of a strongly convex function
    assert 0.5 * np.sum((numbers(one) - numbers(machine)) ** 2) <= 2 * 2.0 * 0.01 * 15
    assert quiet(one.predict, X_NEW) == quiet(machine.predict, X_NEW)


@each_row("name", ["co-perceptron", "co-svm"])
def test_trees_cannot_be_balanced(name):
    with pytest.raises(InputError, match="balance=True needs a label for every row"):
        MAKERS[name](Tree(), balance=True).fit(X, PARTLY)


# -- learners of other things -------------------------------------------------------------------------------------
def test_hidden_markov_models_do_not_learn_trees():
    for given in (Y, PARTLY):
        with pytest.raises(InputError, match=r"but HMM needs a label for every row .*PCFG"):
            HMM(Tree()).fit(X, given)


def test_type_consistency_does_not_learn_trees():
    with pytest.raises(InputError, match="TypeConsistency needs a label for every row"):
        TypeConsistency(CRF(Tree())).fit(X, PARTLY)


def test_a_sum_cannot_be_made_of_pcfgs():
    with pytest.raises(InputError, match="expected a StructuredPerceptron, StructuredSVM or CRF, whose scores add up"):
        SumOfViews(PCFG()).fit(X, Y)


# -- not as it should be ------------------------------------------------------------------------------------------
def test_there_must_be_trees_to_score_against(fitted):
    with pytest.raises(InputError, match="Y has no labels to score against"):
        fitted("pcfg").score(X[:2], [None, None])


def test_scores_are_for_trees_over_the_same_words(fitted):
    with pytest.raises(InputError, match=r"Y\[0\]"):
        fitted("pcfg").score(X[:1], Y[1:2])


@each_row(("name", "value"), [("rare", -1), ("rare", None), ("horizontal", "2"), ("horizontal", 1.5)])
def test_numbers_of_the_structure_are_checked(name, value):
    with pytest.raises(InputError, match=f"{name} "):
        PCFG(Tree(**{name: value})).fit(X[:5], Y[:5])
