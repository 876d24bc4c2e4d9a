"""One record compared with a few others: what a table says of the same pairs."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accord import RecordPairs
from accord.dedupe.few_pairs import FewPairs
from accord.kernels.records import strings

FIELDS = {"a": "text", "b": "number", "c": "date", "d": "category", "e": "text"}
text = st.one_of(
    st.none(), st.text(alphabet="ab 1é\U0001f600", max_size=9), st.text(alphabet="ab 2", min_size=140, max_size=300)
)
number = st.sampled_from([None, "0", "-3", "7.5", "75", "$1,250", "n/a", "x1"])
date = st.sampled_from([None, "1990-04-03", "03.04.1990", "1990-03-04", "5 May 2001", "unknown", "19991231"])
record = st.fixed_dictionaries(
    {"a": text, "b": number, "c": date, "d": st.sampled_from([None, "x", "y", "X"]), "e": text}
)


@settings(max_examples=60, deadline=None)
@given(st.lists(record, min_size=2, max_size=6), st.lists(record, min_size=1, max_size=3), st.booleans(), st.booleans())
def test_as_in_a_table(records, more, one_field, earlier):
    view = RecordPairs({"a": "text"} if one_field else FIELDS).fit([[*records, *records[:1], *more]])
    if earlier:  # a model of an earlier version
        view.gram_counts_ = view.whole_counts_ = None
        view.names_ = view._comparison_names()
    table = view.table(records)
    plain = list(zip(*view.plain_cells(records).values()))
    found = FewPairs(view).compare(plain[0], plain[1:])
    others = np.arange(1, len(records))
    np.testing.assert_allclose(found, table.compare(np.zeros_like(others), others), atol=1e-12)


def test_texts_of_many_words():
    """They are sorted another way; repetitions in and between them count as in a table."""
    rng = np.random.default_rng(0)
    records = [{"a": " ".join(map(str, rng.integers(0, 900, n)))} for n in (700, 650, 90, 400, 3)]
    assert max(len(set(record["a"].split())) for record in records) > 2 * strings._LONG_ROW
    view = RecordPairs({"a": "text"}).fit([records])
    plain = list(zip(*view.plain_cells(records).values()))
    found = FewPairs(view).compare(plain[0], plain[1:])
    np.testing.assert_allclose(found, view.table(records).compare(np.zeros(4, int), np.arange(1, 5)), atol=1e-12)
