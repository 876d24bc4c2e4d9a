"""Correlation clustering."""
