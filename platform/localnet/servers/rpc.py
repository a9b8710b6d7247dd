"""The JSON-RPC port: POST with calls, GET /health."""

from contextlib import AbstractAsyncContextManager

# Registering the methods is what these are imported for.
import localnet.methods.accounts
import localnet.methods.blocks
import localnet.methods.clock
import localnet.methods.cluster
import localnet.methods.own
import localnet.methods.production
import localnet.methods.submitting
import localnet.methods.token_accounts
import localnet.methods.transactions
import localnet.methods.vote_accounts  # noqa: F401
from localnet.methods.table import Node, methods
from localnet.servers.envelopes import NotUtf8, respond
from localnet.servers.http_port import JSON, Refusal, listening, plain, require_method
from webserver.requests import Request
from webserver.responses import Response

MAX_BODY = 1_048_576
_CORS = [
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Allow-Methods", "POST, GET, OPTIONS"),
    ("Access-Control-Allow-Headers", "*"),
    ("Access-Control-Max-Age", "86400"),
]


def serve(node: Node, host: str, port: int) -> AbstractAsyncContextManager[int]:
    """Listens while the context is open; OSError where it cannot."""

    def answer(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(204, _CORS)
        if request.method in ("GET", "HEAD") and request.path == "/health":
            return plain(200, "ok", _CORS)
        require_method(request, "POST")
        try:
            return Response(200, [JSON, *_CORS], [respond(request.body, methods, node)])
        except NotUtf8 as error:
            raise Refusal(400, str(error), _CORS) from None

    return listening(answer, host, port, max_body=MAX_BODY)
