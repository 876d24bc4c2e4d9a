"""Comparisons of packed strings, over lists of pairs.

Distinct strings arrive as one array of symbol numbers (0, 1, ... without gaps, so that a table can be indexed by them;
`PackedStrings` of de-duplication numbers the characters). Edit distances are computed 64 rows at a time
(the bit-vector algorithm of Myers with the carries of Hyyrö), so that long titles cost little more than short names.
"""

import numpy as np

from accord.kernels.compiling import NONE, ONE, helper, kernel

_ZERO, _ONE, _ALL = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
_LAST = np.uint64(63)
_PREFIX_SCALE, _PREFIX_LENGTH = 0.1, 4  # Winkler's
_SIMILAR_WORD, _SHORTENED_WORD = 0.8, 0.6
_LONG_WORD = 4  # shorter words differ from others by one letter too easily
_LONG_ROW, _GAPS = 40, (3548, 1577, 701, 301, 132, 57, 23, 10, 4)  # Ciura's gaps of Shell's sort


@helper
def _n_same(codes, i, j, step, most):
    """How many symbols are the same from places ``i`` and ``j`` on, forwards (1) or backwards (-1); `most` at most."""
    n = 0
    while n < most and codes[i + n * step] == codes[j + n * step]:
        n += 1
    return n


