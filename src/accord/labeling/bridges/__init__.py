"""Accord inside of other programs: a backend of Label Studio, and a component of spaCy.

A file imports from rows above its own.

================  ======================================================================================================
label_config      what a project of Label Studio labels, from its XML
studio            projects of a Label Studio: learning from annotations, and predictions
studio_app        the same over HTTP
spacy_component   models as a step of a spaCy pipeline
================  ======================================================================================================
"""
