"""De-duplication: which records of a table are about the same thing.

From a cell to an id, file by file:

================  =====================================================================================================
`values`          what a cell says as text, number or date, and which kind a column is
`vectors`         cells that are vectors
`packing`         arrays that grow, and strings packed into them
`columns`         the values of one field, and how two of them are compared
`pairs`           two records compared, field by field: `RecordPairs`, the features that everything is learned from
`blocking`        candidates: the pairs of a large table that are worth comparing
`compared`        features of pairs of a table, found once
`decoding`        clusters of a table from similarities of its pairs
`labels`          known clusters: checked, in folds, in sets to learn from
`choosing`        how a table is clustered, by what it does to held-out clusters
`machines`        weights of comparisons, learned by support vector machines
`self_training`   learning again from clusters found among unlabeled records
`mixture`         similarities without labels
`similarity`      similarities and clusters by what was learned
`lookup_keys`     keys by which records are looked up, sorted on disk if need be
`disk_index`      candidates of a table that does not fit into memory: its inverted index in files
`big_tables`      such a table, clustered step by step
`few_pairs`       one record compared with a few others
`postings`        records by key in SQLite
`decisions`       new records join clusters or open them, by what is in SQLite
`redirects`       clusters put together and taken apart by people, with history
`index`           a clustered table that grows, with stable ids: `RecordIndex`
`stored_index`    the same in a file: `StoredIndex`
`suspects`        labels that are probably wrong
`deduplicator`    the estimator: `Deduplicator`
================  =====================================================================================================
"""
