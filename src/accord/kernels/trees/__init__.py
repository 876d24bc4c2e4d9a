"""CKY and what is read off its charts."""
