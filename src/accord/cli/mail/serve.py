"""``accord mail milter`` and ``accord mail serve``: the detector beside a mail server, or for other programs."""

from __future__ import annotations

import logging
from typing import Any

import click

from accord.cli.mail.options import setting_options, take_settings
from accord.cli.program import debug_option
from accord.cli.terminal import computing

_DETECTOR = ("detector", "limits")


@click.command(short_help="Add headers to the mail of a mail server (Postfix, Sendmail).")
@click.option("--http-listen", metavar="TEXT", help="Also serve HTTP at this address, with the same window.")
@click.option("--verbose", "-v", is_flag=True, help="Log more to standard error.")
@setting_options(*_DETECTOR, "milter", "allow", names=("milter.listen", "http.token_file"))
@debug_option
def milter(http_listen: str | None, verbose: bool, **options: Any) -> None:
    """Be a milter: a mail server shows every message, and adds the headers it is told to.

    \b
      X-Accord-Batch: 3f9a2c-17      the batch; the same for all messages from one template
      X-Accord-Batch-Size: 240       messages of the batch so far
      X-Accord-Spam-Score: 1.2345    if a spam filter is loaded; above 0 is spam

    Mail is never rejected, and never waits longer than --seconds. Whatever goes wrong, it is accepted as it came.
    Headers of these names on mail from outside are removed. Local mail and mail of users that logged in is left alone.

    SIGTERM and Ctrl-C finish what has begun, write the state, and end.

    \b
    In Postfix' main.cf:
      smtpd_milters = inet:127.0.0.1:8891
      milter_default_action = accept
    Examples:
      accord mail milter --state /var/lib/accord/window
      accord mail milter --config /etc/accord-mail.toml --http-listen 127.0.0.1:8025
    """
    settings = take_settings(options, http__listen=http_listen)
    _run(settings, verbose, milter=True, http=http_listen is not None)


@click.command(short_help="Serve the detector over HTTP.")
@click.option("--verbose", "-v", is_flag=True, help="Log more to standard error.")
@setting_options(*_DETECTOR, "http", names=("http.listen",))
@debug_option
def serve(verbose: bool, **options: Any) -> None:
    """Serve the detector over HTTP, on the loopback interface by default.

    \b
      POST /assign    a message (message/rfc822), or several as files of a form (multipart/form-data)
      POST /explain   the same; says which features would join it to which batch, and forgets it
      GET /health     whether messages are answered
      GET /metrics    figures for Prometheus

    Bodies over --message-bytes, a form counted as a whole, are answered by 413, malformed requests by 4xx, and by 503
    what would take too long. With --token-file, requests need `Authorization: Bearer TOKEN` (but not /health); other
    addresses than loopback need it.

    \b
    Examples:
      accord mail serve --state window
      curl --data-binary @message.eml -H 'Content-Type: message/rfc822' http://127.0.0.1:8025/assign
    """
    _run(take_settings(options), verbose, http=True)


def _run(settings: Any, verbose: bool, milter: bool = False, http: bool = False) -> None:
    from accord.mail.service_run import run

    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    with computing():
        run(settings, milter=milter, http=http, announce=lambda line: click.echo(f"accord: {line}", err=True))
