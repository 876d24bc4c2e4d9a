"""``accord dedupe``: which records of a table belong together."""
