"""The proxies of deploy/, each with its shipped files: only ports, paths and names differ."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.proxies import DEPLOY, Start, program, replaced
from tests.localnet_process import free_ports

_PATH = "/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin"


def needs(name: str) -> pytest.MarkDecorator:
    """Skips tests where the program is not installed."""
    missing = shutil.which(name, path=_PATH) is None
    return pytest.mark.skipif(missing, reason=f"needs {name}: apt-get install {name}")


def _program(name: str) -> str:
    found = shutil.which(name, path=_PATH)
    assert found is not None
    return found


@contextlib.contextmanager
def nginx(folder: Path, service: int, geyser: int) -> Iterator[int]:
    port, plain = free_ports(2)
    (folder / "plain").write_text(str(plain))
    site = folder / "tidemark.conf"
    site.write_text(
        replaced(
            (DEPLOY / "nginx" / "tidemark.conf").read_text(),
            (
                ("    listen [::]:443 ssl http2;\n", ""),
                ("    listen [::]:80;\n", ""),
                ("listen 443 ssl http2;", f"listen 127.0.0.1:{port} ssl http2;"),
                ("listen 80;", f"listen 127.0.0.1:{plain};"),
                ("server 127.0.0.1:8000 ", f"server 127.0.0.1:{service} "),
                ("server 127.0.0.1:10010;", f"server 127.0.0.1:{geyser};"),
                ("/etc/ssl/rpc.example.pem", str(folder / "certificate.pem")),
                ("/etc/ssl/rpc.example.key", str(folder / "key.pem")),
                ("rpc.example", "localhost"),
            ),
        )
    )
    temporary = "\n".join(
        f"    {kind}_temp_path {folder / kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = folder / "nginx.conf"
    file.write_text(
        replaced(
            (DEPLOY / "nginx" / "nginx.conf").read_text(),
            (
                ("worker_processes auto;", "worker_processes 1; daemon off;"),
                ("/run/nginx.pid", str(folder / "pid")),
                ("/var/log/nginx/error.log", str(folder / "errors")),
                ("log /var/log/nginx/access.log;", f"log {folder / 'calls'};\n{temporary}"),
                ("/etc/nginx/conf.d/*.conf", str(site)),
            ),
        )
    )
    command = [_program("nginx"), "-p", str(folder), "-e", str(folder / "errors"), "-c", str(file)]
    with program(command, port, log=folder / "output"):
        yield port


@contextlib.contextmanager
def caddy(folder: Path, service: int, geyser: int) -> Iterator[int]:
    port, plain = free_ports(2)
    (folder / "plain").write_text(str(plain))
    # Automatic certificates need the internet: here it is one of the test.
    own = f"tls {folder / 'certificate.pem'} {folder / 'key.pem'}"
    file = folder / "Caddyfile"
    file.write_text(
        replaced(
            (DEPLOY / "caddy" / "Caddyfile").read_text(),
            (
                (
                    "elite.qos.rpc.example {\n",
                    f"elite.qos.rpc.example {{\n\tbind 127.0.0.1\n\t{own}\n",
                ),
                ("http://*.qos.rpc.example {\n", "http://*.qos.rpc.example {\n\tbind 127.0.0.1\n"),
                (
                    "{\n\tservers {",
                    "{\n\tadmin off\n\tauto_https disable_redirects\n"
                    f"\thttp_port {plain}\n\thttps_port {port}\n\tservers {{",
                ),
                ("h2c://127.0.0.1:10010", f"h2c://127.0.0.1:{geyser}"),
                ("127.0.0.1:8000", f"127.0.0.1:{service}"),
                ("rpc.example", "localhost"),
            ),
        )
    )
    command = [_program("caddy"), "run", "--config", str(file), "--adapter", "caddyfile"]
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with program(command, port, log=folder / "output", env=environment):
        yield port


@contextlib.contextmanager
def haproxy(
    folder: Path, service: int, geyser: int, changes: tuple[tuple[str, str], ...] = ()
) -> Iterator[int]:
    port, plain = free_ports(2)
    (folder / "plain").write_text(str(plain))
    both = folder / "both.pem"
    both.write_bytes((folder / "certificate.pem").read_bytes() + (folder / "key.pem").read_bytes())
    file = folder / "haproxy.cfg"
    file.write_text(
        replaced(
            (DEPLOY / "haproxy" / "haproxy.cfg").read_text(),
            (
                ("    user haproxy\n    group haproxy\n", ""),
                ("    bind :::80 v6only\n", ""),
                ("    bind :::443 v6only ssl crt /etc/ssl/rpc.example.pem alpn h2,http/1.1\n", ""),
                ("bind :80\n", f"bind 127.0.0.1:{plain}\n"),
                ("bind :443 ", f"bind 127.0.0.1:{port} "),
                ("/etc/ssl/rpc.example.pem", str(both)),
                ("127.0.0.1:8000", f"127.0.0.1:{service}"),
                ("127.0.0.1:10010", f"127.0.0.1:{geyser}"),
                *changes,
            ),
        )
    )
    with program([_program("haproxy"), "-f", str(file), "-db"], port, log=folder / "output"):
        yield port


EVERY: dict[str, Start] = {"nginx": nginx, "caddy": caddy, "haproxy": haproxy}
