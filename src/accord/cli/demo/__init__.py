"""``accord demo``: one example of every kind of output, learned from few labels on generated data, with a report."""
