"""What every structure has unless it brings its own: problems that visit one example at a time."""
