"""Whose mail the milter looks at: not that of our own machines and users, and not that of an allow-list."""

from __future__ import annotations

import ipaddress

from accord.mail.config import MailSettings, Networks, parse_networks


class Policy:
    """Whose mail is looked at, by the settings."""

    def __init__(self, settings: MailSettings) -> None:
        self.settings = settings.milter
        self.local = parse_networks(settings.milter.local_networks)
        self.allowed = parse_networks(settings.allow.networks)
        self.senders = {sender.lower() for sender in settings.allow.senders}
        self.domains = tuple(domain.lower().strip(".") for domain in settings.allow.domains)

    def of_client(self, family: bytes, address: str) -> str:
        """Why mail of a client is let through: ``local`` or ``allowed``; empty if it is not."""
        ip = _parsed(address)
        if not self.settings.tag_local and (family == b"L" or _within(ip, self.local)):
            return "local"
        return "allowed" if _within(ip, self.allowed) else ""

    def of_sender(self, sender: str, is_authenticated: bool) -> str:
        """Why mail of a sender is let through: ``authenticated`` or ``allowed``; empty if it is not."""
        if is_authenticated and not self.settings.tag_authenticated:
            return "authenticated"
        sender = sender.lower()
        domain = sender.rpartition("@")[2]
        listed = any(domain == known or domain.endswith(f".{known}") for known in self.domains)
        return "allowed" if sender in self.senders or listed else ""


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return None
    return (ip.ipv4_mapped or ip) if isinstance(ip, ipaddress.IPv6Address) else ip


def _within(ip: ipaddress.IPv4Address | ipaddress.IPv6Address | None, networks: Networks) -> bool:
    return ip is not None and any(ip in network for network in networks)
