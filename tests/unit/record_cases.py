"""Made-up people with misspelt duplicates, for tests of de-duplication."""

from accord import datasets


def people(n: int, seed: int = 0) -> tuple[list[dict[str, str | None]], list[int]]:
    """Records of `n` people, one to three of each, in random order, and who they are."""
    return datasets.people(n, random_state=seed)
