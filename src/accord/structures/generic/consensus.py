"""Examples seen through several views: what consensus solvers see, one at a time [thesis 5.3, 6.3, 6.5.3]."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from accord.kernels.chains.subspace import maximise_subspace
from accord.packed.problem import Sparse
from accord.packed.rescaling import RESCALINGS
from accord.packed.rows import Rows
from accord.packed.weights import ViewWeights
from accord.structures.generic.problem import Examples
from accord.structures.generic.viewed import ViewedProblem


class ExampleConsensusProblem(ViewedProblem):
    """Examples, labeled as a whole or not at all; see :class:`accord.packed.problem.ConsensusProblem`."""

    def __init__(
        self, structure: Any, channels: Sequence[Rows], y: np.ndarray, rescaling: str = "margin", norm: int = 1
    ) -> None:
        super().__init__(structure, channels, y, rescaling, norm)
        self.views = [Examples(structure, c) for c in self.channels]
        lengths = np.diff(self.offsets)
        first = np.minimum(self.offsets[:-1], max(len(y) - 1, 0))
        self.is_labeled = (lengths == 0) | (~structure.is_hidden(y[first]) if len(y) else True)
        self.labeled, self.unlabeled = np.flatnonzero(self.is_labeled), np.flatnonzero(~self.is_labeled)
        self.with_labels, self.partly_labeled = self.labeled, np.empty(0, np.int64)

    def label_frequency(self) -> np.ndarray:
        raise NotImplementedError("a structure without the capability labels")

    def unlabeled_scores(self, weights: ViewWeights, v: int) -> tuple[np.ndarray, np.ndarray, Any]:
        raise NotImplementedError("a structure without the capability labels")

    def pseudo_outputs(self, weights: ViewWeights, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError("a structure without the capability labels")

    # -- co-perceptron ----------------------------------------------------------------------------------------------
    def co_perceptron_epoch(
        self, weights: ViewWeights, sums: np.ndarray, order: np.ndarray, unlabeled_weight: float, pseudo: np.ndarray,
        clock: np.ndarray,
    ) -> tuple[int, int, int, int]:  # fmt: skip
        """One pass in the given order: (wrong outputs, disagreements, tokens that differ, updates)."""
        wrong = apart = tokens = updates = 0
        views = [weights.view(v) for v in range(self.n_views)]
        for i in order:
            labeled = self.is_labeled[i]
            if not labeled and unlabeled_weight == 0.0:
                continue
            best = [self.structure.best(self.views[v].parts(i, views[v])) for v in range(self.n_views)]
            found = [output for output, _ in best]
            clock[0] += 1.0
            if any(score == -np.inf for _, score in best):
                continue
            if not labeled:
                different = differing_rows(found)
                apart, tokens = apart + (different > 0), tokens + different
            for v in range(self.n_views):
                peers = [u for u in range(self.n_views) if u != v] or [v]
                targets = [self.y[self.views[v].span(i)]] if labeled else [found[u] for u in peers]
                targets = [target for target in targets if not np.array_equal(target, found[v])]
                if not targets:
                    continue
                updates += 1
                wrong += bool(labeled)
                change = self.views[v].joint(i, [*((t, 1.0) for t in targets), (found[v], -float(len(targets)))])
                step = self.weight(i) * (1.0 if labeled else unlabeled_weight)
                weights.flat(v)[change[0]] += step * change[1]
                if sums.size:
                    flat = sums[v].reshape(-1)[: weights.flat(v).size]
                    flat[change[0]] += (clock[0] - 1.0) * step * change[1]
        return wrong, apart, tokens, updates

    # -- co-support vector machine ----------------------------------------------------------------------------------
    def new_blocks(self, max_repeats: int) -> dict[tuple[int, int], Block]:
        """No constraints yet; one block per unlabeled example and ordered pair of views."""
        return {}

    def visit_unlabeled(
        self, weights: ViewWeights, blocks: dict[tuple[int, int], Block], order: np.ndarray, C: float,
        unlabeled_weight: float, pseudo: Any, tol: float, max_repeats: int, work: np.ndarray, keep: bool = False,
        own: bool = False,
    ) -> tuple[int, int, int, float]:  # fmt: skip
        """Rebuild the blocks of the given examples, or go on from those there are: (disagreements, tokens of those,
        subspace steps, least gain)."""
        apart = tokens = 0
        steps = 0
        least = np.inf
        for i in order:
            visit = _Visit(self, weights, blocks, int(i), C, unlabeled_weight, tol, max_repeats)
            visit.run(keep, own, [(told[i], by[i]) for told, by in zip(*pseudo)])
            apart, tokens = apart + (visit.apart > 0), tokens + visit.apart
            steps, least = steps + visit.steps, min(least, visit.least_gain)
        return apart, tokens, steps, least

    def predictions(self, weights: ViewWeights) -> tuple[list[dict[int, np.ndarray]], np.ndarray]:
        """What each view predicts for the unlabeled examples, and by which margin, as ``visit_unlabeled`` takes it."""
        outputs: list[dict[int, np.ndarray]] = [{} for _ in range(self.n_views)]
        margins = np.full((self.n_views, self.n_examples), np.inf)
        for v, i in itertools.product(range(self.n_views), self.unlabeled.tolist()):
            parts = self.views[v].parts(i, weights.view(v))
            outputs[v][i], _, margins[v, i] = self.structure.best_with_margin(parts)
        return outputs, margins

    def objective_of_blocks(
        self, weights: ViewWeights, blocks: dict[tuple[int, int], Block], order: np.ndarray, C: float,
        unlabeled_weight: float, pseudo: Any, work: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """What the given examples add to the primal and to the dual objective of every view, for these targets."""
        primal, dual = np.zeros((2, self.n_views))
        for i, (p, (v, u)) in itertools.product(order, enumerate(self.pairs)):
            target, weight = pseudo[0][u][i], unlabeled_weight * min(pseudo[1][u, i], 1.0)
            if weight <= 1e-12:
                continue
            parts = self.views[v].parts(i, weights.view(v))
            slack = max(0.0, self.structure.find_violator(parts, target, self.rescaling, self.norm)[0])
            if (block := blocks.get((int(i), p))) is not None:
                mass = float(block.alpha.sum())
                slack = max([slack, *block.violations(weights.flat(v))])
                dual[v] += float(block.alpha[: len(block.offsets)] @ block.offsets)
                dual[v] -= 0.0 if self.norm == 1 else 0.5 * mass**2 / (C * weight)
            primal[v] += C * weight * (slack if self.norm == 1 else 0.5 * slack**2)
        return primal, dual


class Block:
    """Constraints by which one view learns what a peer predicts for one example [thesis OP 6.5-6.7]."""

    def __init__(self, target: np.ndarray, max_repeats: int) -> None:
        self.target = target
        self.outputs: list[np.ndarray] = []
        self.changes: list[Sparse] = []  # joint-feature differences, scaled
        self.offsets: list[float] = []
        self.alpha = np.zeros(max_repeats)

    def forget(self, w: np.ndarray) -> bool:
        """Take the constraints out of the weights; returns whether there were any."""
        for a, (indices, values) in zip(self.alpha, self.changes):
            w[indices] -= a * values
        had = bool(self.changes)
        self.outputs, self.changes, self.offsets = [], [], []
        self.alpha[:] = 0.0
        return had

    def violations(self, w: np.ndarray) -> list[float]:
        return [o - float(x @ w[k]) for o, (k, x) in zip(self.offsets, self.changes)]

    def gram(self) -> np.ndarray:
        n = len(self.changes)
        out = np.zeros((n, n))
        for a in range(n):
            for b in range(a + 1):
                _, x, y = np.intersect1d(self.changes[a][0], self.changes[b][0], True, True)
                out[a, b] = out[b, a] = self.changes[a][1][x] @ self.changes[b][1][y]
        return out

    def keep(self, used: np.ndarray) -> None:
        """Drop the constraints without dual variable."""
        kept = self.alpha[used].copy()
        self.alpha[:] = 0.0
        self.alpha[: used.size] = kept
        for name in ("outputs", "changes", "offsets"):
            setattr(self, name, [getattr(self, name)[k] for k in used])


class _Visit:
    """One visit to an unlabeled example, as ``kernels.chains.co_svm.visit_unlabeled`` does it for chains."""

    def __init__(
        self, problem: ExampleConsensusProblem, weights: ViewWeights, blocks: dict, i: int, C: float, weight: float,
        tol: float, max_repeats: int,
    ) -> None:  # fmt: skip
        self.problem, self.blocks, self.i = problem, blocks, i
        self.flat = [weights.flat(v) for v in range(problem.n_views)]
        self.weights = [weights.view(v) for v in range(problem.n_views)]
        self.C, self.weight, self.tol, self.max_repeats = C, weight, tol, max_repeats
        self.pairs = problem.pairs
        self.best: list[Any] = [
            None
        ] * problem.n_views  # with the present weights: parts, output, score, margin; None: to be made
        self.apart, self.steps, self.least_gain = 0, 0, np.inf

    def run(self, keep: bool, own: bool, told: list[tuple[np.ndarray, float]]) -> None:
        """``own`` as for ``visit_unlabeled``; ``told``: what views teach their peers, and with which margin; empty:
        what they predict at the time.
        """
        for p, (v, _) in enumerate(self.pairs):
            if (self.i, p) in self.blocks and not keep:
                self.blocks.pop((self.i, p)).forget(self.flat[v])
        for _ in range(self.max_repeats):
            for v in range(len(self.best)):
                if self.best[v] is None:
                    parts = self.problem.views[v].parts(self.i, self.weights[v])
                    self.best[v] = parts, *self.problem.structure.best_with_margin(parts)
            if any(score == -np.inf for _, _, score, _ in self.best):
                return
            predicted = told or [(output, margin) for _, output, _, margin in self.best]
            mine = [output if own else None for output, _ in predicted]
            changed = [self._learn(p, v, *predicted[u], mine[v]) for p, (v, u) in enumerate(self.pairs)]
            if not any(changed):
                break
        self.apart = differing_rows([output for output, _ in predicted])

    def _learn(self, p: int, v: int, target: np.ndarray, margin: float, own: np.ndarray | None) -> bool:
        """View ``v`` learns one more constraint of the peer's prediction; returns whether its weights changed."""
        problem, key = self.problem, (self.i, p)
        weight = self.weight * min(margin, 1.0) * problem.weight(self.i)
        block, changed = self.blocks.get(key), False
        if block is not None and (weight <= 1e-12 or not np.array_equal(block.target, target)):
            changed = block.forget(self.flat[v])
            block = None
        if changed:
            self.best[v] = None
        if weight <= 1e-12:
            self.blocks.pop(key, None)
            return changed
        if block is None:
            block = self.blocks[key] = Block(target.copy(), self.max_repeats)
        parts = self.best[v][0] if self.best[v] else problem.views[v].parts(self.i, self.weights[v])
        if own is None or np.array_equal(own, target):
            h, loss, found = problem.structure.find_violator(parts, target, problem.rescaling, problem.norm)
        else:
            h, loss, found = self._violation(parts, target, own)
        linear = block.violations(self.flat[v])
        slack = max([0.0, *linear])
        budget, ridge = (self.C * weight, 0.0) if problem.norm == 1 else (np.inf, 1.0 / (self.C * weight))
        listed = any(np.array_equal(found, o) for o in block.outputs)
        if h > slack + self.tol and not listed and len(linear) < self.max_repeats:
            indices, values = problem.views[v].difference(self.i, target, found)
            if problem.rescaling == RESCALINGS["slack"]:
                values = values * loss
            block.outputs.append(found)
            block.changes.append((indices, values))
            block.offsets.append(loss)
            linear.append(loss - float(values @ self.flat[v][indices]))
        elif self._settled(block, np.array(linear), slack, budget, ridge, weight):
            return changed
        return self._optimise(v, block, np.array(linear), budget, ridge) or changed

    def _violation(self, parts: Any, target: np.ndarray, output: np.ndarray) -> tuple[float, float, np.ndarray]:
        """The same of one output as ``find_violator`` returns of the worst."""
        structure = self.problem.structure
        loss = structure.loss_between(target, output) ** (1.0 / self.problem.norm)
        scale = loss if self.problem.rescaling == RESCALINGS["slack"] else 1.0
        return loss - scale * (structure.score(parts, target) - structure.score(parts, output)), loss, output

    def _settled(
        self, block: Block, linear: np.ndarray, slack: float, budget: float, ridge: float, weight: float
    ) -> bool:
        """Whether the block is about optimal: its peer's margin and its view's weights may have changed since."""
        alpha = block.alpha[: linear.size]
        mass = float(alpha.sum())
        most = self.C * weight * (slack if ridge == 0.0 else 0.5 * slack**2)
        gap = most - float(alpha @ linear) + 0.5 * ridge * mass**2
        return mass <= budget * (1.0 + 1e-9) and gap <= min(0.01, self.tol) * most + 1e-9 * self.C * weight

    def _optimise(self, v: int, block: Block, linear: np.ndarray, budget: float, ridge: float) -> bool:
        n = linear.size
        gram, before = block.gram(), block.alpha[:n].copy()
        linear = linear + gram @ before
        mass = float(before.sum())
        if mass > budget:
            block.alpha[:n] *= budget / mass
        gain = maximise_subspace(gram, linear, n, ridge, budget, block.alpha)
        self.steps, self.least_gain = self.steps + 1, min(self.least_gain, gain)
        moved = block.alpha[:n] - before
        for amount, (indices, values) in zip(moved, block.changes):
            if amount != 0.0:
                self.flat[v][indices] += amount * values
        block.keep(np.flatnonzero(block.alpha[:n] > 0.0))
        if np.any(moved != 0.0):
            self.best[v] = None
            return True
        return False


def differing_rows(outputs: list[np.ndarray]) -> int:
    """Rows that are not the same in all outputs."""
    first = outputs[0].reshape(len(outputs[0]), -1)
    different = [np.any(y.reshape(first.shape) != first, axis=1) for y in outputs[1:]]
    return int(np.any(different, axis=0).sum()) if different else 0
