"""parse_account: an account's data as the standard node's jsonParsed encoding shows it."""

from collections.abc import Callable
from typing import Any

from chain import addresses
from chain.parsed.cursor import UnreadableError
from chain.parsed_accounts.config import parse_config_account
from chain.parsed_accounts.loader import parse_loader_account
from chain.parsed_accounts.lookup_table import parse_lookup_table_account
from chain.parsed_accounts.nonce import parse_nonce_account
from chain.parsed_accounts.raw import AmountsOf, RawAccount
from chain.parsed_accounts.stake import parse_stake_account
from chain.parsed_accounts.sysvars import parse_sysvar_account
from chain.parsed_accounts.token import parse_token_account
from chain.parsed_accounts.vote import parse_vote_account

_PROGRAMS: dict[str, tuple[str, Callable[[RawAccount], dict[str, Any]]]] = {
    str(addresses.SYSTEM): ("nonce", parse_nonce_account),
    str(addresses.LOOKUP_TABLE): ("address-lookup-table", parse_lookup_table_account),
    str(addresses.LOADER_3): ("bpf-upgradeable-loader", parse_loader_account),
    str(addresses.CONFIG): ("config", parse_config_account),
    str(addresses.STAKE): ("stake", parse_stake_account),
    str(addresses.SYSVAR_OWNER): ("sysvar", parse_sysvar_account),
    str(addresses.TOKEN): ("spl-token", parse_token_account),
    str(addresses.TOKEN_2022): ("spl-token-2022", parse_token_account),
    str(addresses.VOTE): ("vote", parse_vote_account),
}


def parse_account(
    pubkey: str | None, owner: str, data: bytes, amounts_of: AmountsOf
) -> dict[str, Any] | None:
    """`{"program", "parsed": {"info", "type"}, "space"}`; None if the node would not parse it, or
    if parsing needs the pubkey and none is given.
    """
    known = _PROGRAMS.get(owner)
    if known is None:
        return None
    program, parse = known
    try:
        parsed = parse(RawAccount(pubkey, data, amounts_of))
    except UnreadableError:
        return None
    return {"program": program, "parsed": parsed, "space": len(data)}
