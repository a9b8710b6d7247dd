"""/readyz with its details, as an operator reads it: with METRICS_TOKEN. And what it reads."""

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings

from config.environment.kept_secrets import kept_secret_key, metrics_token
from shared_state import heartbeats

# A process is missing 4 s after its last heartbeat; a busy machine takes longer for a page.
_AHEAD_SECONDS = 60.0


def keep_alive(kinds: Iterable[str], *, localnet: Path | None = None) -> None:
    """These processes have heartbeats for the next minute, and localnet in its folder."""
    at = time.time() + _AHEAD_SECONDS
    for kind in kinds:
        heartbeats.beat(kind, at=at)
    if localnet is not None:
        (localnet / "heartbeat").touch()
        os.utime(localnet / "heartbeat", (at, at))


def readyz(client: Any) -> tuple[int, dict[str, Any]]:
    """The status, and the answer, by Django's test client."""
    answer = client.get("/readyz", HTTP_AUTHORIZATION=f"Bearer {settings.METRICS_TOKEN}")
    return answer.status_code, json.loads(answer.content)


def readyz_of(base_url: str, run_dir: Path, *, timeout: float = 10) -> tuple[int, dict[str, Any]]:
    """Of a whole service. Raises OSError or ValueError while it does not answer."""
    token = metrics_token(kept_secret_key(run_dir))
    headers = {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"{base_url}/readyz", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
