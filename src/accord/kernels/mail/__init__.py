"""Mail: HTML to text, text to words, features of pairs, and the batch a mail joins."""
