"""Packed features: making them from text, and their products with weights."""
