"""Labels where they help most: which examples to label next, and a page on which people label them.

A file imports from rows above its own.

==============================  ========================================================================================
suggest, strategies, ...        which examples to ask about next, for every kind of model
project, sources                what is to be labeled: kinds of items, and reading them from files
schema, store                   one SQLite file with every answer ever given, and what each is worth now
agreement                       how far annotators agree, and on what they do not
formats/                        labels out and in: CoNLL, JSON lines, Label Studio, spaCy, CSV, trees
live/                           models that are trained while somebody labels, one for each kind of items
panel, trainer                  how good they are; training in the background
service, terminal               what can be asked and answered, by whatever way
sessions, app, running, page/   who may ask over the web; the application; the page itself
bridges/                        Accord inside of other programs: Label Studio, spaCy
==============================  ========================================================================================
"""
