"""/readyz with its details, as an operator reads it: with METRICS_TOKEN."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from django.conf import settings

from config.environment.kept_secrets import kept_secret_key, metrics_token


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
