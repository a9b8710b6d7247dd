"""rpc.discover: a door's own description, at every door."""

from typing import Any

from gateway.endpoint import Call
from gateway.everywhere import everywhere
from reference.doors import doors
from reference.rpc_documents import document_of


@everywhere.add("rpc.discover")
def discover(call: Call) -> dict[str, Any]:
    """The methods of this path as an OpenRPC document: what clients and tools are made from. All of
    them together are at `/openrpc.json`.

    returns: the document
    """
    assert call.request is not None
    path = call.request.path_info
    here = next(each for each in doors() if path in (each.path, *each.aliases))
    return document_of(here, f"{call.request.scheme}://{call.request.get_host()}")
