"""Dynamic programs and training passes over label chains; layout of the arrays: see :mod:`accord.kernels`."""
