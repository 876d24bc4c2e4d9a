"""What is y? Output spaces: joint features, losses and decoders."""
