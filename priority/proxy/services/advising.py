"""What the sender of a transaction should know that the node does not say."""

from collections.abc import Mapping

import msgspec

from gateway.transactions import TransactionText, read_wire
from jsonrpc.errors import RpcError
from priority.acceptance.services.foreseen import advice

SENDING = "sendTransaction"


class _Config(msgspec.Struct, rename="camel"):
    skip_preflight: bool | None = None
    encoding: TransactionText | None = None


_read = msgspec.json.Decoder(tuple[str, _Config]).decode


async def advice_headers(method: str, params: bytes) -> Mapping[str, str]:
    """`X-Advice` where a transaction that will fail is sent without a preflight, which would say
    so itself; else none. Never raises: what cannot be read the node refuses.
    """
    if method != SENDING:
        return {}
    try:
        text, config = _read(params)
        if not config.skip_preflight:
            return {}
        _, wire = read_wire(text, config.encoding or TransactionText.BASE58, at="[0]")
    except (msgspec.MsgspecError, UnicodeError, RecursionError, RpcError):
        return {}
    found = await advice([wire])
    return {"X-Advice": found} if found else {}
