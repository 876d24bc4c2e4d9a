"""How kernels are compiled: kept in a cache, run without the interpreter's lock, and nothing that nobody calls.

Around each function, Numba compiles two more: for calls from Python and from C. Nobody calls ours from C, and most of
them only other kernels call; all that unpacks their arguments took a fifth of the time.
"""

import numpy as np
from numba import njit

KERNEL = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}
HELPER = KERNEL | {"no_cpython_wrapper": True}

kernel = njit(**KERNEL)  # called from Python, and by kernels
helper = njit(**HELPER)  # called by kernels alone: a call from Python would crash, so tests see that there is none
inlined_helper = njit(inline="always", **HELPER)  # short loops, for which a call would take longer than the loop

# With a type of their own, because a kernel that calls another with a plain 0 has it compiled anew, for this 0.
ZERO, ONE, TWO, NONE = np.int64(0), np.int64(1), np.int64(2), np.int64(-1)
