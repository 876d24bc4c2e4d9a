"""What is x? Maps from inputs to packed features, fitted on labeled and unlabeled inputs alike, blind to labels."""
