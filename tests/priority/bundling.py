"""What tests of bundles share: wallets, tokens, and the two forms of the call."""

import base64
from collections.abc import Callable, Sequence
from typing import Any

from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account
from solders.transaction import VersionedTransaction

from chain.addresses import TOKEN
from simulator.defaults import rent_minimum
from tests.localnet.wallets import done
from tests.localnet_process import Localnet
from tests.simulator.world import call, create_token_account, signing, token_address, writable

Post = Callable[..., Any]
Answer = dict[str, Any]


def text(transaction: VersionedTransaction | bytes) -> str:
    return base64.b64encode(bytes(transaction)).decode()


def asking(transactions: Sequence[VersionedTransaction | str], **members: Any) -> Answer:
    """The first parameter."""
    texts = [each if isinstance(each, str) else text(each) for each in transactions]
    return {"encodedTransactions": texts, **members}


def answer(post: Post, *params: Any, **meta: Any) -> Answer:
    body = {"jsonrpc": "2.0", "id": 1, "method": "simulateBundle", "params": list(params)}
    response = post(body, **meta)
    assert response.status_code == 200, response.content
    told: Answer = response.json()
    return told


def flat(post: Post, transactions: Sequence[VersionedTransaction], **members: Any) -> Answer:
    """The result of the form with one parameter."""
    told = answer(post, asking(transactions, **members))
    assert "error" not in told, told["error"]
    result: Answer = told["result"]
    return result


def nested(post: Post, transactions: Sequence[VersionedTransaction], **members: Any) -> Answer:
    """The result of the form with two, on the newest state."""
    told = answer(post, asking(transactions), {"simulationBank": "tip", **members})
    assert "error" not in told, told["error"]
    result: Answer = told["result"]
    return result


def refused(post: Post, *params: Any, code: int = -32602) -> Answer:
    """The error's data."""
    told = answer(post, *params)
    assert "error" in told, told["result"]
    assert told["error"]["code"] == code, told["error"]
    data: Answer = told["error"]["data"]
    return data


def new_mint(
    localnet: Localnet, owner: Keypair, *, supply: int, program: Pubkey = TOKEN
) -> tuple[Pubkey, Pubkey]:
    """A mint of 6 decimals and the owner's account of it, which holds all there is."""
    mint = Keypair()
    space = 82
    params = CreateAccountParams(
        from_pubkey=owner.pubkey(),
        to_pubkey=mint.pubkey(),
        lamports=rent_minimum(space),
        space=space,
        owner=program,
    )
    initialize = b"\x14\x06" + bytes(owner.pubkey()) + b"\0"
    held = token_address(owner.pubkey(), mint.pubkey(), program)
    issue = b"\x07" + supply.to_bytes(8, "little")
    instructions: list[Instruction] = [
        create_account(params),
        call(program, initialize, [writable(mint.pubkey())]),
        create_token_account(owner.pubkey(), owner.pubkey(), mint.pubkey(), program),
        call(program, issue, [writable(mint.pubkey()), writable(held), signing(owner.pubkey())]),
    ]
    done(localnet, instructions, owner, mint)
    return mint.pubkey(), held
