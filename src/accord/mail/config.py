"""Settings of the mail programs: a TOML file of a few tables, overridden by flags.

Every setting is a field of one of the dataclasses here, with its default, its check and the sentence that explains it;
the file, the flags of the command line and ``accord mail config`` are made from them, so they cannot disagree.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from accord.exceptions import InputError

_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,39}")
Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]


MAX_WINDOW = 10_000_000  # messages, about 8 GB


def _setting(default: Any, text: str, low: float | None = None, high: int = 1_000_000) -> Any:
    """A field: `text` explains it, `low` and `high` are the smallest and the largest number that make sense."""
    return field(default=default, metadata={"help": text, "low": low, "high": high})


@dataclass
class DetectorSettings:
    """What finds the batches."""

    model: str = _setting("", 'Model written by `accord mail train`; "" is the one that comes with Accord.')
    window: int = _setting(5000, "Messages that a new one is compared with; older ones are forgotten.", 1, MAX_WINDOW)
    max_age: float = _setting(
        0.0, "Messages older than so many seconds are forgotten, too; 0 keeps them.", 0, 10_000_000_000
    )
    min_words: int = _setting(
        5, "A message with fewer words, no link and no attachment has a batch of its own: too little to go by.", 0
    )
    spam_filter: str = _setting("", 'Collective spam filter; "" adds no score.')
    state: str = _setting("", 'File that keeps the window across restarts; "" starts empty every time.')
    checkpoint_seconds: float = _setting(60.0, "The state is written at least this often while mail comes in.", 0.1)
    checkpoint_messages: int = _setting(10_000, "The state is also written after so many messages.", 1, 10**9)


@dataclass
class LimitSettings:
    """What one message may cost. Beyond a limit, mail goes through without our headers."""

    message_bytes: int = _setting(
        2_000_000,
        "Larger forms of several messages (HTTP) are refused. Of each message the first 256 kB are looked at.",
        1024,
        10**9,
    )
    seconds: float = _setting(2.0, "Longest time that a message waits for an answer.", 0.001)
    queue: int = _setting(200, "Most messages that wait at a time; more are let through at once.", 1)
    connections: int = _setting(400, "Most mail servers that are looked after, and most requests, at a time.", 1)


@dataclass
class MilterSettings:
    """How a mail server reaches the milter, and whose mail gets headers."""

    listen: str = _setting("127.0.0.1:8891", 'Address as "host:port", "[::1]:port" or "unix:/path".')
    processes: int = _setting(
        1, "Of more than one, one decides, and the others speak with mail servers and sign; limits are for each.", 1, 64
    )
    local_networks: tuple[str, ...] = _setting(
        ("127.0.0.0/8", "::1/128"), "Mail from here is local: it goes through untouched."
    )
    tag_local: bool = _setting(False, "Treat local mail like any other.")
    tag_authenticated: bool = _setting(False, "Also add headers to mail of clients that logged in.")
    header_prefix: str = _setting(
        "X-Accord-", "Our headers are <prefix>Batch, <prefix>Batch-Size and <prefix>Spam-Score."
    )
    idle_seconds: float = _setting(7210.0, "A connection that says nothing for so long is closed.", 1)


@dataclass
class AllowSettings:
    """Mail that is never looked at. Sender addresses can be forged; networks cannot."""

    senders: tuple[str, ...] = _setting((), 'Envelope senders, such as "news@example.org".')
    domains: tuple[str, ...] = _setting((), "Domains of envelope senders, with their subdomains.")
    networks: tuple[str, ...] = _setting((), 'Networks of clients, such as "192.0.2.0/24".')


@dataclass
class HttpSettings:
    """How programs reach the HTTP service."""

    listen: str = _setting("127.0.0.1:8025", 'Address as "host:port", "[::1]:port" or "unix:/path".')
    token_file: str = _setting("", 'File with a token that requests must bear; "" asks for none (loopback only).')


@dataclass
class MailSettings:
    """All settings, table by table."""

    detector: DetectorSettings = field(default_factory=DetectorSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    milter: MilterSettings = field(default_factory=MilterSettings)
    allow: AllowSettings = field(default_factory=AllowSettings)
    http: HttpSettings = field(default_factory=HttpSettings)


def read_settings(path: str | Path | None = None, flags: Mapping[str, Any] | None = None) -> MailSettings:
    """Settings from a TOML file, changed by flags.

    Parameters
    ----------
    path : path, optional
        By default no file is read.
    flags : dict of str, optional
        Values by ``"table.name"``; None means that a flag is not given.

    Examples
    --------
    >>> read_settings(flags={"detector.window": 100}).detector.window
    100
    """
    settings = MailSettings()
    if path is not None:
        try:
            document = tomllib.loads(Path(path).read_text("utf-8"))
        except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
            raise InputError(f"{path} is not a TOML file: {error}; `accord mail config` prints an example") from error
        for table, values in document.items():
            if not isinstance(values, dict):
                raise InputError(f"{path}: {table} stands outside of the tables {', '.join(vars(settings))}")
            for name, value in values.items():
                _put(settings, table, name, value, f"{path}: ")
    for key, value in (flags or {}).items():
        if value is not None:
            table, _, name = key.partition(".")
            _put(settings, table, name, value, "")
    _check(settings)
    return settings


def _check(settings: MailSettings) -> None:
    """What is wrong is to be seen at the start, not when mail comes in."""
    parse_networks(settings.milter.local_networks, "milter.local_networks")
    parse_networks(settings.allow.networks, "allow.networks")
    settings.allow.domains = tuple(map(_domain, settings.allow.domains))
    for name in ("milter", "http"):
        parse_address(getattr(settings, name).listen, f"{name}.listen")
    if not _HEADER.fullmatch(settings.milter.header_prefix):
        raise InputError(
            f"milter.header_prefix is {settings.milter.header_prefix!r}; expected the beginning of a header's name, "
            "such as X-Accord-"
        )


def _domain(text: str) -> str:
    """A domain of the allow-list, without the @ that some put before it."""
    domain = text.strip().removeprefix("@").strip(".")
    if not domain:
        raise InputError(f"allow.domains has {text!r}, which would let all bounces through; expected a domain")
    if "@" in domain:
        raise InputError(f"allow.domains has {text!r}; expected a domain, addresses belong to allow.senders")
    return domain


def _put(settings: MailSettings, table: str, name: str, value: Any, where: str) -> None:
    if table not in vars(settings):
        raise InputError(f"{where}there is no table [{table}]; there are {', '.join(vars(settings))}")
    holder = getattr(settings, table)
    known = {f.name: f for f in fields(holder)}
    if name not in known:
        raise InputError(f"{where}[{table}] has no setting {name!r}; it has {', '.join(known)}")
    setattr(holder, name, _checked(known[name], value, f"{where}{table}.{name}"))


def _checked(known: Field[Any], value: Any, what: str) -> Any:
    default: Any = known.default
    if isinstance(default, tuple):
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
            raise InputError(f"{what} is {_shown(value)}; expected a list of strings")
        return tuple(value)
    # whole numbers are numbers; which of them a float can hold is known after a look at the limits
    is_number = isinstance(default, float) and type(value) is int
    if type(value) is not type(default) and not is_number:
        raise InputError(f"{what} is {_shown(value)}; expected {_KINDS[type(default)]}")
    low, high = known.metadata["low"], known.metadata["high"]
    if low is not None and not low <= value <= high:
        raise InputError(f"{what} is {_shown(value)}; expected at least {low:g} and at most {high:,}")
    return float(value) if is_number else value


def _shown(value: Any) -> str:
    """A value in an error; Python does not print numbers of any length."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= 100 else f"{text[:100]}..."


