"""An nginx of our own on loopback, with an access log that tells what each crawler asked for."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONFIG = """\
{user}
worker_processes 1;
pid {prefix}/nginx.pid;
error_log {prefix}/error.log;
daemon off;
events {{ worker_connections 1024; }}
http {{
    types {{ text/html html; text/plain txt; }}
    default_type application/octet-stream;
    log_format plain '$status $request_uri';
    access_log {prefix}/access.log plain;
    client_body_temp_path {prefix}/body;
    proxy_temp_path {prefix}/proxy;
    fastcgi_temp_path {prefix}/fastcgi;
    uwsgi_temp_path {prefix}/uwsgi;
    scgi_temp_path {prefix}/scgi;
    sendfile on;
    keepalive_requests 100000;
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        root {root};
    }}
}}
"""


class NginxLog:
    """The requests since it was last read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def requests(self) -> list[tuple[int, str]]:
        """Status and path of each request, in order."""
        with self._path.open(encoding="utf-8", errors="replace") as file:
            file.seek(self._offset)
            lines = file.read().splitlines()
            self._offset = file.tell()
        return [(int(status), path) for status, _, path in (line.partition(" ") for line in lines)]


@contextmanager
def serve(root: Path, prefix: Path) -> Iterator[tuple[str, NginxLog]]:
    """Serve a folder; the address, and the log of what was asked there."""
    program = find_nginx()
    port = _free_port()
    prefix.mkdir(parents=True, exist_ok=True)
    config = prefix / "nginx.conf"
    config.write_text(CONFIG.format(user=_user(), prefix=prefix, port=port, root=root), encoding="utf-8")
    process = subprocess.Popen([program, "-p", str(prefix), "-e", str(prefix / "error.log"), "-c", str(config)])
    try:
        _wait_until_open(port, process)
        yield f"http://127.0.0.1:{port}", NginxLog(prefix / "access.log")
    finally:
        process.terminate()
        process.wait()


def find_nginx() -> str:
    program = _installed()
    if program is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update"], check=True)
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", "nginx-light"], check=True)
        program = _installed()
    if program is None:
        raise SystemExit(
            "The benchmark serves its site with nginx: install it (on Debian: apt-get install nginx-light)."
        )
    return program


def _installed() -> str | None:
    return shutil.which("nginx", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))


def _user() -> str:
    # Started by root, nginx would drop to a user who may not read a temporary folder.
    return f"user {pwd.getpwuid(0).pw_name};" if os.geteuid() == 0 else ""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(100):
        if process.poll() is not None:
            raise SystemExit(f"nginx ended at once with exit code {process.returncode}; what it said stands above.")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("nginx did not open its port within 5 seconds.")
