"""Tokens and lookup tables: programs that came with the engine, and how accounts are shown."""

import json
from pathlib import Path
from typing import Any

import pytest
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account
from spl.token import instructions as token
from spl.token.constants import TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID
from spl.token.models import InitializeMintParams, MintToParams, TransferCheckedParams

from tests.localnet.wallets import SOL, done, landed, pay, send, signed, wallet
from tests.localnet_process import Localnet, running_localnet

LOOKUP_TABLES = Pubkey.from_string("AddressLookupTab1e1111111111111111111111111")
SYSTEM = Pubkey.default()
CONFIRMED = {"commitment": "confirmed"}


def new_mint(localnet: Localnet, owner: Keypair, program: Pubkey) -> Pubkey:
    mint = Keypair()
    rent = localnet.call("getMinimumBalanceForRentExemption", 82)
    done(
        localnet,
        [
            create_account(
                CreateAccountParams(
                    from_pubkey=owner.pubkey(),
                    to_pubkey=mint.pubkey(),
                    lamports=rent,
                    space=82,
                    owner=program,
                )
            ),
            token.initialize_mint(
                InitializeMintParams(
                    decimals=6,
                    program_id=program,
                    mint=mint.pubkey(),
                    mint_authority=owner.pubkey(),
                )
            ),
        ],
        owner,
        mint,
    )
    return mint.pubkey()


@pytest.mark.parametrize("program", [TOKEN_PROGRAM_ID, TOKEN_2022_PROGRAM_ID])
def test_tokens_are_minted_and_moved(localnet: Localnet, program: Pubkey) -> None:
    alice, bob = wallet(localnet), Keypair()
    mint = new_mint(localnet, alice, program)
    hers, his = (
        token.get_associated_token_address(owner, mint, program)
        for owner in (alice.pubkey(), bob.pubkey())
    )
    create = token.create_associated_token_account
    done(
        localnet,
        [
            create(alice.pubkey(), alice.pubkey(), mint, program),
            create(alice.pubkey(), bob.pubkey(), mint, program),
            token.mint_to(
                MintToParams(
                    program_id=program,
                    mint=mint,
                    dest=hers,
                    mint_authority=alice.pubkey(),
                    amount=5_500_000,
                )
            ),
        ],
        alice,
    )
    signature = done(
        localnet,
        [
            token.transfer_checked(
                TransferCheckedParams(
                    program_id=program,
                    source=hers,
                    mint=mint,
                    dest=his,
                    owner=alice.pubkey(),
                    amount=1_500_000,
                    decimals=6,
                )
            )
        ],
        alice,
    )
    amount = {"amount": "1500000", "decimals": 6, "uiAmount": 1.5, "uiAmountString": "1.5"}
    assert localnet.call("getTokenAccountBalance", str(his), CONFIRMED)["value"] == amount
    supply = localnet.call("getTokenSupply", str(mint), CONFIRMED)["value"]
    assert supply["uiAmountString"] == "5.5"
    largest = localnet.call("getTokenLargestAccounts", str(mint), CONFIRMED)["value"]
    assert [each["address"] for each in largest] == [str(hers), str(his)]

    parsed = {"encoding": "jsonParsed", **CONFIRMED}
    for wanted in ({"mint": str(mint)}, {"programId": str(program)}):
        (found,) = localnet.call("getTokenAccountsByOwner", str(bob.pubkey()), wanted, parsed)[
            "value"
        ]
        assert found["pubkey"] == str(his)
        data = found["account"]["data"]
        assert data["program"] == ("spl-token" if program == TOKEN_PROGRAM_ID else "spl-token-2022")
        assert data["parsed"]["type"] == "account"
        info = data["parsed"]["info"]
        assert (info["mint"], info["owner"]) == (str(mint), str(bob.pubkey()))
        assert (info["state"], info["isNative"]) == ("initialized", False)
        assert info["tokenAmount"] == amount
        if program == TOKEN_2022_PROGRAM_ID:
            assert info["extensions"] == [{"extension": "immutableOwner"}]
    shown = localnet.call("getAccountInfo", str(mint), parsed)["value"]["data"]["parsed"]
    assert shown == {
        "info": {
            "decimals": 6,
            "freezeAuthority": None,
            "isInitialized": True,
            "mintAuthority": str(alice.pubkey()),
            "supply": "5500000",
        },
        "type": "mint",
    }
    filters = [{"memcmp": {"offset": 0, "bytes": str(mint)}}, "tokenAccountState"]
    config = {"encoding": "base64", "filters": filters, "dataSlice": {"offset": 64, "length": 8}}
    listed = localnet.call("getProgramAccounts", str(program), {**config, **CONFIRMED})
    assert {each["pubkey"] for each in listed} == {str(hers), str(his)}

    meta = localnet.call(
        "getTransaction", signature, {**parsed, "maxSupportedTransactionVersion": 0}
    )
    assert meta["transaction"]["message"]["instructions"][0]["parsed"]["type"] == "transferChecked"
    after = {each["owner"]: each["uiTokenAmount"] for each in meta["meta"]["postTokenBalances"]}
    assert after[str(bob.pubkey())] == amount