_KINDS = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}


def example_file(settings: MailSettings | None = None) -> str:
    """The settings (by default the defaults) as a TOML file with comments."""
    settings = settings or MailSettings()
    lines: list[str] = []
    for table in fields(settings):
        holder = getattr(settings, table.name)
        lines += [f"# {holder.__doc__}", f"[{table.name}]"]
        for known in fields(holder):
            lines += [f"# {known.metadata['help']}", f"{known.name} = {_toml(getattr(holder, known.name))}"]
        lines.append("")
    return "\n".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # what TOML cannot hold inside quotes is written as an escape
        plain = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08X}" for c in value)
        return f'"{plain}"'
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, tuple) else repr(value)


# -- what settings mean ---------------------------------------------------------------------------------------------
class Address(NamedTuple):
    """Where a server listens: a host and a port, or the path of a Unix socket."""

    host: str = ""
    port: int = 0
    path: str = ""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.path or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"unix:{self.path}" if self.path else f"{host}:{self.port}"


def parse_address(text: str, what: str = "listen") -> Address:
    """Read ``host:port``, ``[::1]:port`` or ``unix:/path``.

    Examples
    --------
    >>> parse_address("[::1]:25"), parse_address("unix:/run/accord.sock").path
    (Address(host='::1', port=25, path=''), '/run/accord.sock')
    """
    if text.startswith("unix:"):
        if len(text) > len("unix:"):
            return Address(path=text[len("unix:") :])
    else:
        host, colon, port = text.rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if colon and bare and (":" not in bare or bare != host) and port.isascii() and port.isdigit():
            number = int(port)
            if number < 65536:
                return Address(bare, number)
    raise InputError(f'{what} is {text!r}; expected "host:port", "[::1]:port" or "unix:/path"')


def parse_networks(texts: Sequence[str], what: str = "networks") -> Networks:
    """Read networks such as ``192.0.2.0/24`` or single addresses."""
    out = []
    for text in texts:
        try:
            out.append(ipaddress.ip_network(text, strict=False))
        except ValueError:
            raise InputError(
                f"{what} has {text!r}, which is no network; expected an address or a network like 192.0.2.0/24"
            ) from None
    return tuple(out)
