"""Links, suspects and the tagger's race on small pieces of real data. Needs a local data folder; set ACCORD_DATA."""

import numpy as np
import pytest
from cli_helpers import ok

from accord import CRF, GraphFeatures, MultiClass, Sequence, Tagger, suspects
from accord.datasets import available, load
from accord.datasets.label_spans import extract_spans
from accord.evaluation import draw, span_f1

pytestmark = [pytest.mark.slow, pytest.mark.long]


def needed(name, data_dir, **options):
    if name not in available(data_dir):
        pytest.skip(f"the data folder has no {name}")
    return load(name, data_dir, **options)


@pytest.fixture(scope="module")
def papers(data_dir):
    """The 300 papers of the three largest topics of Cora with the most citations among them."""
    cora = needed("citation_cora", data_dir, extra=True)
    words, links, y = cora.X.toarray(), cora.extra["links"].toarray(), np.array(cora.Y)
    topics, sizes = np.unique(y, return_counts=True)
    kept = np.flatnonzero(np.isin(y, topics[np.argsort(-sizes)[:3]]))
    kept = kept[np.argsort(-links[np.ix_(kept, kept)].sum(axis=1), kind="stable")][:300]
    return words[kept], links[np.ix_(kept, kept)], y[kept]


def test_citations_tell_topics_on_the_command_line(papers, tmp_path):
    words, links, y = papers
    rng = np.random.default_rng(0)
    known = np.concatenate([rng.choice(np.flatnonzero(y == topic), 5, replace=False) for topic in np.unique(y)])
    few = ["" if i not in known else label for i, label in enumerate(y)]
    texts = [" ".join(f"w{k}" for k in np.flatnonzero(row)) for row in words]
    rows = [f"p{i},{text},{label}\n" for i, (text, label) in enumerate(zip(texts, few))]
    (tmp_path / "papers.csv").write_text("id,text,topic\n" + "".join(rows))
    pairs = zip(*np.nonzero(np.triu(links)))
    (tmp_path / "links.csv").write_text("".join(f"p{i},p{j}\n" for i, j in pairs))
    errors = {}
    for name, options in (("text", ()), ("links", ("--links", tmp_path / "links.csv"))):
        model = tmp_path / f"{name}.accord"
        ok("train", tmp_path / "papers.csv", *options, "-q", "-o", model)
        errors[name] = np.mean(np.array(ok("predict", model, tmp_path / "papers.csv").split("\n")[:-1]) != y)
    assert errors["links"] < 0.8 * errors["text"], errors


def test_graph_kernels_of_citations(papers):
    words, links, y = papers
    known = np.concatenate([np.flatnonzero(y == topic)[:5] for topic in np.unique(y)])
    few = [label if i in known else None for i, label in enumerate(y)]
    found = [
        CRF(MultiClass(), view=view).fit(words, few).predict(words)
        for view in (None, GraphFeatures(kernel="linear", edges=links))
    ]
    plain, linked = (np.mean(one != y) for one in found)
    assert linked < plain, (linked, plain)


def test_relabeled_spanish_names_are_found(data_dir):
    data = needed("conll2002_esp", data_dir)
    X, Y = data.X[:400], [list(y) for y in data.Y[:400]]
    rng, changed = np.random.default_rng(0), set()
    for i, y in enumerate(data.Y[:400]):
        for kind, start, end in extract_spans(y):
            if rng.random() < 0.05:
                other = rng.choice([name for name in ("LOC", "MISC", "ORG", "PER") if name != kind])
                Y[i][start:end] = [label[:2] + other for label in Y[i][start:end]]
                changed.add((i, start, end))
    found = [(one.example, one.start, one.end) in changed for one in suspects(X, Y, random_state=0)]
    half = int(np.searchsorted(np.cumsum(found), len(changed) / 2))
    assert np.mean(found[: half + 1]) > 0.4  # by chance 0.05


def test_the_tagger_finds_more_spanish_names(data_dir):
    data, test = needed("conll2002_esp", data_dir), needed("conll2002_esp", data_dir, part="testa")
    X, Y = data.X[:600], data.Y[:600]
    few = set(draw(Y, 20, rng=0, max_tries=100_000).labeled)
    model = Tagger(random_state=0).fit(X, [y if i in few else None for i, y in enumerate(Y)])
    plain = CRF(Sequence(constraints="iob2")).fit([X[i] for i in sorted(few)], [Y[i] for i in sorted(few)])
    scores = [span_f1(test.Y[:200], one.predict(test.X[:200])) for one in (model, plain)]
    assert scores[0] > scores[1], scores
