"""Reading data files: which columns mean what, and examples in batches."""
