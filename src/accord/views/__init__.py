"""Views: maps from inputs to packed features, fitted on labeled and unlabeled inputs alike, blind to labels."""

from accord.views.dense import ArrayFeatures
from accord.views.dicts import DictFeatures
from accord.views.text import TokenFeatures

__all__ = ["ArrayFeatures", "DictFeatures", "TokenFeatures"]
