"""A Flower federation of real processes on the loopback interface, with TLS and authenticated SuperNodes."""

import contextlib
import datetime
import ipaddress
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil

from accord import CoRLSR, Select
from accord.federated.engine import quiet_environment
from accord.federated.flower_node import free_port

HOST = "127.0.0.1"
CONSTANTS = {"kernel": "rbf", "gamma": 0.2, "eta": 0.5, "standardize": False}


class Problem:
    """Sites with columns and labeled examples of their own, and agreed examples."""

    def __init__(self, names, n=12, m=30, d=2, seed=0):
        rng = np.random.default_rng(seed)
        self.names, self.n, self.d = list(names), n, d
        V = len(self.names)
        self.X = rng.normal(size=(V * n + m, V * d))
        w = rng.normal(size=V * d)
        self.y = np.sin(self.X @ w) + 0.3 * (self.X @ w)
        self.parts = {}
        for v, name in enumerate(self.names):
            own, columns = slice(v * n, (v + 1) * n), slice(v * d, (v + 1) * d)
            self.parts[name] = {"X": self.X[own, columns], "y": self.y[own], "unlabeled": self.X[V * n :, columns]}

    def optimum(self, names, lambda_):
        """What the sites would predict for the agreed examples if all data were in one place."""
        d, targets, views = self.d, {}, {}
        for name in names:
            v = self.names.index(name)
            own = slice(v * self.n, (v + 1) * self.n)
            targets[name] = np.full(len(self.X), np.nan)
            targets[name][own] = self.y[own]
            views[name] = Select(slice(v * d, (v + 1) * d))
        shared = self.X[len(self.names) * self.n :]
        kept = np.concatenate(
            [~np.isnan(np.stack(list(targets.values()))).all(axis=0)[: -len(shared)], [True] * len(shared)]
        )
        model = CoRLSR(views, mode="semiparametric", disagreement_weight=lambda_, **CONSTANTS)
        return model.fit(self.X[kept], {name: own[kept] for name, own in targets.items()}).predict_views(shared)

    def write(self, folder):
        for name, part in self.parts.items():
            np.savez(folder / f"{name}.npz", **part)


class Federation:
    """Starts and stops processes; whatever happens, none of them survives ``close``."""

    def __init__(self, folder: Path):
        self.folder, self.port, self.processes = folder, free_port(), []
        bin_folder = Path(sys.executable).parent
        self.environment = quiet_environment() | {
            "FLWR_HOME": str(folder / "flwr"),
            "TMPDIR": str(folder / "tmp"),
            "OPENBLAS_NUM_THREADS": "1",
            "PATH": f"{bin_folder}{os.pathsep}{os.environ.get('PATH', '')}",
            "NO_PROXY": HOST,
            "no_proxy": HOST,
        }
        write_certificates(folder)
        (folder / "flwr").mkdir()
        (folder / "tmp").mkdir()
        (folder / "flwr" / "config.toml").write_text(
            f'[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "{HOST}:{self.port}"\n'
            f'root-certificates = "{folder / "ca.crt"}"\n'
        )

    def start(self, name, *command):
        log = open(self.folder / f"{name}.log", "a")  # noqa: SIM115
        process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, cwd=self.folder)
        log.close()
        self.processes.append(process)
        return process

    def log(self, name):
        path = self.folder / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def start_link(self):
        self.start(
            "superlink",
            *("flower-superlink", "--host", HOST, "--port", str(self.port), "--enable-supernode-auth"),
            *("--ssl-ca-certfile", "ca.crt", "--ssl-certfile", "server.pem", "--ssl-keyfile", "server.key"),
            *("--disable-runtime-dependency-installation",),
        )

    def flwr(self, *commands):
        """Run commands of Flower, in one process, as it takes seconds to start one."""
        script = (
            "import sys; from flwr.cli.app import app; [app(c.split(), standalone_mode=False) for c in sys.argv[1:]]"
        )
        done = subprocess.run(
            (sys.executable, "-c", script, *commands),
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start_site(self, name, script=None, **settings):
        """A site; ``key=None`` is one without a key, ``script`` is run before it starts."""
        options = {"name": name, "data": f"{name}.npz", "key": f"{name}.key", **CONSTANTS, **settings}
        program = ("-m", "accord.federated.flower_node")
        if script:
            program = ("-c", f"{script}\nfrom accord.federated.flower_node import main\nmain()")
        given = [f"--{k}={v}" for k, v in options.items() if v is not None]
        link = ("--superlink", f"{HOST}:{self.port}", "--root-certificates", "ca.crt")
        return self.start(name, sys.executable, *program, *link, *given)

    def kill(self, process):
        """End a process at once, without a word to anybody."""
        process.kill()
        process.wait()

    def close(self):
        """End all processes, also those that Flower started in sessions of their own."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("FLWR_HOME") == self.environment["FLWR_HOME"]:
                    process.kill()
                    found.append(process)
        for process in self.processes:
            process.wait()
        assert psutil.wait_procs(found, timeout=10)[1] == []


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.1)
    return found


def write_certificates(folder: Path):
    """An authority, and a certificate for the SuperLink: ca.crt, server.pem, server.key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    def named(name):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])

    def certificate(subject, key, signer, is_authority):
        now = datetime.datetime.now(datetime.UTC)
        address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST)), x509.DNSName("localhost")])
        return (
            x509.CertificateBuilder()
            .subject_name(named(subject))
            .issuer_name(named("test authority"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(address, critical=False)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .sign(signer, hashes.SHA256())
        )

    authority, server = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
    write_pem(folder / "ca.crt", certificate("test authority", authority, authority, True))
    write_pem(folder / "server.pem", certificate("superlink", server, authority, False))
    write_private(folder / "server.key", server, ssh=False)


def write_keys(folder: Path, name):
    """A site's keys, as ``ssh-keygen -t ecdsa -b 384`` makes them: name.key and name.pub."""
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP384R1())
    write_private(folder / f"{name}.key", key, ssh=True)
    (folder / f"{name}.pub").write_bytes(key.public_key().public_bytes(s.Encoding.OpenSSH, s.PublicFormat.OpenSSH))


def write_pem(path, certificate):
    from cryptography.hazmat.primitives import serialization as s

    path.write_bytes(certificate.public_bytes(s.Encoding.PEM))


def write_private(path, key, ssh):
    from cryptography.hazmat.primitives import serialization as s

    form = s.PrivateFormat.OpenSSH if ssh else s.PrivateFormat.TraditionalOpenSSL
    path.write_bytes(key.private_bytes(s.Encoding.PEM, form, s.NoEncryption()))
    path.chmod(0o600)
