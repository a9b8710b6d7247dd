"""Token accounts of a new mint are notified parsed, as by a node, before anything is final."""

from typing import Any

from solders import system_program as system
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from spl.token.constants import TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID

from tests.clients.minted import Minted
from tests.ingest.following import caught_up
from tests.localnet.wallets import SOL, pay, send, signed, wallet
from tests.localnet.wallets import landed as landed_at
from tests.localnet_process import Localnet
from tests.subscriptions.conftest import Served
from tests.subscriptions.socket_client import Socket

LEVELS = ("processed", "confirmed", "finalized")
# A mint, a byte that says so, and the extension for interest.
_BEARING_BYTES = 165 + 1 + 4 + 52
_YEARLY = 10_000  # basis points: every second shows


def bearing_interest(minted: Minted) -> list[Instruction]:
    """The mint's instructions; the second gives it interest."""
    authority = minted.authority.pubkey()
    account = system.create_account(
        system.CreateAccountParams(
            from_pubkey=authority,
            to_pubkey=minted.mint,
            lamports=SOL,
            space=_BEARING_BYTES,
            owner=TOKEN_2022_PROGRAM_ID,
        )
    )
    data = bytes([33, 0]) + bytes(authority) + _YEARLY.to_bytes(2, "little", signed=True)
    interest = Instruction(TOKEN_2022_PROGRAM_ID, data, [AccountMeta(minted.mint, False, True)])
    return [account, interest, minted.create()[1]]


def subscribed(
    url: str, key: str | None, owner: Pubkey, **options: Any
) -> tuple[Socket, list[int]]:
    """To the owner's token accounts, by each program and at each commitment."""
    socket = Socket(url, key)
    of_owner = {"memcmp": {"offset": 32, "bytes": str(owner)}}
    return socket, [
        socket.call(
            "programSubscribe",
            str(program),
            {"encoding": "jsonParsed", "commitment": level, "filters": [of_owner], **options},
        )
        for program in (TOKEN_PROGRAM_ID, TOKEN_2022_PROGRAM_ID)
        for level in LEVELS
    ]


def sent(localnet: Localnet, steps: list[Instruction], *signers: Keypair) -> None:
    signature = send(localnet, signed(localnet, steps, *signers), skipPreflight=True)
    assert landed_at(localnet, signature, "processed")["err"] is None


def test_tokens_are_parsed_as_by_the_node_before_their_mint_is_final(served: Served) -> None:
    localnet, owner = served.localnet, Keypair()
    payer, final = wallet(localnet), list[list[Any]]()
    theirs, their_numbers = subscribed(localnet.websocket_url, None, owner.pubkey())
    ours, our_numbers = subscribed(served.url, served.key, owner.pubkey())
    with theirs, ours:
        for program in (TOKEN_PROGRAM_ID, TOKEN_2022_PROGRAM_ID):
            mint = Keypair()
            minted = Minted(program, mint.pubkey(), payer, ())
            is_bearing = program == TOKEN_2022_PROGRAM_ID
            made = bearing_interest(minted) if is_bearing else minted.create()
            sent(localnet, made, payer, mint)
            # In a later slot than the mint, which is not final then.
            sent(localnet, [minted.account(payer, owner.pubkey())], payer)
            sent(localnet, [minted.mint_to(owner.pubkey(), 10**15)], payer)
        sent(localnet, [pay(payer, owner.pubkey(), SOL)], payer)
        for number, other in zip(their_numbers, our_numbers, strict=True):
            wanted, found = [], []
            for results, socket, each in ((wanted, theirs, number), (found, ours, other)):
                results += [socket.result(each), socket.result(each)]
            assert found == wanted
            assert [_amount(each) for each in found] == ["0", str(10**15)]
            final.append(wanted)
    # The same of what is stored.
    caught_up(localnet)
    first = min(results[0]["context"]["slot"] for results in final)
    for_programs = {TOKEN_PROGRAM_ID: final[2], TOKEN_2022_PROGRAM_ID: final[5]}
    ours, numbers = subscribed(served.url, served.key, owner.pubkey(), fromSlot=first)
    with ours:
        for number, wanted in zip(numbers[2::3], for_programs.values(), strict=True):
            assert [ours.result(number), ours.result(number)] == wanted


def _amount(result: Any) -> str:
    parsed = result["value"]["account"]["data"]["parsed"]
    amount: str = parsed["info"]["tokenAmount"]["amount"]
    return amount
