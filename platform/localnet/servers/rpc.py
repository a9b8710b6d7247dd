"""The JSON-RPC port: POST with calls, GET /health."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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

MAX_BODY = 1_048_576
_CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET, OPTIONS",
    "Access-Control-Allow-Headers": "*",
    "Access-Control-Max-Age": "86400",
}


@asynccontextmanager
async def serve(node: Node, host: str, port: int) -> AsyncIterator[None]:
    """Listens while the context is open; OSError where it cannot."""
    application = web.Application(client_max_size=MAX_BODY)
    application["node"] = node
    application.router.add_get("/health", _health)
    application.router.add_post("/{any:.*}", _post)
    application.router.add_options("/{any:.*}", _options)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, reuse_address=True).start()
        yield
    finally:
        await runner.cleanup()


async def _health(request: web.Request) -> web.Response:
    return web.Response(text="ok", headers=_CORS)


async def _options(request: web.Request) -> web.Response:
    return web.Response(status=204, headers=_CORS)


async def _post(request: web.Request) -> web.Response:
    try:
        answer = respond(await request.read(), methods, request.app["node"])
    except NotUtf8 as error:
        return web.Response(status=400, text=str(error), headers=_CORS)
    return web.Response(
        body=answer, content_type="application/json", charset="utf-8", headers=_CORS
    )
