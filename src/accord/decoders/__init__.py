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
