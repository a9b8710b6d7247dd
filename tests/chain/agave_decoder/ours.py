"""What our parsers show of a made input."""

import json
import struct
from functools import partial
from typing import Any

from solders.account import Account as LoadedAccount
from solders.pubkey import Pubkey

from chain.account_json import AccountEncoding, account_json
from chain.parsed.instructions import parse_instruction
from chain.parsed_accounts.sysvars import CLOCK
from tests.chain.agave_decoder.accounts import SYSVAR, Account
from tests.chain.agave_decoder.instructions import Instruction
from tests.chain.agave_decoder.token_accounts import TOKEN_2022


def shown(case: Instruction | Account) -> Any:
    """Through the functions that every method calls; None for what stays unparsed."""
    if isinstance(case, Instruction):
        return parse_instruction(case.program, list(case.accounts), case.data)
    data = account_json(
        LoadedAccount(1, case.data, Pubkey.from_string(case.owner)),
        AccountEncoding.JSON_PARSED,
        load=partial(_load, case),
        pubkey=Pubkey.from_string(case.pubkey),
    )["data"]
    return data if isinstance(data, dict) else None


def text(answer: Any) -> str:
    """As JSON: what is parsed in the order it has, which is sorted in the node."""
    return json.dumps(dict(sorted(answer.items())) if isinstance(answer, dict) else answer)


def _load(case: Account, key: Pubkey) -> LoadedAccount | None:
    """The clock; for any other key the mint that the case has."""
    if str(key) == CLOCK:
        clock = struct.pack("<QqQQq", 7, 0, 1, 2, case.now)
        return LoadedAccount(1, clock, Pubkey.from_string(SYSVAR))
    if case.mint is None:
        return None
    return LoadedAccount(1, case.mint, Pubkey.from_string(TOKEN_2022))
