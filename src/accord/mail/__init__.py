"""Batches of mail that was generated from the same template, found while the mail comes in [thesis, chapter 8]."""
