"""Models as a step of a spaCy pipeline: ``nlp.add_pipe("accord", config={"model": "names.accord"})``.

A tagger of spans (labels B-..., I-..., O) gives entities, ``doc.ents``, and beside them ``doc.spans["accord"]``, whose
``attrs["scores"]`` has their probabilities; ``span._.accord_score`` finds that of one. A tagger of other labels gives
``token.tag_``. A classifier of texts gives ``doc.cats``. Sentences are tagged one by one where the pipeline knows them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from math import nan
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup
from spacy.util import minibatch
from spacy.vocab import Vocab

from accord.datasets.label_spans import extract_spans
from accord.exceptions import InputError
from accord.learners.base import ProbabilisticLearner
from accord.model_file import load, save

GROUP = "accord"
_FILE = "model.accord"


@Language.factory("accord", assigns=["doc.ents", "doc.spans", "doc.cats", "token.tag"], default_config={"model": None})
def make_accord(nlp: Language, name: str, model: str | None) -> AccordComponent:
    """What ``nlp.add_pipe("accord")`` makes."""
    return AccordComponent(nlp.vocab, name, model)


class AccordComponent:
    """A model file in a pipeline.

    ``model`` is the path of a file that ``accord train`` or ``save`` has written. A pipeline that is written by
    ``nlp.to_disk`` takes the model along, and is read without the path.
    """

    def __init__(self, vocab: Vocab, name: str = "accord", model: str | None = None) -> None:
        self.vocab, self.name = vocab, name
        self.model: Any = None
        self._missing = "it has no model; give its path: nlp.add_pipe('accord', config={'model': 'names.accord'})"
        if model is not None:
            try:
                self.take(load(model))
            except FileNotFoundError:  # a pipeline that is read from a folder brings its model a moment later
                self._missing = f"there is no file {model!r}"
        if not Span.has_extension("accord_score"):
            Span.set_extension("accord_score", getter=score_of)

    def take(self, model: Any) -> None:
        """Use this model."""
        structure: Any = getattr(model, "structure_", None)
        if not hasattr(structure, "labels_") or "grammar" in getattr(structure, "capabilities", ()):
            raise InputError(f"model is a {type(model).__name__}; expected a fitted tagger, or classifier of texts")
        self.model = model
        self._is_of_spans = all(label == "O" or str(label)[1:2] == "-" for label in structure.labels_)

    # -- documents ------------------------------------------------------------------------------------------------
    def __call__(self, doc: Doc) -> Doc:
        """Add what the model says."""
        self._tell([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """The same for many, some at a time."""
        for docs in minibatch(stream, batch_size):
            self._tell(docs)
            yield from docs

    def _tell(self, docs: list[Doc]) -> None:
        if self.model is None:
            raise InputError(f"the component {self.name!r} cannot be used: {self._missing}")
        if self.model.structure_.single_row:
            self._classify(docs)
        else:
            self._tag(docs)

    def _classify(self, docs: list[Doc]) -> None:
        texts, labels = [doc.text for doc in docs], self.model.structure_.labels_
        if hasattr(self.model, "predict_proba"):
            rows = self.model.predict_proba(texts)
        else:
            rows = [[float(label == found) for label in labels] for found in self.model.predict(texts)]
        for doc, row in zip(docs, rows):
            doc.cats = {**doc.cats, **{str(label): float(p) for label, p in zip(labels, row)}}

    def _tag(self, docs: list[Doc]) -> None:
        each = [sentences(doc) for doc in docs]
        words = [[token.text for token in part] for parts in each for part in parts]
        told = iter(zip(*self._labels(words)))
        for doc, parts in zip(docs, each):
            spans: list[Span] = []
            scores: list[float] = []
            for part in parts:
                labels, sure = next(told)
                if not self._is_of_spans:
                    for token, label in zip(part, labels):
                        token.tag_ = str(label)
                    continue
                for kind, start, end in extract_spans(labels):
                    spans.append(Span(doc, part[start].i, part[end - 1].i + 1, label=kind))
                    scores.append(min(sure[start:end]))
            if self._is_of_spans:
                _add_entities(doc, spans, scores)

    def _labels(self, words: list[list[str]]) -> tuple[list[list[str]], list[list[float]]]:
        """Labels of sentences, and how probable they are; nan where the model does not say."""
        found = [[str(label) for label in labels] for labels in self.model.predict(words)]
        if not isinstance(self.model, ProbabilisticLearner):
            return found, [[nan] * len(x) for x in words]
        at = {str(label): k for k, label in enumerate(self.model.structure_.labels_)}
        marginals = self.model.predict_marginals(words)
        sure = [[float(row[at[y]]) for row, y in zip(p, labels)] for p, labels in zip(marginals, found)]
        return found, sure

    # -- files ----------------------------------------------------------------------------------------------------
    def to_disk(self, path: Any, *, exclude: Iterable[str] = ()) -> None:
        """Write the model into a folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if self.model is not None:
            save(self.model, folder / _FILE)

    def from_disk(self, path: Any, *, exclude: Iterable[str] = ()) -> AccordComponent:
        """Read the model from a folder."""
        if (Path(path) / _FILE).exists():
            self.take(load(Path(path) / _FILE))
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The model file."""
        with tempfile.TemporaryDirectory() as folder:
            self.to_disk(folder)
            return (Path(folder) / _FILE).read_bytes() if self.model is not None else b""

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> AccordComponent:
        """The model from its file."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / _FILE).write_bytes(data)
            return self.from_disk(folder) if data else self


def sentences(doc: Doc) -> list[list[Any]]:
    """The tokens of each sentence without blanks; of the whole document, where its sentences are not known."""
    parts: Iterable[Any] = doc.sents if doc.has_annotation("SENT_START") else [doc]
    found = ([token for token in part if not token.is_space] for part in parts)
    return [part for part in found if part]


def _add_entities(doc: Doc, spans: list[Span], scores: list[float]) -> None:
    """Those that do not overlap with entities that the document has."""
    taken = {t for span in doc.ents for t in range(span.start, span.end)}
    free = [k for k, span in enumerate(spans) if taken.isdisjoint(range(span.start, span.end))]
    doc.ents = [*doc.ents, *(spans[k] for k in free)]
    kept = [spans[k] for k in free]
    doc.spans[GROUP] = SpanGroup(doc, name=GROUP, spans=kept, attrs={"scores": [scores[k] for k in free]})


def score_of(span: Span) -> float | None:
    """The probability of an entity that the component has found; None for others."""
    group = span.doc.spans.get(GROUP)
    for one, score in zip(group or (), (group.attrs.get("scores") or ()) if group is not None else ()):
        if (one.start, one.end, one.label) == (span.start, span.end, span.label):
            return float(score)
    return None
