"""A node that answers with the blocks that a test gives it."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.priority.odd_nodes import odd_node

GENESIS_HASH = "11111111111111111111111111111111"


@contextlib.contextmanager
def node_of(blocks: Mapping[int, Any]) -> Iterator[str]:
    """The URL of a node whose finalized blocks are these, by slot; the mapping may change."""

    def answer(body: bytes) -> tuple[int, bytes]:
        call = json.loads(body)
        params = call.get("params") or []
        result: Any = None
        if call["method"] == "getGenesisHash":
            result = GENESIS_HASH
        elif call["method"] == "getFirstAvailableBlock":
            result = min(blocks, default=0)
        elif call["method"] == "getSlot":
            result = max(blocks, default=0)
        elif call["method"] == "getBlocks":
            result = [slot for slot in sorted(blocks) if params[0] <= slot <= params[1]]
        elif call["method"] == "getBlock":
            result = blocks.get(params[0])
        else:
            error = {"code": -32601, "message": "Method not found"}
            return 200, json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": error}).encode()
        return 200, json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode()

    with odd_node(answer) as node:
        yield node.url
