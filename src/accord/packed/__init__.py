"""What everything is made of: packed features, weights, part scores."""
