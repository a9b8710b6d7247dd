"""rpc.discover: the description of a path, at every path."""

from functools import lru_cache
from io import BytesIO
from typing import Any

from django.core.handlers.wsgi import WSGIRequest

from gateway.calls import Call
from gateway.common_methods import common_methods
from jsonrpc.wire import Encoded, encode


@common_methods.add("rpc.discover", result=dict[str, Any])
def discover(call: Call) -> Encoded:
    """The methods of this path as an OpenRPC document, from which clients and tools are generated.
    The document of all paths is at `/openrpc.json`.

    returns: the document
    """
    request = WSGIRequest({**call.meta, "wsgi.input": BytesIO()})
    base = f"{request.scheme}://{request.get_host()}"
    return Encoded(_document(request.path_info, base))


# Cached by path and base URL: a batch of a hundred would take seconds.
@lru_cache(maxsize=64)
def _document(path: str, base: str) -> bytes:
    # When it is used: every program registers the method, and drf-spectacular takes 50 ms.
    from reference.paths import rpc_paths
    from reference.rpc_documents import document_of

    here = next(each for each in rpc_paths() if path in (each.path, *each.aliases))
    return encode(document_of(here, base))
