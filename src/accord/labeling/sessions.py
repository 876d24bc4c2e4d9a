"""Who may ask: whoever has the link. A link works once; what it is exchanged for is a cookie of this store.

A request is answered only if it is addressed to a name that the page is served under (other names that lead here are
those of an attacker: DNS rebinding), comes from the page itself (``Origin``, ``Sec-Fetch-Site``), and brings the
cookie.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Iterable
from hashlib import sha256

from accord.labeling.store import Store

_LASTS = 30 * 86400.0  # seconds that a cookie is good for
_LINK = 86400.0  # and a link that nobody has used
_MOST_LINKS = 50
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Refused(Exception):
    """A request that is not answered: a status and a sentence."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class Doorkeeper:
    """Links that work once, and cookies that outlive the program."""

    def __init__(self, store: Store, hosts: Iterable[str] = LOOPBACK) -> None:
        self.store = store
        self.hosts = {host.lower() for host in hosts}
        name = store.recall("cookie")
        if name is None:  # cookies know no ports: two stores must not share one
            store.remember("cookie", name := f"accord-{secrets.token_hex(4)}")
        self.cookie = str(name)
        self._links: dict[str, float] = {}

    def invite(self) -> str:
        """A word for a link that works once."""
        now = time.time()
        self._links = {digest: until for digest, until in self._links.items() if until > now}
        if len(self._links) >= _MOST_LINKS:
            raise Refused(429, "there are too many links that nobody has used")
        token = secrets.token_urlsafe(24)
        self._links[_digest(token)] = now + _LINK
        return token

    def redeem(self, token: str) -> str | None:
        """The value of a cookie for a word that has not been used, or None."""
        given = _digest(token)
        found = next((digest for digest in self._links if hmac.compare_digest(digest, given)), None)
        if found is None or self._links.pop(found) < time.time():
            return None
        cookie = secrets.token_urlsafe(32)
        self.store.admit(_digest(cookie), time.time() + _LASTS)
        return cookie

    def set_cookie(self, value: str) -> str:
        """The header that gives a browser its cookie."""
        return f"{self.cookie}={value}; Path=/; Max-Age={int(_LASTS)}; HttpOnly; SameSite=Strict"

    # -- checks -----------------------------------------------------------------------------------------------------
    def check_host(self, host: str) -> None:
        """Refuse names that the page is not served under."""
        check_host(host, self.hosts)

    def check_cookie(self, headers: dict[str, str]) -> None:
        """Refuse who has no cookie that was given out."""
        for part in headers.get("cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.cookie and self.store.admitted(_digest(value)):
                return
        raise Refused(401, "open the link that `accord label` has printed; it works once, and in one browser")


def check_host(host: str, hosts: set[str]) -> None:
    """Refuse names under which nothing is served."""
    name = host.lower().rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host.lower()
    if name not in hosts:
        raise Refused(421, "this host name is not served here")


def check_origin(headers: dict[str, str], is_arrival: bool = False) -> None:
    """Refuse what another page sends; only the link itself may be followed from anywhere."""
    origin = headers.get("origin")
    own = headers.get("host", "").lower()
    if origin is not None and origin.lower() not in (f"http://{own}", f"https://{own}"):
        raise Refused(403, "requests from other pages are not answered")
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and not is_arrival:
        raise Refused(403, "requests from other pages are not answered")


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
