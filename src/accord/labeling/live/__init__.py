"""Models that are trained while somebody labels: fast ones, one for each kind of items."""
