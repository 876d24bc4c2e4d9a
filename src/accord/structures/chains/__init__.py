"""Classes, taxonomies and label sequences: chains of labels."""
