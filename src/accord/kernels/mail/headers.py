"""Line ends and headers of mail, byte by byte."""

import numpy as np

from accord.kernels.compiling import NONE, ZERO, helper, kernel


@kernel
def unify_line_ends(data, out):
    """Write ``data`` with every CR LF, and every CR, as one LF; returns the length."""
    n, i = ZERO, ZERO
    while i < data.size:
        c = data[i]
        i += 1
        if c == 13:
            c = np.uint8(10)
            if i < data.size and data[i] == 10:
                i += 1
        out[n] = c
        n += 1
    return n


@helper
def _is_blank(c):
    return c == 32 or c == 9


@kernel
def read_headers(data, begin, end, names, values):
    """Write the names of headers, in small letters, and their values, unfolded, one a line.

    Headers stand between ``begin`` and ``end``; ``names`` and ``values`` have room for as many bytes, and one more.
    Returns the lengths of both, with a line end behind each, or -1 and -1 if some line is no header.
    """
    i, n_names, n_values = begin, ZERO, ZERO
    while i <= end:  # a line that begins at the end is an empty one
        first = i
        while i < end and 33 <= data[i] <= 126 and data[i] != 58:
            c = data[i]
            names[n_names] = c + np.uint8(32) if 65 <= c <= 90 else c
            n_names += 1
            i += 1
        if i == first:
            return NONE, NONE
        while i < end and _is_blank(data[i]):
            i += 1
        if i >= end or data[i] != 58:
            return NONE, NONE
        i += 1
        at_start = True
        while i < end:
            c = data[i]
            i += 1
            if c == 10:
                if i == end or not _is_blank(data[i]):
                    i -= 1
                    break
                c = np.uint8(32)  # the next line goes on: a blank for the line end and the blank behind it
                i += 1
            if at_start and _is_blank(c):
                continue
            at_start = False
            values[n_values] = c
            n_values += 1
        names[n_names], values[n_values] = 10, 10
        n_names, n_values = n_names + 1, n_values + 1
        i += 1
    return n_names, n_values
