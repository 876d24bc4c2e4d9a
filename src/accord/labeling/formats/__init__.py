"""Labels out and in, in the formats of other programs."""