@helper
def _jaro_winkler(codes, a, a_end, b, b_end, taken_a, taken_b):
    """Similarity of Jaro with Winkler's reward of a common beginning."""
    n_a, n_b = a_end - a, b_end - b
    if n_a == 0 or n_b == 0:
        return 1.0 if n_a == n_b else 0.0
    window = max(max(n_a, n_b) // 2 - 1, 0)
    taken_a[:n_a] = False
    taken_b[:n_b] = False
    n_common = 0
    for i in range(n_a):
        for j in range(max(0, i - window), min(n_b, i + window + 1)):
            if not taken_b[j] and codes[a + i] == codes[b + j]:
                taken_a[i] = True
                taken_b[j] = True
                n_common += 1
                break
    if n_common == 0:
        return 0.0
    n_moved, j = 0, 0
    for i in range(n_a):
        if taken_a[i]:
            while not taken_b[j]:
                j += 1
            n_moved += codes[a + i] != codes[b + j]
            j += 1
    jaro = (n_common / n_a + n_common / n_b + (n_common - n_moved // 2) / n_common) / 3.0
    same = _n_same(codes, a, b, ONE, min(min(n_a, n_b), _PREFIX_LENGTH))
    return jaro + same * _PREFIX_SCALE * (1.0 - jaro)


@helper
def _levenshtein(codes, a, a_end, b, b_end, places, up, down):
    """Insertions, deletions and replacements from one string to the other.

    ``places[s, w]``: the bits of word ``w`` at which the first string has symbol ``s``; all zero before and after.
    """
    n_a, n_b = a_end - a, b_end - b
    if n_a == 0 or n_b == 0:
        return max(n_a, n_b)
    n_words = (n_a + 63) // 64
    for i in range(n_a):
        places[codes[a + i], i // 64] |= _ONE << np.uint64(i % 64)
    up[:n_words] = _ALL
    down[:n_words] = _ZERO
    last = _ONE << np.uint64((n_a - 1) % 64)
    distance = n_a
    for j in range(n_b):
        symbol = codes[b + j]
        carry_up, carry_down = _ONE, _ZERO
        for w in range(n_words):
            vertical_up, vertical_down, equal = up[w], down[w], places[symbol, w]
            changed = equal | vertical_down
            equal |= carry_down
            diagonal = (((equal & vertical_up) + vertical_up) ^ vertical_up) | equal
            rising = vertical_down | ~(diagonal | vertical_up)
            falling = vertical_up & diagonal
            if w == n_words - 1:
                if rising & last:
                    distance += 1
                elif falling & last:
                    distance -= 1
            next_up, next_down = rising >> _LAST, falling >> _LAST
            rising = (rising << _ONE) | carry_up
            falling = (falling << _ONE) | carry_down
            up[w] = falling | ~(changed | rising)
            down[w] = rising & changed
            carry_up, carry_down = next_up, next_down
    for i in range(n_a):
        places[codes[a + i], i // 64] = _ZERO
    return distance


@helper
def _longest_run(codes, a, a_end, b, b_end):
    """Length of the longest piece that both strings contain.

    Along each way of laying the strings side by side, a run longer than the best so far, n, covers one of any n + 1
    neighbouring places, so only every (n + 1)-th has to be looked at until characters agree.
    """
    best = 0
    for shift in range(a - a_end + 1, b_end - b):  # place i of the first string lies at place i + shift of the second
        i, j = a + max(0, -shift), b + max(0, shift)
        length = min(a_end - i, b_end - j)
        first = 0  # no run that is looked for begins before
        while first + best < length:
            place = first + best
            if codes[i + place] != codes[j + place]:
                first = place + 1
                continue
            begin = place - _n_same(codes, i + place - 1, j + place - 1, NONE, place - first)
            end = place + _n_same(codes, i + place, j + place, ONE, length - place)
            best = max(best, end - begin)
            first = end + 1
    return best


@kernel
def compare(codes, starts, n_symbols, longest, left, right, out):
    """Five similarities of every pair of strings, all between 0 and 1.

    ``out[p]``: Jaro-Winkler; 1 - edits / length of the longer one; longest common piece / length of the shorter one;
    common beginning / length of the shorter one; the same backwards. Where one is longer than ``longest``, the less of
    the beginning of both is looked at, and of the end for the last one, the longer it is: how a long text is spelled
    decides little, and takes long.
    """
    taken_a, taken_b = np.empty(longest, np.bool_), np.empty(longest, np.bool_)
    n_words = (longest + 63) // 64
    places = np.zeros((n_symbols, n_words), np.uint64)
    up, down = np.empty(n_words, np.uint64), np.empty(n_words, np.uint64)
    for p in range(left.size):
        a, a_last = starts[left[p]], starts[left[p] + 1]
        b, b_last = starts[right[p]], starts[right[p] + 1]
        longer = max(a_last - a, b_last - b)
        most = longest if longer <= longest else longest * longest // longer + 1
        a_end, b_end = min(a_last, a + most), min(b_last, b + most)
        shorter, longer = min(a_end - a, b_end - b), max(a_end - a, b_end - b)
        out[p, 0] = _jaro_winkler(codes, a, a_end, b, b_end, taken_a, taken_b)
        edits = _levenshtein(codes, a, a_end, b, b_end, places, up, down)
        out[p, 1] = 1.0 - edits / longer if longer else 1.0
        if shorter == 0:
            out[p, 2:] = 1.0 if longer == 0 else 0.0
            continue
        out[p, 2] = _longest_run(codes, a, a_end, b, b_end) / shorter
        out[p, 3] = _n_same(codes, a, b, ONE, shorter) / shorter
        out[p, 4] = _n_same(codes, a_last - 1, b_last - 1, NONE, shorter) / shorter


@helper
def _one_edit(codes, a, a_end, b, b_end):
    """Whether one replacement, insertion, deletion or swap of neighbours makes the strings equal."""
    n_a, n_b = a_end - a, b_end - b
    if abs(n_a - n_b) > 1:
        return False
    shorter = min(n_a, n_b)
    head = _n_same(codes, a, b, ONE, shorter)
    tail = _n_same(codes, a_end - 1, b_end - 1, NONE, shorter - head)
    left = max(n_a, n_b) - head - tail
    if left <= 1:
        return True
    i, j = a + head, b + head
    return left == 2 and n_a == n_b and codes[i] == codes[j + 1] and codes[i + 1] == codes[j]


@helper
def _word_match(codes, starts, s, t):
    """How much word ``s`` is like word ``t``: 1 the same, less for one edit, least if one begins with the other."""
    if s == t:
        return 1.0
    a, a_end, b, b_end = starts[s], starts[s + 1], starts[t], starts[t + 1]
    shorter = min(a_end - a, b_end - b)
    if shorter >= _LONG_WORD and _one_edit(codes, a, a_end, b, b_end):
        return _SIMILAR_WORD
    return _SHORTENED_WORD if _n_same(codes, a, b, ONE, shorter) == shorter else 0.0


@helper
def _mark_shared(words, i, i_end, j, j_end, shared_i, shared_j):
    """Which of two sorted rows of words have the same word in the other row."""
    shared_i[: i_end - i] = False
    shared_j[: j_end - j] = False
    first_i, first_j = i, j
    while i < i_end and j < j_end:
        if words[i] < words[j]:
            i += 1
        elif words[i] > words[j]:
            j += 1
        else:
            shared_i[i - first_i] = True
            shared_j[j - first_j] = True
            i += 1
            j += 1


@kernel
def align_words(codes, word_starts, indptr, words, weights, n_words, most, left, right, out):
    """How much of each string's words the other one has, by weight, spelling errors and initials included.

    ``words[indptr[v]:indptr[v + 1]]`` are the words of string ``v``, as sorted numbers of packed words. ``out[p]`` are
    the smaller and the larger share of the two strings. No string has more than ``n_words`` words. Where one has more
    than ``most``, only equal words count: so many say enough, and to look for spelling errors among all of them takes
    long.
    """
    shared = np.empty((2, n_words), np.bool_)
    for p in range(left.size):
        i, i_end = indptr[left[p]], indptr[left[p] + 1]
        j, j_end = indptr[right[p]], indptr[right[p] + 1]
        _mark_shared(words, i, i_end, j, j_end, shared[0], shared[1])
        many = max(i_end - i, j_end - j) > most
        low, high = 1.0, 0.0
        for side in range(2):
            own, own_end, other, other_end = (i, i_end, j, j_end) if side == 0 else (j, j_end, i, i_end)
            total, found = 0.0, 0.0
            for k in range(own, own_end):
                best = 1.0 if shared[side, k - own] else 0.0
                if best == 0.0 and not many:
                    for m in range(other, other_end):
                        best = max(best, _word_match(codes, word_starts, words[k], words[m]))
                total += weights[words[k]]
                found += best * weights[words[k]]
            share = found / total if total > 0.0 else 0.0
            low, high = min(low, share), max(high, share)
        out[p, 0] = low
        out[p, 1] = high


@kernel
def shared_items(indptr, items, weights, left, right, n_shared, shared):
    """Number and summed weights of the items that two rows share.

    Items are numbers, sorted and without repetition in each row; ``weights[i]`` is that of item i.
    """
    for p in range(left.size):
        i, i_end = indptr[left[p]], indptr[left[p] + 1]
        j, j_end = indptr[right[p]], indptr[right[p] + 1]
        n, total = 0, 0.0
        while i < i_end and j < j_end:
            first, second = items[i], items[j]
            if first == second:
                n += 1
                total += weights[first]
            # without branches, which nothing could foresee
            i += first <= second
            j += second <= first
        n_shared[p] = n
        shared[p] = total


@kernel
def trigrams(codes, starts, boundary, keys, indptr):
    """Runs of three symbols of every string as 63-bit keys; a boundary is added at either end.

    ``keys`` has room for all characters plus one per string; returns how many were written.
    """
    n = 0
    for v in range(starts.size - 1):
        indptr[v] = n
        first, last = starts[v], starts[v + 1]
        for i in range(first, last):
            before = boundary if i == first else np.int64(codes[i - 1])
            after = boundary if i == last - 1 else np.int64(codes[i + 1])
            keys[n] = (before << 42) | (np.int64(codes[i]) << 21) | after
            n += 1
    indptr[starts.size - 1] = n
    return n


@helper
def _nearly_sort(keys, carried, begin, end, own):
    """Shell's sort without its last step: by insertion among every 701st key, then every 301st, and so on."""
    for gap in _GAPS:
        for i in range(begin + gap, end):
            key, place = keys[i], i
            for c in range(own.size):
                own[c] = carried[c, i]
            while place - gap >= begin and keys[place - gap] > key:
                keys[place] = keys[place - gap]
                for c in range(own.size):
                    carried[c, place] = carried[c, place - gap]
                place -= gap
            keys[place] = key
            for c in range(own.size):
                carried[c, place] = own[c]


@kernel
def sort_rows(keys, carried, indptr):
    """Sort every row and leave out repetitions, in place; returns how many keys are left.

    Columns of ``carried`` (which may have no rows) go with the keys. By insertion, which is quick for short rows, and
    for those that are sorted; long ones nearly are before it begins.
    """
    n, begin = 0, indptr[0]
    own = np.empty(carried.shape[0], carried.dtype)
    for v in range(indptr.size - 1):
        first, end = n, indptr[v + 1]
        if end - begin > _LONG_ROW:
            _nearly_sort(keys, carried, begin, end, own)
        for i in range(begin, end):
            key = keys[i]
            place = n
            while place > first and keys[place - 1] > key:
                place -= 1
            if place > first and keys[place - 1] == key:
                continue
            for c in range(own.size):
                own[c] = carried[c, i]
            for k in range(n, place, -1):
                keys[k] = keys[k - 1]
                for c in range(own.size):
                    carried[c, k] = carried[c, k - 1]
            keys[place] = key
            for c in range(own.size):
                carried[c, place] = own[c]
            n += 1
        indptr[v] = first
        begin = end
    indptr[indptr.size - 1] = n
    return n
