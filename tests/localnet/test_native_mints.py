"""SOL as a token: wrapped and unwrapped with both token programs; the least that is staked."""

import base64
import struct
from typing import Any

import pytest
from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from spl.token import instructions as token
from spl.token.constants import TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID, WRAPPED_SOL_MINT
from spl.token.models import CloseAccountParams, SyncNativeParams

from chain.addresses import WRAPPED_SOL_2022
from localnet.native_mints import native_mints
from localnet.opening import open_chain
from localnet.storage import Storage
from tests.localnet.test_genesis import NOW
from tests.localnet.wallets import SOL, done, encoded, landed, pay, signed, wallet
from tests.localnet_process import Localnet, running_localnet

STAKE = Pubkey.from_string("Stake11111111111111111111111111111111111111")
CONFIRMED = {"commitment": "confirmed"}


@pytest.mark.parametrize(
    ("program", "mint"),
    [(TOKEN_PROGRAM_ID, WRAPPED_SOL_MINT), (TOKEN_2022_PROGRAM_ID, WRAPPED_SOL_2022)],
)
def test_sol_is_wrapped_and_unwrapped(localnet: Localnet, program: Pubkey, mint: Pubkey) -> None:
    owner = wallet(localnet)
    wrapped = token.get_associated_token_address(owner.pubkey(), mint, program)
    done(
        localnet,
        [
            token.create_associated_token_account(owner.pubkey(), owner.pubkey(), mint, program),
            pay(owner, wrapped, 2 * SOL),
            token.sync_native(SyncNativeParams(program_id=program, account=wrapped)),
        ],
        owner,
    )
    balance = localnet.call("getTokenAccountBalance", str(wrapped), CONFIRMED)["value"]
    assert (balance["amount"], balance["decimals"]) == (str(2 * SOL), 9)
    shown = localnet.call("getAccountInfo", str(wrapped), {**CONFIRMED, "encoding": "jsonParsed"})
    info = shown["value"]["data"]["parsed"]["info"]
    assert info["isNative"] is True and info["mint"] == str(mint)
    of_mint = localnet.call("getAccountInfo", str(mint), {**CONFIRMED, "encoding": "jsonParsed"})
    assert of_mint["value"]["owner"] == str(program)
    assert of_mint["value"]["rentEpoch"] == 1
    assert of_mint["value"]["data"]["parsed"]["info"] == {
        "decimals": 9, "freezeAuthority": None, "isInitialized": True, "mintAuthority": None,
        "supply": "0", **({"extensions": []} if "extensions" in str(of_mint) else {}),
    }  # fmt: skip
    before = localnet.call("getBalance", str(owner.pubkey()), CONFIRMED)["value"]
    close = CloseAccountParams(
        program_id=program, account=wrapped, dest=owner.pubkey(), owner=owner.pubkey()
    )
    done(localnet, [token.close_account(close)], owner)
    after = localnet.call("getBalance", str(owner.pubkey()), CONFIRMED)["value"]
    assert after - before > 2 * SOL
    assert localnet.call("getAccountInfo", str(wrapped), CONFIRMED)["value"] is None


def test_a_chain_of_before_gets_them_in_its_next_block(tmp_path: Any) -> None:
    storage = Storage(tmp_path)
    none = Account(0, b"", Pubkey.default(), False, 0)
    given = dict.fromkeys(native_mints(), none)
    began = open_chain(storage, epoch_slots=64, slot_seconds=0.4, now=NOW, given=given)
    assert not began.accounts_to_load
    assert began.root.load(WRAPPED_SOL_MINT) is None
    again = open_chain(storage, epoch_slots=64, slot_seconds=0.4, now=NOW)
    assert again.accounts_to_load == native_mints()
    storage.close()


def test_token_2022s_may_be_left_out_and_made_by_a_transaction() -> None:
    """As spl-token's own tests make it: CreateNativeMint, which fails where it is there."""

    def shown(localnet: Localnet, mint: Pubkey) -> Any:
        return localnet.call("getAccountInfo", str(mint), {**CONFIRMED, "encoding": "base64"})

    with running_localnet(LOCALNET_TOKEN_2022_MINT="false", LOCALNET_SLOT_MS=20) as localnet:
        assert shown(localnet, WRAPPED_SOL_MINT)["value"] is not None
        assert shown(localnet, WRAPPED_SOL_2022)["value"] is None
        payer = wallet(localnet)
        accounts = [
            AccountMeta(payer.pubkey(), is_signer=True, is_writable=True),
            AccountMeta(WRAPPED_SOL_2022, is_signer=False, is_writable=True),
            AccountMeta(Pubkey.default(), is_signer=False, is_writable=False),
        ]
        done(localnet, [Instruction(TOKEN_2022_PROGRAM_ID, bytes([31]), accounts)], payer)
        made = shown(localnet, WRAPPED_SOL_2022)["value"]
        assert made["owner"] == str(TOKEN_2022_PROGRAM_ID)
        landed(localnet, localnet.call("requestAirdrop", str(payer.pubkey()), SOL), "finalized")
        localnet.stop()
        localnet.start()
        assert shown(localnet, WRAPPED_SOL_2022)["value"] == made, "a restart leaves it as it is"


def test_the_minimum_of_stakes_is_the_programs(localnet: Localnet) -> None:
    payer = wallet(localnet)
    asked = Instruction(STAKE, struct.pack("<I", 13), list[AccountMeta]())
    ran = localnet.call(
        "simulateTransaction",
        encoded(signed(localnet, [asked], payer)),
        {**CONFIRMED, "encoding": "base64"},
    )["value"]
    assert ran["err"] is None, ran
    (said,) = struct.unpack("<Q", base64.b64decode(ran["returnData"]["data"][0]))
    assert localnet.call("getStakeMinimumDelegation")["value"] == said
