"""What the commands do with outputs: predict and write them, score them, tell about the models that make them."""
