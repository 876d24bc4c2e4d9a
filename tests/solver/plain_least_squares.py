"""Co-regularised least squares as the thesis writes it down (chapter 4), slow and obvious. Imports nothing of Accord.

A problem is a list of views and ``lambda_``. A view is a dict: "L" kernel values between its labeled examples and those
that it is expanded over, "U" the same for the unlabeled ones, "K" the kernel values among those that it is expanded
over (the norm is a'K a), "y" targets (n_v, n_outputs), "eta", "labeled" which example each labeled one is.
"""

import numpy as np


def exact_view(K, y, eta, labeled=None):
    """A view of Optimization Problem 4.1: expanded over all examples; the rows of ``K`` start with the labeled ones."""
    n = len(y)
    return {"L": K[:n], "U": K[n:], "K": K, "y": y, "eta": eta, "labeled": numbers(labeled, n)}


def semiparametric_view(K, y, eta, labeled=None):
    """A view of Optimization Problem 4.2: expanded over labeled examples."""
    n = len(y)
    return {"L": K[:n, :n], "U": K[n:, :n], "K": K[:n, :n], "y": y, "eta": eta, "labeled": numbers(labeled, n)}


def numbers(labeled, n):
    return np.arange(n) if labeled is None else np.asarray(labeled)


def objective(views, alphas, lambda_):
    """Q of the optimisation problems: the disagreement counts every pair of views twice."""
    total = 0.0
    for view, a in zip(views, alphas):
        total += np.sum((view["y"] - view["L"] @ a) ** 2)
        total += view["eta"] * np.sum(a * (view["K"] @ a))
    for u, a in zip(views, alphas):
        for v, b in zip(views, alphas):
            total += lambda_ * np.sum((u["U"] @ a - v["U"] @ b) ** 2)
    return float(total)


def gradients(views, alphas, lambda_):
    """The gradient of Q for each view, and the size of the terms that have to cancel in it."""
    predictions = [view["U"] @ a for view, a in zip(views, alphas)]
    out = []
    for v, (view, a) in enumerate(zip(views, alphas)):
        others = [p for u, p in enumerate(predictions) if u != v]
        terms = [2 * view["L"].T @ (view["L"] @ a), -2 * view["L"].T @ view["y"], 2 * view["eta"] * view["K"] @ a]
        terms += [4 * lambda_ * view["U"].T @ predictions[v] for _ in others]
        terms += [-4 * lambda_ * view["U"].T @ p for p in others]
        out.append((np.sum(terms, axis=0), max(np.linalg.norm(term) for term in terms)))
    return out


def G(view, n_views, lambda_):
    """The diagonal block of Propositions 4.1 and 4.2."""
    return view["L"].T @ view["L"] + view["eta"] * view["K"] + 2 * lambda_ * (n_views - 1) * view["U"].T @ view["U"]


def solve(views, lambda_):
    """The systems of Propositions 4.1 and 4.2, by least squares: of all solutions, if K is singular, the shortest."""
    sizes = [view["K"].shape[0] for view in views]
    rows = []
    for u, view in enumerate(views):
        blocks = [
            G(view, len(views), lambda_) if u == v else -2 * lambda_ * view["U"].T @ other["U"]
            for v, other in enumerate(views)
        ]
        rows.append(np.hstack(blocks))
    right = np.vstack([view["L"].T @ view["y"] for view in views])
    found = np.linalg.lstsq(np.vstack(rows), right, rcond=None)[0]
    return np.split(found, np.cumsum(sizes)[:-1])


def descend(views, lambda_, n_rounds):
    """Table 4.1: one view after another, given the others' predictions. Predictions after every round."""
    predictions = [np.zeros((view["U"].shape[0], view["y"].shape[1])) for view in views]
    history = []
    for _ in range(n_rounds):
        for v, view in enumerate(views):
            others = sum((p for u, p in enumerate(predictions) if u != v), np.zeros_like(predictions[v]))
            right = view["L"].T @ view["y"] + 2 * lambda_ * view["U"].T @ others
            predictions[v] = view["U"] @ np.linalg.solve(G(view, len(views), lambda_), right)
        history.append([p.copy() for p in predictions])
    return history


def ridge(K, y, eta):
    """One view alone."""
    return np.linalg.solve(K + eta * np.eye(len(K)), y)


def without_label(views, example):
    """The problem without the label of an example; it stays among those that views are expanded over."""
    return [
        {**view, "L": view["L"][kept], "y": view["y"][kept], "labeled": view["labeled"][kept]}
        for view in views
        for kept in [view["labeled"] != example]
    ]


def left_out(views, lambda_):
    """What each view predicts for its labeled examples if their labels are taken away, by fitting again."""
    out = [np.empty_like(view["y"]) for view in views]
    for example in np.unique(np.concatenate([view["labeled"] for view in views])):
        alphas = solve(without_label(views, example), lambda_)
        for view, a, found in zip(views, alphas, out):
            here = view["labeled"] == example
            found[here] = view["L"][here] @ a
    return out


def rbf(A, B, gamma):
    """Gaussian kernel values."""
    return np.exp(-gamma * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))
