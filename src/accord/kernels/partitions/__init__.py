"""Correlation clustering: greedy, by linear programs, and exact."""
