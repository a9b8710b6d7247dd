"""The floor of accepting: a bare WSGI app that verifies a transaction's signatures and answers."""

import base64
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from solders.transaction import VersionedTransaction

_read = msgspec.json.Decoder().decode


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    text = _read(environ["wsgi.input"].read())["params"][0]
    transaction = VersionedTransaction.from_bytes(base64.b64decode(text))
    assert all(transaction.verify_with_results())
    signature = str(transaction.signatures[0]).encode()
    answer = b'{"jsonrpc":"2.0","id":1,"result":"' + signature + b'"}'
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))]
    start_response("200 OK", headers)
    return [answer]
