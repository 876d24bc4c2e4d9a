"""The co-perceptron (Table 5.2) in plain Python, by enumeration, for any number of views and partly labeled outputs.

Imports nothing of Accord. An example is one list of rows per view and a list of labels (numbers) or None. A label
sequence has the parts ("emit", row, label), ("start", label), ("end", label), ("pair", b, c) and ("triple", a, b, c);
a view learns the whole of what it is taught: parts with all their rows annotated count 1, the others C_u.
"""

import itertools

from enumerate_chain import NOTHING


class Machine:
    """Weights of all views, {part: weight} each, and how outputs are found."""

    def __init__(
        self, n_views, n_labels, label_nodes=None, order=1, eta=1.0, allowed=lambda y: True, ends=True, observed=False
    ):
        self.n_labels, self.order, self.eta, self.allowed, self.ends = n_labels, order, eta, allowed, ends
        self.observed = observed
        self.label_nodes = label_nodes or [{c: 1.0} for c in range(n_labels)]
        self.weights = [{} for _ in range(n_views)]
        self.near_ties = 0  # decisions that rounding may turn

    def parts(self, rows, y):
        """[(part of the weights, value, the rows it concerns)] of Phi(x, y)."""
        found = []
        for t, label in enumerate(y):
            for node, share in self.label_nodes[label].items():
                found += [(("emit", d, node), x * share, [t]) for d, x in enumerate(rows[t])]
        if self.order == 0 or not y:
            return found
        last = len(y) - 1
        if self.ends:
            found += [(("start", y[0]), self.eta, [0]), (("end", y[-1]), self.eta, [last])]
        for t in range(1, len(y)):
            found.append((("pair", y[t - 1], y[t]), self.eta, [t - 1, t]))
            if self.observed:
                found += [(("emit", d, (y[t - 1], y[t])), x, [t - 1, t]) for d, x in enumerate(rows[t])]
            if self.order == 2:
                before = [t - 2] if t >= 2 else []
                a = y[t - 2] if before else NOTHING
                found.append((("triple", a, y[t - 1], y[t]), self.eta, [*before, t - 1, t]))
        return found

    def decode(self, w, rows, given):
        """The best output that has the given labels (None: any)."""
        choices = [range(self.n_labels) if label is None else [label] for label in given]
        outputs = [y for y in itertools.product(*choices) if self.allowed(y)]
        scores = {y: sum(w.get(part, 0.0) * value for part, value, _ in self.parts(rows, y)) for y in outputs}
        top = max(scores.values())
        self.near_ties += any(0 < top - s < 1e-9 for s in scores.values())
        return min((y for y in outputs if scores[y] == top), key=self.rank)

    def rank(self, y):
        """Of equal outputs the one with the lowest label at the end wins, then the one before it, and so on.

        In second order a state is a pair of labels, so the last two are compared in the order in which they stand.
        """
        backwards = list(reversed(y))
        if self.order == 2 and len(y) > 1:
            backwards[:2] = backwards[1], backwards[0]
        return backwards

    def learn(self, v, rows, good, bad, truth, C_u):
        """Move view v from one output to another."""
        for y, sign in ((good, 1.0), (bad, -1.0)):
            for part, value, concerned in self.parts(rows, y):
                size = 1.0 if all(truth[t] is not None for t in concerned) else C_u
                self.weights[v][part] = self.weights[v].get(part, 0.0) + sign * size * value


def visit(machine, views, truth, C_u):
    """One example: (wrong outputs, whether views are taught different things)."""
    n_views = len(machine.weights)
    complete = None not in truth
    nothing = [None] * len(truth)
    found = [machine.decode(machine.weights[v], views[v], nothing) for v in range(n_views)]
    taught = [machine.decode(machine.weights[v], views[v], truth) for v in range(n_views)]
    wrong = sum(any(a is not None and a != b for a, b in zip(truth, y)) for y in found)
    for v in range(n_views):
        if complete:
            teachers = [tuple(truth)]
        else:
            teachers = [taught[u] for u in range(n_views) if u != v] or [taught[v]]
        for good in teachers:
            machine.learn(v, views[v], good, found[v], truth, C_u)
    return wrong, not complete and len(set(taught)) > 1


def train(machine, examples, C_u, orders, averaged):
    """Passes in the given orders until nothing is wrong and all agree; [weights of each view], the number of passes.

    The average is that of the weights before the first and after each visit.
    """
    sums, visits, passes = [{} for _ in machine.weights], 1, 0
    for order in orders:
        n_wrong, n_apart = 0, 0
        for i in order:
            views, truth = examples[i]
            if C_u == 0 and truth and all(label is None for label in truth):
                continue
            wrong, apart = visit(machine, views, truth, C_u)
            n_wrong, n_apart, visits = n_wrong + wrong, n_apart + apart, visits + 1
            for total, w in zip(sums, machine.weights):
                for part, value in w.items():
                    total[part] = total.get(part, 0.0) + value
        passes += 1
        if n_wrong == 0 and n_apart == 0:
            break
    if averaged:
        return [{part: value / visits for part, value in total.items()} for total in sums], passes
    return machine.weights, passes
