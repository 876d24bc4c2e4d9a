"""A Postfix of its own for a test: another folder, another port, only the loopback interface, delivery to a Maildir."""

import os
import pwd
import shutil
import smtplib
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

SERVICES = """\
{port}    inet  n  -  n  -  -  smtpd
pickup    unix  n  -  n  60 1  pickup
cleanup   unix  n  -  n  -  0  cleanup
qmgr      unix  n  -  n  300 1 qmgr
tlsmgr    unix  -  -  n  1000? 1 tlsmgr
rewrite   unix  -  -  n  -  -  trivial-rewrite
bounce    unix  -  -  n  -  0  bounce
defer     unix  -  -  n  -  0  bounce
trace     unix  -  -  n  -  0  bounce
verify    unix  -  -  n  -  1  verify
flush     unix  n  -  n  1000? 0 flush
proxymap  unix  -  -  n  -  -  proxymap
smtp      unix  -  -  n  -  -  smtp
showq     unix  n  -  n  -  -  showq
error     unix  -  -  n  -  -  error
retry     unix  -  -  n  -  -  error
virtual   unix  -  n  n  -  -  virtual
anvil     unix  -  -  n  -  1  anvil
scache    unix  -  -  n  -  1  scache
postlog   unix-dgram n - n  -  1  postlogd
"""
SETTINGS = """\
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
multi_instance_enable = no
myhostname = mail.example.com
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtpd_authorized_xclient_hosts = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination
virtual_mailbox_domains = example.com
virtual_mailbox_base = {folder}/mail
virtual_mailbox_maps = static:box/
virtual_minimum_uid = 1
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{gid}
alias_maps =
alias_database =
local_recipient_maps =
smtp_dns_support_level = disabled
disable_dns_lookups = yes
smtpd_milters = inet:127.0.0.1:{milter}
milter_default_action = accept
milter_connect_timeout = 5s
milter_command_timeout = 10s
milter_content_timeout = 20s
in_flow_delay = 0
"""


def find_postfix() -> str | None:
    """The program, which often is not on the PATH of users."""
    return shutil.which("postfix", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def require_postfix() -> None:
    """Skip the test where there is no Postfix, or nobody to start it."""
    if find_postfix() is None:
        pytest.skip("Postfix is not installed")
    if os.geteuid() != 0:
        pytest.skip("only root can start Postfix")
    try:
        pwd.getpwnam("postfix")
    except KeyError:
        pytest.skip("there is no user postfix")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Postfix:
    """Runs from `with` to the end of its block. `milter` is the port of the milter it asks."""

    def __init__(self, milter: int) -> None:
        self.milter, self.port = milter, free_port()

    def __enter__(self) -> "Postfix":
        self.folder = Path(tempfile.mkdtemp(prefix="accord-postfix-"))
        self.folder.chmod(0o755)  # Postfix' processes have users of their own
        owner = pwd.getpwnam("postfix")
        for name in ("etc", "queue", "data", "mail"):
            (self.folder / name).mkdir()
        for name in ("data", "mail"):
            os.chown(self.folder / name, owner.pw_uid, owner.pw_gid)
        values = {"folder": self.folder, "milter": self.milter, "uid": owner.pw_uid, "gid": owner.pw_gid}
        (self.folder / "etc" / "main.cf").write_text(SETTINGS.format(**values))
        (self.folder / "etc" / "master.cf").write_text(SERVICES.format(port=f"127.0.0.1:{self.port}"))
        self.run("start")
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.run("stop")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, command: str) -> None:
        program = find_postfix()
        # not captured: the daemons inherit standard error, and would keep a pipe open
        done = subprocess.run([program, "-c", str(self.folder / "etc"), command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=60)  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"postfix {command} failed:\n{self.log()}")

    def log(self) -> str:
        path = self.folder / "log"
        return path.read_text(errors="replace")[-3000:] if path.exists() else "no log"

    def delivered(self) -> list[Path]:
        box = self.folder / "mail" / "box" / "new"
        return sorted(box.iterdir()) if box.exists() else []

    def send(self, messages, client="192.0.2.7", connections=8, on_sent=lambda n: None):
        """Send raw messages over several connections, as if from `client`; an exception if one is refused."""
        jobs, failures = iter(list(messages)), []
        lock, count = threading.Lock(), [0]

        def work():
            try:
                with smtplib.SMTP("127.0.0.1", self.port, timeout=60) as session:
                    session.ehlo("client.example.net")
                    if client:
                        assert session.docmd("XCLIENT", f"ADDR={client} NAME=client.example.net")[0] == 220
                        session.ehlo("client.example.net")
                    while True:
                        with lock:
                            raw = next(jobs, None)
                        if raw is None:
                            return
                        session.sendmail("sender@example.net", ["user@example.com"], raw)
                        with lock:
                            count[0] += 1
                            on_sent(count[0])
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
