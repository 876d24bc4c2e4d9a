"""``accord mail``: batches of mail in files and in the stream of a mail server."""
