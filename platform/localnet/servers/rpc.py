"""The JSON-RPC port: POST with calls, GET /health."""

from contextlib import AbstractAsyncContextManager

from aiohttp import web

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
from localnet.servers.http_port import listening, require_method

MAX_BODY = 1_048_576
_CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET, OPTIONS",
    "Access-Control-Allow-Headers": "*",
    "Access-Control-Max-Age": "86400",
}


def serve(node: Node, host: str, port: int) -> AbstractAsyncContextManager[int]:
    """Listens while the context is open; OSError where it cannot."""

    async def answer(request: web.BaseRequest) -> web.Response:
        if request.method == "OPTIONS":
            return web.Response(status=204, headers=_CORS)
        if request.method in ("GET", "HEAD") and request.path == "/health":
            return web.Response(text="ok", headers=_CORS)
        require_method(request, "POST")
        return await _post(request, node)

    return listening(answer, host, port, max_body=MAX_BODY)


async def _post(request: web.BaseRequest, node: Node) -> web.Response:
    try:
        answer = respond(await request.read(), methods, node)
    except NotUtf8 as error:
        return web.Response(status=400, text=str(error), headers=_CORS)
    return web.Response(
        body=answer, content_type="application/json", charset="utf-8", headers=_CORS
    )
