"""What bundles may reach for: lookup tables, nonces, many accounts, another chain's features."""

import base64
import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as trying
from hypothesis import strategies as st
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chain.addresses import LOOKUP_TABLE, SYSTEM
from columns.kept import forget_all
from simulator.features import mainnet_features
from tests.examples import examples
from tests.localnet.wallets import SOL, done, nonce, pay, signed, wallet
from tests.localnet_process import Localnet
from tests.priority.bundling import Post, answer, asking, flat, nested
from tests.priority.odd_nodes import OddNode
from tests.simulator.world import transfer

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def alice(localnet: Localnet) -> Keypair:
    return wallet(localnet, 1_000 * SOL)


@pytest.fixture(scope="module")
def table(localnet: Localnet, alice: Keypair) -> AddressLookupTableAccount:
    """A lookup table on the chain, of three keys that hold nothing."""
    slot = localnet.call("getSlot", {"commitment": "finalized"})
    seeds = [bytes(alice.pubkey()), slot.to_bytes(8, "little")]
    key, bump = Pubkey.find_program_address(seeds, LOOKUP_TABLE)
    metas = [
        AccountMeta(key, is_signer=False, is_writable=True),
        AccountMeta(alice.pubkey(), is_signer=True, is_writable=False),
        AccountMeta(alice.pubkey(), is_signer=True, is_writable=True),
        AccountMeta(SYSTEM, is_signer=False, is_writable=False),
    ]
    listed = [Keypair().pubkey() for _ in range(3)]
    create = bytes(4) + slot.to_bytes(8, "little") + bytes([bump])
    extend = (2).to_bytes(4, "little") + (3).to_bytes(8, "little") + b"".join(map(bytes, listed))
    done(localnet, [Instruction(LOOKUP_TABLE, data, metas) for data in (create, extend)], alice)
    # What was added in a slot can be used from the next one on.
    localnet.wait_for_slot(localnet.call("getSlot", {"commitment": "processed"}) + 1)
    return AddressLookupTableAccount(key, listed)


def test_accounts_that_a_table_gives_are_reached_and_shown(
    chain: Localnet, alice: Keypair, table: AddressLookupTableAccount, post: Post
) -> None:
    first, second, _ = table.addresses
    transaction = signed(
        chain, [pay(alice, first, SOL), pay(alice, second, 2 * SOL)], alice, tables=[table]
    )
    assert first not in transaction.message.account_keys
    told = flat(post, [transaction])
    assert told["err"] is None
    lamports = [each and each["lamports"] for each in told["postExecutionAccounts"]]
    # In the order in which the message looks them up.
    (lookup,) = transaction.message.address_table_lookups
    looked_up = [table.addresses[index] for index in lookup.writable_indexes]
    wanted = [{first: SOL, second: 2 * SOL}[key] for key in looked_up]
    assert lamports[1:] == wanted
    assert told["preExecutionAccounts"][1:] == [None, None]
    (result,) = nested(post, [transaction])["value"]["transactionResults"]
    assert result["loadedAddresses"] == {
        "writable": [str(key) for key in looked_up],
        "readonly": [],
    }
    assert result["postBalances"][-2:] == wanted


def test_a_table_that_is_none_is_an_error_of_the_transaction(
    chain: Localnet, alice: Keypair, table: AddressLookupTableAccount, post: Post
) -> None:
    away = AddressLookupTableAccount(Keypair().pubkey(), table.addresses)
    transaction = signed(chain, [pay(alice, table.addresses[0], SOL)], alice, tables=[away])
    told = flat(post, [transaction])
    assert told["err"] == "AddressLookupTableNotFound"
    payer = chain.call("getBalance", str(alice.pubkey()), {"commitment": "processed"})["value"]
    # It never ran, and pays nothing.
    for accounts in (told["preExecutionAccounts"], told["postExecutionAccounts"]):
        assert [each["lamports"] for each in accounts if each] == [payer]


