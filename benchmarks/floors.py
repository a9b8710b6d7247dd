"""What bounds a figure: servers that do next to nothing, beside the service in the same run."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.service import granian_of, listening, python_path, with_port

Address = tuple[str, int]

# A POST to a file is refused by nginx but for this: it is then answered with the file.
_FILES = "root {folder}; location / {{ error_page 405 =200 $uri; default_type application/json; }}"
_PROXY = (
    "location / { proxy_pass http://node/000000.answer; proxy_http_version 1.1;"
    " proxy_set_header Connection ''; }"
)
_NGINX = """
worker_processes 2; daemon off; pid {folder}/nginx.pid; error_log stderr error;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000; open_file_cache max=10000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  {upstream}
  server {{ listen 127.0.0.1:{port} backlog=1024; {location} }}
}}
"""


def has_nginx() -> bool:
    return shutil.which("nginx") is not None


@contextmanager
def answering(answers: Sequence[bytes]) -> Iterator[dict[str, Address]]:
    """Name → address of servers that answer `/N.answer` with the bytes of answer N."""
    with tempfile.TemporaryDirectory(prefix="tidemark-floor-") as folder, ExitStack() as stack:
        Path(folder).chmod(0o755)  # nginx's workers are of another account
        for number, answer in enumerate(answers):
            Path(folder, f"{number:06}.answer").write_bytes(answer)
        found = {"bare": stack.enter_context(_bare("benchmarks.bare", BARE_ANSWERS=folder))}
        if has_nginx():
            found["nginx"] = stack.enter_context(_nginx(_FILES.format(folder=folder)))
        yield found


@contextmanager
def verifying() -> Iterator[Address]:
    """A bare app that verifies a transaction's signatures."""
    with _bare("benchmarks.verifying") as address:
        yield address


@contextmanager
def passing(node: Address) -> Iterator[Address]:
    """nginx as a reverse proxy of the node."""
    upstream = f"upstream node {{ server {node[0]}:{node[1]}; keepalive 64; }}"
    with _nginx(_PROXY, upstream) as address:
        yield address


@contextmanager
def _bare(module: str, **environment: str) -> Iterator[Address]:
    command = granian_of(f"{module}:application", threads=2, workers=2)
    with listening(with_port(command), environment={**python_path(), **environment}) as address:
        yield address


@contextmanager
def _nginx(location: str, upstream: str = "") -> Iterator[Address]:
    with tempfile.TemporaryDirectory(prefix="tidemark-nginx-") as folder:
        Path(folder).chmod(0o755)
        configuration = Path(folder, "nginx.conf")

        def command(port: int) -> list[str]:
            terms = {"folder": folder, "location": location, "upstream": upstream, "port": port}
            configuration.write_text(_NGINX.format(**terms), encoding="utf-8")
            return ["nginx", "-c", str(configuration), "-e", "stderr"]

        with listening(command, environment={}) as address:
            yield address


def requests_of(numbers: Sequence[int], like: Mapping[int, bytes]) -> list[bytes]:
    """The requests' bodies, sent to the floor's answers of these numbers."""
    return [
        b"POST /%06d.answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (number, len(body), body)
        for number in numbers
        for body in [like[number].partition(b"\r\n\r\n")[2]]
    ]
