"""Which w? Estimators that put structures, views and solvers together."""
