"""Similarities of strings by their definitions, in plain Python; imports nothing from Accord."""


def levenshtein(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def jaro_winkler(a: str, b: str) -> float:
    if not a or not b:
        return float(a == b)
    window = max(max(len(a), len(b)) // 2 - 1, 0)
    free = list(range(len(b)))
    matched = []
    for i, x in enumerate(a):
        j = next((j for j in free if abs(i - j) <= window and b[j] == x), None)
        if j is not None:
            free.remove(j)
            matched.append((i, j))
    if not matched:
        return 0.0
    second = [b[j] for j in sorted(j for _, j in matched)]
    moved = sum(a[i] != y for (i, _), y in zip(matched, second))
    m = len(matched)
    jaro = (m / len(a) + m / len(b) + (m - moved // 2) / m) / 3
    prefix = 0
    while prefix < min(len(a), len(b), 4) and a[prefix] == b[prefix]:
        prefix += 1
    return jaro + prefix * 0.1 * (1 - jaro)


def longest_piece(a: str, b: str) -> int:
    pieces = {a[i:j] for i in range(len(a)) for j in range(i + 1, len(a) + 1)}
    return max((len(piece) for piece in pieces if piece in b), default=0)


def common_beginning(a: str, b: str) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def trigrams(text: str, boundary: str = " ") -> set[str]:
    padded = boundary + text + boundary
    return {padded[i : i + 3] for i in range(len(padded) - 2)} if text else set()


def one_edit_or_swap(a: str, b: str) -> bool:
    if levenshtein(a, b) <= 1:
        return True
    swaps = [a[:i] + a[i + 1] + a[i] + a[i + 2 :] for i in range(len(a) - 1)]
    return b in swaps


def word_match(s: str, t: str) -> float:
    if s == t:
        return 1.0
    if min(len(s), len(t)) >= 4 and one_edit_or_swap(s, t):
        return 0.8
    return 0.6 if s.startswith(t) or t.startswith(s) else 0.0


def aligned(a: list[str], b: list[str], weights: dict[str, float]) -> tuple[float, float]:
    shares = []
    for words, others in ((a, b), (b, a)):
        total = sum(weights[word] for word in words)
        found = sum(weights[word] * max((word_match(word, other) for other in others), default=0.0) for word in words)
        shares.append(found / total if total > 0 else 0.0)
    return min(shares), max(shares)