def test_a_lookup_table_is_made_and_used(localnet: Localnet) -> None:
    owner, receiver = wallet(localnet), Pubkey.new_unique()
    slot = localnet.call("getSlot", {"commitment": "finalized"})
    key, bump = Pubkey.find_program_address(
        [bytes(owner.pubkey()), slot.to_bytes(8, "little")], LOOKUP_TABLES
    )
    accounts = [
        AccountMeta(key, False, True),
        AccountMeta(owner.pubkey(), True, False),
        AccountMeta(owner.pubkey(), True, True),
        AccountMeta(SYSTEM, False, False),
    ]
    create = bytes(4) + slot.to_bytes(8, "little") + bytes([bump])
    extend = (2).to_bytes(4, "little") + (1).to_bytes(8, "little") + bytes(receiver)
    signature = done(
        localnet,
        [Instruction(LOOKUP_TABLES, data, accounts) for data in (create, extend)],
        owner,
    )
    slot = landed(localnet, signature)["slot"]
    shown = localnet.call("getAccountInfo", str(key), {"encoding": "jsonParsed"})["value"]["data"]
    assert shown["program"] == "address-lookup-table"
    assert shown["parsed"] == {
        "info": {
            "addresses": [str(receiver)],
            "authority": str(owner.pubkey()),
            "deactivationSlot": str(2**64 - 1),
            "lastExtendedSlot": str(slot),
            "lastExtendedSlotStartIndex": 0,
        },
        "type": "lookupTable",
    }
    table = AddressLookupTableAccount(key, [receiver])
    used = signed(localnet, [pay(owner, receiver, SOL)], owner, tables=[table])
    assert len(used.message.account_keys) == 2
    signature = send(localnet, used)
    status = landed(localnet, signature)
    assert status["err"] is None
    unversioned = localnet.answer("getTransaction", signature)
    assert unversioned["error"]["code"] == -32015
    found = localnet.call("getTransaction", signature, {"maxSupportedTransactionVersion": 0})
    assert found["version"] == 0
    assert found["meta"]["loadedAddresses"] == {"writable": [str(receiver)], "readonly": []}
    listed = localnet.call("getSignaturesForAddress", str(receiver))
    assert [each["signature"] for each in listed] == [signature]


def test_accounts_are_loaded_from_files(fixtures: Path) -> None:
    folder = fixtures / "accounts" / "kit-localnet"
    files = {path.stem: json.loads(path.read_bytes()) for path in folder.glob("*.json")}
    with running_localnet() as localnet:
        before = localnet.wait_for_slot(1)
        localnet.stop()
        localnet.start("--accounts", str(folder))

        def shown(name: str, encoding: str) -> Any:
            key, config = files[name]["pubkey"], {"encoding": encoding}
            return localnet.call("getAccountInfo", key, config)["value"]

        localnet.wait(lambda: shown("nonce-account", "base64"), "given its accounts")
        for name, file in files.items():
            value = shown(name, "base64")
            for field in ("lamports", "data", "owner", "executable"):
                assert value[field] == file["account"][field], (name, field)
        assert shown("nonce-account", "jsonParsed")["data"]["program"] == "nonce"
        assert shown("nonce-account", "jsonParsed")["data"]["parsed"]["type"] == "initialized"
        table = shown("address-lookup-table-account", "jsonParsed")["data"]["parsed"]
        assert table["type"] == "lookupTable"
        slots = localnet.call("getBlocks", before)
        writes = [localnet.call("getAccountWrites", slot) for slot in slots]
        given = {each["pubkey"] for each in files.values()}
        (loading,) = [each for each in writes if given <= {write["pubkey"] for write in each}]
        assert all(write["signature"] is None for write in loading)


def test_a_file_that_is_no_account_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"pubkey": "x"}')
    with (
        pytest.raises(AssertionError, match=r"broken\.json: Object missing"),
        running_localnet("--accounts", str(tmp_path)),
    ):
        pass


@pytest.mark.parametrize(
    "method", ["getTokenAccountBalance", "getTokenSupply", "getTokenLargestAccounts"]
)
def test_a_config_of_these_must_name_the_commitment(localnet: Localnet, method: str) -> None:
    nowhere = str(Keypair().pubkey())
    refused = localnet.answer(method, nowhere, {})["error"]
    assert refused["code"] == -32602
    assert refused["message"] == "Invalid params: missing field `commitment`."
    for config in ([], [{"commitment": "confirmed"}]):
        missing = localnet.answer(method, nowhere, *config)["error"]["message"]
        assert missing.startswith("Invalid param: could not find ")
