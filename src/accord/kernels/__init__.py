"""Numba kernels: the only place with compiled code. They see arrays and numbers, never objects.

All chain kernels share one layout, which covers first- and second-order chains over ``L`` labels:

======  =================  ==================================================================
array   shape              meaning
======  =================  ==================================================================
init    (L,)               score of starting with a label
step    (A, B, L)          score of moving from state ``a * B + b`` to state ``b * L + c``
final   (L,)               score of ending with a label
======  =================  ==================================================================

First order has ``A = L, B = 1`` (a state is a label). Second order has ``A = L + 1, B = L`` (a state is a pair of
labels; row ``A - 1`` stands for "nothing before"). A sequence starts in state ``A * B - L + c``.
Minus infinity is a legal score everywhere and means "not allowed". Ties go to the lowest index.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path


def forget_old_kernels(folder: Path) -> bool:
    """Remove compiled kernels below ``folder`` if any source file there has changed since they were compiled.

    Numba recompiles a kernel when its own file changes, not when a helper from another file does, and would go on
    running the old machine code of that helper. Returns whether any has.
    """
    cache = folder / "__pycache__"
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        status = path.stat()
        digest.update(f"{path.relative_to(folder)} {status.st_mtime_ns} {status.st_size}\n".encode())
    stamp, now = cache / "kernels.stamp", digest.hexdigest()
    if stamp.is_file() and stamp.read_text() == now:
        return False
    for pattern in ("*.nbi", "*.nbc"):
        for path in folder.rglob(f"__pycache__/{pattern}"):
            path.unlink(missing_ok=True)
    cache.mkdir(exist_ok=True)
    fresh = cache / f"kernels.{os.getpid()}"
    fresh.write_text(now)
    fresh.replace(stamp)
    return True


with suppress(OSError):  # a folder that cannot be written has no compiled kernels either: they are with the user's
    forget_old_kernels(Path(__file__).parent)
