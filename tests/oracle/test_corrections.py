"""How probable answers are under scales of changes, against numerical integration; derivatives against differences."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from accord.labeling.live.corrections import curvature, fit, most_probable, objective


def answers(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.normal(0.0, 2.0, n)


def integrated(design, signs, start):
    """The probability of the answers over all changes, by definition: a sum over a fine grid."""
    line = np.linspace(-9.0, 9.0, 601)
    changes = np.stack(np.meshgrid(*[line] * design.shape[1]), axis=-1).reshape(-1, design.shape[1])
    likely = np.prod(1.0 / (1.0 + np.exp(-signs * (start + changes @ design.T))), axis=1)
    usual = np.prod(np.exp(-np.square(changes) / 2) / np.sqrt(2 * np.pi), axis=1)
    return (likely * usual).sum() * (line[1] - line[0]) ** design.shape[1]


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("scale", [0.1, 0.5, 2.0])
def test_evidence_is_what_integration_gives(d, scale):
    design, signs, start = answers(6, d, d)
    exact = np.log(integrated(scale * design, signs, start))
    assert fit(scale * design, signs, start).log_evidence == pytest.approx(exact, abs=0.1 * scale)


def test_without_answers_everything_is_as_probable():
    assert fit(np.empty((0, 3)), np.empty(0), np.empty(0)).log_evidence == 0.0


def test_evidence_orders_scales_as_integration_does():
    design, signs, start = answers(8, 1, 7)
    signs = np.sign(design[:, 0])  # one direction explains all of them
    scales = [(s,) for s in (0.1, 0.5, 2.0, 8.0)]
    exact = [integrated(s * design, signs, 0 * start) for (s,) in scales]
    change, chosen = most_probable(design, signs, 0 * start, np.array([0]), scales)
    assert chosen == scales[int(np.argmax(exact))] != scales[0]
    assert change[0] == pytest.approx(chosen[0] * fit(chosen[0] * design, signs, 0 * start).change[0])


def test_each_group_has_its_scale_and_ties_go_to_the_first():
    design, signs, start = answers(12, 3, 3)
    signs = np.sign(design[:, 2])
    choices = [(0.1, 0.1), (0.1, 3.0), (3.0, 0.1), (3.0, 3.0)]
    change, chosen = most_probable(design, signs, 0 * start, np.array([0, 0, 1]), choices)
    assert chosen == (0.1, 3.0)
    assert abs(change[2]) > 10 * np.abs(change[:2]).max()
    assert most_probable(np.empty((0, 3)), np.empty(0), np.empty(0), np.array([0, 0, 1]), choices)[1] == choices[0]


def test_derivatives_are_those_of_differences():
    design, signs, start = answers(9, 4, 1)
    change = np.random.default_rng(2).normal(size=4)
    slope = approx_fprime(change, lambda c: objective(c, design, signs, start)[0], 1e-7)
    np.testing.assert_allclose(objective(change, design, signs, start)[1], slope, atol=1e-5)
    bend = approx_fprime(change, lambda c: objective(c, design, signs, start)[1], 1e-7)
    np.testing.assert_allclose(curvature(change, design, start), bend, atol=1e-5)


@pytest.mark.parametrize("far", [0.0, 30.0, 2000.0])
def test_the_best_change_is_found_however_wrong_the_guess_is(far):
    design, signs, start = answers(15, 5, 4)
    found = fit(3.0 * design, signs, start - far * signs)
    value, slope = objective(found.change, 3.0 * design, signs, start - far * signs)
    assert np.abs(slope).max() < 1e-3
    assert np.isfinite(found.log_evidence)
    assert value < objective(np.zeros(5), 3.0 * design, signs, start - far * signs)[0]
