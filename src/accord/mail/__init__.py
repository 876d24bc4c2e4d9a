"""Batches of mail that was generated from the same template, found while the mail comes in [thesis, chapter 8].

From bytes to a verdict, file by file:

=======================  ==============================================================================================
`sources`                mail from where it is kept: mailboxes, folders, archives
`message`                a mail taken apart: its text, links and attachments; `headers` and `charsets` help with it
`signature`              what is kept of a mail: hashes, numbers and sketches
`features`               how alike two mails are: `MailPairs`
`model`                  the similarity that follows from it: a weight for each feature
`window`                 recent mails, and the batches that have members among them
`detector`               the batch of a mail: `BatchDetector`
`spam`                   is a batch spam: `CollectiveSpamFilter`
`report`                 what was found, as a page
`config`                 settings of the programs
`service`                a detector behind a queue; with `counters`, its `state_file`, and `service_run` as a program
`milter`                 mail servers ask it: `milter_session`, `milter_message`, `milter_policy`, `milter_protocol`
`http_service`           programs ask it; with `http_metrics` and `http_connections`
`connections`            who may stay connected to either
`generator`              mail with known batches; its `generator_words` and `generator_bytes`
=======================  ==============================================================================================

Compiled code is in :mod:`accord.kernels.mail`: `html`, `text`, `pairs`, `batches`.
"""
