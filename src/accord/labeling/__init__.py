"""Labels where they help most: which examples to label next."""