def test_a_transaction_on_a_nonce_needs_no_recent_blockhash(
    chain: Localnet, alice: Keypair, post: Post
) -> None:
    me = alice.pubkey()
    account, advance, durable = nonce(chain, alice)
    bundle = [
        signed(chain, [advance, pay(alice, me, lamports)], alice, blockhash=durable)
        for lamports in (1, 2)
    ]
    shown = [{"addresses": [str(account)]}, None]
    told = nested(post, bundle, postExecutionAccountsConfigs=shown)
    first, second = told["value"]["transactionResults"]
    assert first["err"] is None
    # It has moved on, and cannot once more in the same slot.
    after = base64.b64decode(first["postExecutionAccounts"][0]["data"][0])[40:72]
    assert after != bytes(Hash.from_string(durable))
    assert second["err"] == "BlockhashNotFound"
    other = signed(chain, [pay(alice, me, 1)], alice, blockhash=durable)
    assert flat(post, [other])["err"] == "BlockhashNotFound"


def test_more_accounts_than_a_page_holds_are_shown(
    chain: Localnet, alice: Keypair, post: Post
) -> None:
    mine = {str(alice.pubkey())}
    strangers = [[str(Keypair().pubkey()) for _ in range(63)] for _ in range(4)]
    transaction = signed(chain, [pay(alice, alice.pubkey(), 1)], alice)
    other = signed(chain, [pay(alice, alice.pubkey(), 2)], alice)
    told = flat(
        post,
        [transaction, other],
        preExecutionAccountsConfigs=[{"addresses": [*mine, *each]} for each in strangers[:2]],
        postExecutionAccountsConfigs=[{"addresses": [*each, *mine]} for each in strangers[2:]],
    )
    assert told["err"] is None
    pre, after = told["preExecutionAccounts"], told["postExecutionAccounts"]
    assert [place for place, each in enumerate(pre) if each] == [0, 64]
    assert [place for place, each in enumerate(after) if each] == [63, 127]
    assert after[127]["lamports"] == pre[0]["lamports"] - 10_000


def test_features_are_the_chains_own(
    chain: Localnet, alice: Keypair, node: Callable[..., OddNode], post: Post
) -> None:
    """Without SIMD-0082 a transaction that cannot be loaded pays nothing."""
    paying = "PaymEPK2oqwT9TXAVfadjztH2H6KfLEB9Hhd5Q5frvP"
    assert Pubkey.from_string(paying) in mainnet_features().active

    def without(body: bytes) -> tuple[int, bytes]:
        calls = json.loads(body)
        told = chain.post(calls)
        for asked, each in zip(calls, told, strict=True):
            if asked["method"] == "getMultipleAccounts" and paying in asked["params"][0]:
                each["result"]["value"][asked["params"][0].index(paying)] = None
        return 200, json.dumps(told).encode()

    absent = Instruction(Keypair().pubkey(), b"", [])
    transaction = signed(chain, [absent], alice)
    forget_all()
    (told,) = nested(post, [transaction])["value"]["transactionResults"]
    assert (told["err"], told["fee"]) == ("ProgramAccountNotFound", 5_000)
    node(without)
    (told,) = nested(post, [transaction])["value"]["transactionResults"]
    assert (told["err"], told["fee"]) == ("ProgramAccountNotFound", None)


@trying(max_examples=examples(80), suppress_health_check=list(HealthCheck))
@given(
    noise=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), max_size=4),
    second=st.booleans(),
)
def test_whatever_bytes_a_transaction_has_there_is_an_outcome_or_a_reason(
    chain: Localnet,
    alice: Keypair,
    table: AddressLookupTableAccount,
    post: Post,
    noise: list[tuple[int, int]],
    second: bool,
) -> None:
    instructions = [transfer(alice.pubkey(), table.addresses[0], SOL)]
    good = signed(chain, instructions, alice, tables=[table], blockhash=str(Pubkey.default()))
    wire = bytearray(bytes(good))
    for at, value in noise:
        wire[at % len(wire)] = value
    text = base64.b64encode(wire).decode()
    config = {"skipSigVerify": True, "replaceRecentBlockhash": True}
    params = [asking([text]), config] if second else [asking([text], **config)]
    told = answer(post, *params)
    if "error" in told:
        assert told["error"]["data"]["reason"].startswith(("transaction_", "unsupported_")), told
    elif second:
        assert told["result"]["value"]["transactionResults"]
    else:
        assert "err" in told["result"]
