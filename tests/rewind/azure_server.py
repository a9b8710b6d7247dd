"""A server that speaks Azure Blob Storage (Microsoft's azurite), where it is installed."""

import base64
import hashlib
import hmac
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path

from config.environment.store_env import StoreOptions
from tests.patience import PATIENCE_SECONDS

SERVER = shutil.which("azurite-blob")
ACCOUNT = "devstoreaccount1"
KEY = base64.b64encode(bytes(range(64))).decode()
_VERSION = "2021-08-06"


@contextmanager
def azure_server(container: str, folder: Path) -> Iterator[str]:
    """Its address with the account, on a port chosen by the system, with an empty container."""
    assert SERVER is not None
    command = [SERVER, "--blobHost", "127.0.0.1", "--blobPort", "0", "--location", str(folder)]
    server = subprocess.Popen(
        [*command, "--skipApiVersionCheck", "--disableTelemetry"],
        env={
            "AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}",
            "PATH": str(Path(SERVER).parent) + ":/usr/bin",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        lines = iter(server.stdout.readline, "")
        address = next(found[0] for line in lines if (found := re.search(r"http://\S+:\d+", line)))
        _make_container(address, container)
        yield f"{address}/{ACCOUNT}"
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


def options(address: str, key: str = KEY) -> StoreOptions:
    """ARCHIVE_STORE_OPTIONS of the server."""
    return StoreOptions(endpoint=address, account_name=ACCOUNT, account_key=key, allow_http="true")


def _make_container(address: str, container: str) -> None:
    date = formatdate(usegmt=True)
    text = (
        "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{_VERSION}\n"
        f"/{ACCOUNT}/{ACCOUNT}/{container}\nrestype:container"
    )
    signed = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    headers = {
        "x-ms-date": date,
        "x-ms-version": _VERSION,
        "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(signed).decode()}",
        "Content-Length": "0",
    }
    url = f"{address}/{ACCOUNT}/{container}?restype=container"
    with urllib.request.urlopen(
        urllib.request.Request(url, method="PUT", headers=headers), timeout=PATIENCE_SECONDS
    ):
        pass
