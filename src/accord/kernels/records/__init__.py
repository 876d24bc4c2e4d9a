"""Comparisons of records and keys that bring similar ones together."""
