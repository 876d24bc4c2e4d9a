"""Reading and writing the file formats Accord understands, one format a module.

====================  ==============================================  =========================================
module                format                                          functions
====================  ==============================================  =========================================
``conll``             one token per line, columns, blank lines        `iter_conll`, `read_conll`, `write_conll`
``source``            one tokenised sentence per line                 `iter_text`
``csv_table``         delimited tables                                `iter_csv`, `read_csv`
``json_lines``        one object per line: rows, or sentences         `iter_json_lines`, `iter_json_sentences`
``named_rows``        JSON lines and Parquet as rows of a table       `named_rows`
``svmlight``          sparse ``label index:value ...`` lines          `iter_svmlight`, `read_svmlight`
``taxonomy_file``     ``child<TAB>parent`` edges or ``A/B/C`` paths   `read_taxonomy`
``treebank``          bracketed trees                                 `iter_trees`, `read_trees`, `write_trees`
====================  ==============================================  =========================================

Every reader takes a ``source``: a path, ``"-"`` for standard input, or an open text or binary file; gzip-compressed
input is recognised by its content. ``encoding`` is that of binary input. What cannot be read raises
`accord.exceptions.FormatError` with file and line.
"""
