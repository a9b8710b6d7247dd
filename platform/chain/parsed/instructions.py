"""parse_instruction: one instruction as the standard node's jsonParsed encoding shows it."""

from collections.abc import Callable
from typing import Any

from chain import addresses
from chain.parsed.associated_token import parse_associated_token
from chain.parsed.cursor import Cursor, UnreadableError
from chain.parsed.layouts import Typed
from chain.parsed.loaders import parse_bpf_loader, parse_bpf_upgradeable_loader
from chain.parsed.lookup_table import parse_lookup_table
from chain.parsed.memo import parse_memo
from chain.parsed.stake import parse_stake
from chain.parsed.system import parse_system
from chain.parsed.token import parse_token
from chain.parsed.vote import parse_vote

_MEMO = "spl-memo"

_PROGRAMS: dict[str, tuple[str, Callable[[list[str], Cursor], Typed | str]]] = {
    str(addresses.SYSTEM): ("system", parse_system),
    str(addresses.TOKEN): ("spl-token", parse_token),
    str(addresses.TOKEN_2022): ("spl-token", parse_token),
    str(addresses.ASSOCIATED_TOKEN): ("spl-associated-token-account", parse_associated_token),
    str(addresses.MEMO_1): (_MEMO, parse_memo),
    str(addresses.MEMO_2): (_MEMO, parse_memo),
    str(addresses.MEMO_3): (_MEMO, parse_memo),
    str(addresses.VOTE): ("vote", parse_vote),
    str(addresses.STAKE): ("stake", parse_stake),
    str(addresses.LOADER_2): ("bpf-loader", parse_bpf_loader),
    str(addresses.LOADER_3): ("bpf-upgradeable-loader", parse_bpf_upgradeable_loader),
    str(addresses.LOOKUP_TABLE): ("address-lookup-table", parse_lookup_table),
}
PARSED_PROGRAMS = frozenset(_PROGRAMS)


def parse_instruction(program_id: str, accounts: list[str], data: bytes) -> dict[str, Any] | None:
    """`{"program": "spl-token", "parsed": {"info": {…}, "type": …}}`; a memo's `parsed` is text.

    `program_id` and `accounts` are base58, addresses from lookup tables resolved. None where the
    node would not parse the instruction: an unknown program, too few accounts, unreadable data.
    `info` has its keys sorted, as the node has them.
    """
    known = _PROGRAMS.get(program_id)
    if known is None:
        return None
    program, parse = known
    if not accounts and program is not _MEMO:
        return None
    try:
        parsed = parse(accounts, Cursor(data))
    except UnreadableError:
        return None
    if isinstance(parsed, str):
        return {"program": program, "parsed": parsed}
    name, info = parsed
    if info is None:
        return {"program": program, "parsed": {"type": name}}
    return {"program": program, "parsed": {"info": dict(sorted(info.items())), "type": name}}
