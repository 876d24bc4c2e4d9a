"""One visit of the co-support vector machine to an unlabeled example (Table 6.2), with all outputs listed.

Imports nothing of Accord. Weights are one vector per view, as in :mod:`plain_chain`.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np


def maximise(gram, linear, ridge, budget):
    """Maximise ``linear'a - a'(gram + ridge)a / 2`` over a >= 0 and sum a <= budget: (value, a).

    Every set of positive variables is tried, with the budget used up and not.
    """
    n = len(linear)
    H = gram + ridge
    best, best_a = 0.0, np.zeros(n)
    for size in range(1, n + 1):
        for chosen in map(list, itertools.combinations(range(n), size)):
            block = H[np.ix_(chosen, chosen)]
            # stationary, or stationary along the plane where the budget is used up
            systems = [(block, linear[chosen])]
            if np.isfinite(budget):
                ones = np.ones((size, 1))
                systems.append(
                    (np.block([[block, ones], [ones.T, np.zeros((1, 1))]]), np.append(linear[chosen], budget))
                )
            for matrix, right in systems:
                a = np.zeros(n)
                a[chosen] = np.linalg.lstsq(matrix, right, rcond=1e-12)[0][:size]
                if a.min() < -1e-9 * a.max() or a.sum() > budget * (1 + 1e-9):
                    continue
                a = np.maximum(a, 0.0)
                a *= min(1.0, budget / max(a.sum(), 1e-300))
                value = linear @ a - 0.5 * a @ H @ a
                if value > best:
                    best, best_a = value, a
    return best, best_a


@dataclass
class Block:
    """What one view has learned from one peer about the example."""

    target: int = -1  # which output is taught
    outputs: list = field(default_factory=list)  # the wrong ones that hold up its margin
    alpha: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass
class Unlabeled:
    """An example with all its outputs: joint features in every view, and the loss of each for each."""

    outputs: list
    phi: list  # of each view (n_outputs, n_weights)
    loss: np.ndarray  # (n_outputs, n_outputs): of predicting column for row
    given: list  # label numbers, None where there is none


@dataclass
class Visit:
    """The visit: ``weights`` are changed in place."""

    weights: list
    example: Unlabeled
    C: float
    C_u: float
    tol: float
    max_repeats: int
    rescaling: str = "margin"
    norm: int = 1
    own: bool = False  # as printed, lines 12-16: a view that disagrees is shown what it predicts itself
    blocks: dict = field(default_factory=dict)  # {(learner, peer): Block}
    n_steps: int = 0
    gains: list = field(default_factory=list)  # of the dual, in every step
    close_calls: int = 0  # decisions that rounding may turn
    margins: list = field(default_factory=list)
    predicted: list = field(default_factory=list)

    def run(self):
        views = range(len(self.weights))
        pairs = [(v, u) for v in views for u in views if u != v or len(views) == 1]
        self.blocks = {pair: Block() for pair in pairs}
        for _ in range(self.max_repeats):
            found = [self.predict(v) for v in views]
            self.predicted, self.margins = [f[0] for f in found], [f[1] for f in found]
            changed = [self.learn(v, u) for v, u in pairs]
            if not any(changed):
                break
        return self

    def forget(self):
        """Take what was learned out of the weights again."""
        for (v, _), block in self.blocks.items():
            self.replace(v, block, [], np.zeros(0))

    def predict(self, v):
        """The best output of one view that has the given labels, and by how much it beats the second best."""
        e = self.example
        fits = [all(g is None or g == c for g, c in zip(e.given, y)) for y in e.outputs]
        scores = np.where(fits, e.phi[v] @ self.weights[v], -np.inf)
        second, first = np.sort(scores)[-2:] if scores.size > 1 else (-np.inf, scores[0])
        self.close_calls += first - second < 1e-7
        return int(np.argmax(scores)), first - second

    def constraint(self, v, target, output):
        """(b, d) of ``xi >= b - <w, d>``."""
        e = self.example
        delta = e.loss[target, output] ** (1.0 / self.norm)
        difference = e.phi[v][target] - e.phi[v][output]
        return delta, difference * (delta if self.rescaling == "slack" else 1.0)

    def learn(self, v, u):
        """One step of view v towards what u predicts; whether anything changed."""
        block = self.blocks[v, u]
        share = np.mean([g is not None for g in self.example.given])
        weight = share + (1.0 - share) * self.C_u * min(self.margins[u], 1.0)
        changed = False
        if weight <= 1e-12 or block.target != self.predicted[u]:
            changed = self.replace(v, block, [], np.zeros(0))
            block.target = self.predicted[u]
        if weight <= 1e-12:
            return changed
        others = [k for k in range(len(self.example.outputs)) if k != block.target]
        violation = {k: self.violation(v, block.target, k) for k in others}
        slack = max([0.0, *(violation[k] for k in block.outputs)])
        worst = max(others, key=violation.get)
        if self.own and self.predicted[v] != block.target:
            worst = self.predicted[v]
        ranks = sorted(violation.values())
        self.close_calls += len(ranks) > 1 and ranks[-1] - ranks[-2] < 1e-7 and ranks[-1] > 0
        self.close_calls += abs(violation[worst] - slack - self.tol) < 1e-7
        outputs = list(block.outputs)
        budget, ridge = (self.C * weight, 0.0) if self.norm == 1 else (np.inf, 1.0 / (self.C * weight))
        if violation[worst] > slack + self.tol and worst not in outputs:
            outputs.append(worst)
        elif not self.is_far_from_optimal(block, violation, slack, weight, ridge, budget):
            return changed
        old = np.append(block.alpha, np.zeros(len(outputs) - len(block.outputs)))
        b, D = zip(*(self.constraint(v, block.target, k) for k in outputs))
        D = np.array(D)
        rest = self.weights[v] - old @ D
        linear = np.array(b) - D @ rest
        value, alpha = maximise(D @ D.T, linear, ridge, budget)
        start = old * min(1.0, budget / old.sum()) if old.sum() > 0 else old
        self.gains.append(value - (linear @ start - 0.5 * start @ (D @ D.T + ridge) @ start))
        self.n_steps += 1
        return self.replace(v, block, outputs, alpha) or changed

    def violation(self, v, target, k):
        b, d = self.constraint(v, target, k)
        return b - d @ self.weights[v]

    def is_far_from_optimal(self, block, violation, slack, weight, ridge, budget):
        mass = block.alpha.sum()
        most = self.C * weight * (slack if self.norm == 1 else 0.5 * slack**2)
        gap = most - sum(a * violation[k] for a, k in zip(block.alpha, block.outputs)) + 0.5 * ridge * mass**2
        limit = min(0.01, self.tol) * most + 1e-9 * self.C * weight
        self.close_calls += 0 < abs(gap - limit) < 1e-6 * most
        return mass > budget * (1 + 1e-9) or gap > limit

    def replace(self, v, block, outputs, alpha):
        """Give a block other variables; whether the weights change."""
        before = self.weights[v].copy()
        for sign, names, sizes in ((-1.0, block.outputs, block.alpha), (1.0, outputs, alpha)):
            for k, a in zip(names, sizes):
                self.weights[v] += sign * a * self.constraint(v, block.target, k)[1]
        kept = alpha > 0
        self.close_calls += np.any((0 < alpha) & (alpha < 1e-9 * max(alpha.max(initial=0.0), 1e-300)))
        block.outputs, block.alpha = [k for k, keep in zip(outputs, kept) if keep], alpha[kept]
        return not np.array_equal(before, self.weights[v])
