"""De-duplication: records that mean the same thing."""
