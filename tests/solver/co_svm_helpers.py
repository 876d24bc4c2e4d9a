"""What holds of every co-SVM that has ended."""

import re
import warnings

from sklearn.exceptions import ConvergenceWarning


def fit_or_be_warned(model, X, y):
    """Fit: the views have come to rest, or one warning names how far each of them is from that."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, y)
    if model.converged_:
        assert not said
        assert max(model.view_gaps_) <= model.tol
    else:
        (warning,) = said
        named = [float(gap) for gap in re.findall(r"([\d.e-]+) %", str(warning.message))]
        assert named == [float(f"{100 * gap:.2g}") for gap in model.view_gaps_]
