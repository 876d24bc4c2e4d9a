"""Labeling by people, in a page of the browser or a terminal: questions, answers that are never lost, a model beside.

A file imports from rows above its own.

========================  ==============================================================================================
project, sources          what is to be labeled: kinds of items, and reading them from files
store                     one SQLite file with every answer ever given, and what each is worth now
agreement                 how far annotators agree, and on what they do not
formats/                  labels out and in: CoNLL, JSON lines, Label Studio, spaCy, CSV, trees
suggest, strategies       which examples to ask about next
live/                     models that are trained while somebody labels, one for each kind of items
panel, trainer            how good they are; training in the background
sessions, service, app    who may ask, what is answered, and the web application
terminal                  questions about pairs of records in a terminal
========================  ==============================================================================================
"""
