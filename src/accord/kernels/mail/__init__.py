"""The text of mails, and the batch a mail joins."""
