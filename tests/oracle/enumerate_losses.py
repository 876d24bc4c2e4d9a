"""Losses, taxonomies and tagging schemes, straight from their definitions. Imports nothing of Accord."""

import re


def zero_one(y, y_pred):
    return 0.0 if list(y) == list(y_pred) else 1.0


def hamming(y, y_pred, normalize=True, weights=None):
    """Fraction (or count) of wrong rows; a wrong row counts as the weight of its true label."""
    wrong = [1.0 if weights is None else weights[a] for a, b in zip(y, y_pred, strict=True) if a != b]
    if normalize and len(y) > 0:
        return sum(wrong) / len(y)
    return sum(wrong)


def cost(y, y_pred, matrix):
    """Cost matrix[true][predicted] of a single class."""
    return float(matrix[y[0]][y_pred[0]])


def f1(n_correct, n_true, n_predicted):
    """Harmonic mean of precision and recall; 1 if there was nothing to find and nothing was found."""
    if n_true == 0 and n_predicted == 0:
        return 1.0
    if n_correct == 0:
        return 0.0
    precision = n_correct / n_predicted
    recall = n_correct / n_true
    return 2 * precision * recall / (precision + recall)


def label_counts(y, y_pred, label):
    """(correct, true, predicted) rows of one label."""
    correct = sum(1 for a, b in zip(y, y_pred, strict=True) if a == label and b == label)
    return correct, list(y).count(label), list(y_pred).count(label)


def micro_f1(y, y_pred, relevant):
    """1 - F1 of the relevant labels' counts, added up."""
    counts = [label_counts(y, y_pred, label) for label in relevant]
    return 1.0 - f1(sum(c[0] for c in counts), sum(c[1] for c in counts), sum(c[2] for c in counts))


def macro_f1(y, y_pred, relevant):
    """1 - mean F1 of the relevant labels that occur in either output; 0 if none does."""
    scores = [f1(*label_counts(y, y_pred, label)) for label in relevant if label in y or label in y_pred]
    return 1.0 - sum(scores) / len(scores) if scores else 0.0


# -- taxonomies: {node: list of its parents} --------------------------------------------------------------------


def self_and_ancestors(node, parents):
    found = {node}
    for parent in parents[node]:
        found |= self_and_ancestors(parent, parents)
    return found


def children(node, parents):
    return [child for child in parents if node in parents[child]]


def height(node, parents):
    """Length of the longest way down to a leaf."""
    return max((1 + height(child, parents) for child in children(node, parents)), default=0)


def leaves(parents):
    return [node for node in parents if not children(node, parents)]


def tree_loss(a, b, parents):
    """Height of the lowest common ancestor; in a DAG, of the lowest of the lowest ones.

    An ancestor is a lowest common one if no other common ancestor lies below it. Classes without any common ancestor
    meet in a root above all roots.
    """
    if a == b:
        return 0.0
    common = self_and_ancestors(a, parents) & self_and_ancestors(b, parents)
    if not common:
        return 1.0 + max(height(node, parents) for node in parents)
    lowest = [z for z in common if not any(z != u and z in self_and_ancestors(u, parents) for u in common)]
    return float(min(height(z, parents) for z in lowest))


def taxonomy_lambda(node, parents, normalized, beta=None):
    """Lambda(y): every ancestor and y itself, weighted by 1, by 1 / sqrt(how many they are), or by beta(y, z)."""
    nodes = self_and_ancestors(node, parents)
    if beta is not None:
        return {z: beta(node, z) for z in nodes}
    return dict.fromkeys(nodes, len(nodes) ** -0.5 if normalized else 1.0)


# -- tagging schemes, as grammars of whole sequences -------------------------------------------------------------

GRAMMARS = {
    "iob2": r"(?:O |B(-\w+|) (?:I\1 )*)*",
    "bioes": r"(?:O |S(?:-\w+|) |B(-\w+|) (?:I\1 )*E\1 )*",
}


def is_valid(tags, scheme):
    """Whether a tag sequence is well-formed."""
    return re.fullmatch(GRAMMARS[scheme], "".join(f"{tag} " for tag in tags)) is not None


def has_forbidden_move(tags, pairs):
    """Whether a sequence contains a forbidden (label, next label); None is the start or the end."""
    moves = list(zip([None, *tags], [*tags, None]))
    return any(move in pairs for move in moves)
