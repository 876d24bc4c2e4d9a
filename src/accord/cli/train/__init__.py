"""``accord train``: from options to a task, an estimator, a fit and a model file."""
