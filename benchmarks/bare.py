"""The floor: a bare WSGI app that answers /N.answer with the bytes of answer N of a folder."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

_answers = [path.read_bytes() for path in sorted(Path(os.environ["BARE_ANSWERS"]).glob("*.answer"))]


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    environ["wsgi.input"].read()
    answer = _answers[int(environ["PATH_INFO"][1:].removesuffix(".answer"))]
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))]
    start_response("200 OK", headers)
    return [answer]
