"""How kernels are compiled: kept in a cache, run without the interpreter's lock, and nothing that nobody calls.

Around each function, Numba compiles two more: for calls from Python and from C. Nobody calls ours from C, and most of
them only other kernels call; all that unpacks their arguments took a fifth of the time.
"""

from numba import njit

KERNEL = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}
HELPER = KERNEL | {"no_cpython_wrapper": True}

kernel = njit(**KERNEL)  # called from Python, and by kernels
helper = njit(**HELPER)  # called by kernels alone: a call from Python would crash, so tests see that there is none
