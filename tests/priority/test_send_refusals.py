"""What sendTransaction refuses, with what was required and what was found."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chain.rent import rent_exempt
from chain.transactions import decode_wire
from priority.acceptance.errors import TipRefused
from priority.acceptance.services.tips import TipRules, candidates, first_good
from shared_state.redis_client import client
from tests.priority.sending import (
    MINIMUM,
    PAYER,
    SENT,
    SYSTEM,
    pay,
    queued,
    refusal,
    result,
    signed,
    signed_v0,
    signed_v1,
    static_address,
    text,
    tip,
)
from tipping.addresses import live_key

Door = Callable[..., Any]
pytestmark = pytest.mark.django_db


def refused(door: Door, transaction: VersionedTransaction | str, **config: Any) -> dict[str, Any]:
    written = transaction if isinstance(transaction, str) else text(transaction)
    return refusal(door("/priority", "sendTransaction", written, {**SENT, **config}))


def fetched(*, expires_in: float) -> Pubkey:
    """A tip address that Redis knows."""
    address = Keypair().pubkey()
    client().set(live_key(bytes(address)), int(time.time() + expires_in))
    return address


@pytest.mark.parametrize("found", [False, None])
def test_a_preflight_is_not_made(door: Door, found: bool | None) -> None:
    error = refused(door, signed(tip()), skipPreflight=found)
    assert error["reason"] == "skip_preflight_required"
    assert (error["required"], error["found"]) == (True, found)


@pytest.mark.parametrize(
    ("params", "at"),
    [
        ([], None),
        ([text(b"\1")], None),
        ([1, SENT], "[0]"),
        ([text(b"\1"), {**SENT, "encoding": "hex"}], "[1].encoding"),
        ([text(b"\1"), {**SENT, "maxRetries": -1}], "[1].maxRetries"),
        ([text(b"\1"), {**SENT, "maxRetries": 2**31}], "[1].maxRetries"),
        ([text(b"\1"), {**SENT, "maxRetries": 0.5}], "[1].maxRetries"),
        ([text(b"\1"), {**SENT, "preflightCommitment": "max"}], "[1].preflightCommitment"),
        ([text(b"\1"), {**SENT, "minContextSlot": "9"}], "[1].minContextSlot"),
        ([text(b"\1"), {**SENT, "onlyUpstreams": 7}], "[1].onlyUpstreams"),
        ([text(b"\1"), {**SENT, "onlyUpstreams": [None]}], "[1].onlyUpstreams[0]"),
    ],
)
def test_bad_params_are_named(door: Door, params: list[Any], at: str | None) -> None:
    error = refusal(door("/priority", "sendTransaction", *params))
    assert error["reason"] == "invalid_params"
    assert error.get("at", "").replace("[...]", "[0]") == (at or "")


def test_retries_above_their_most_are_told_it(door: Door) -> None:
    answer = door("/priority", "sendTransaction", text(b"\1"), {**SENT, "maxRetries": 2**31})
    expected = "invalid value: integer `2147483648`, expected at most 2147483647."
    assert answer.json()["error"]["message"] == f"Invalid params: {expected}"


def test_what_is_no_transaction(door: Door) -> None:
    whole = bytes(signed(tip()))
    for wire in (b"", b"\1", whole[:-1], whole + b"\0"):
        assert refused(door, text(wire))["reason"] == "transaction_undecodable"
    answer = door("/priority", "sendTransaction", text(whole), {"skipPreflight": True})
    assert refusal(answer)["reason"] == "transaction_undecodable"
    assert "set that encoding" in answer.json()["error"]["message"], "the commonest slip of all"
    # An index that points nowhere: no validator would take it.
    transfer = whole.index(bytes((2, 2, 0, 1, 12)))
    outside = whole[: transfer + 3] + b"\x07" + whole[transfer + 4 :]
    error = refused(door, text(outside))
    assert (error["reason"], error["at"]) == ("transaction_undecodable", "[0]")


def test_a_transaction_that_no_packet_holds(door: Door) -> None:
    note = Instruction(Pubkey.new_unique(), b"x" * 1_100, [])
    error = refused(door, signed(tip(), note))
    assert error["reason"] == "transaction_too_large"
    assert error["maximum"] == 1_232 < error["found"]


def test_a_version_that_does_not_run_yet(door: Door) -> None:
    in_its_own_form = b"\x82" + bytes(signed_v1(tip()))[1:]
    before_0 = bytes(signed_v0(tip()))
    in_the_form_of_0 = before_0[:65] + b"\x82" + before_0[66:]
    for later in (in_its_own_form, in_the_form_of_0):
        error = refused(door, text(later))
        assert (error["reason"], error["found"], error["maximum"]) == ("unsupported_version", 2, 1)
    in_the_wrong_form = before_0[:65] + b"\x81" + before_0[66:]
    assert refused(door, text(in_the_wrong_form))["reason"] == "transaction_undecodable"


def test_a_version_1_transaction_that_is_too_large(door: Door) -> None:
    note = Instruction(Pubkey.new_unique(), b"x" * 4_000, [])
    error = refused(door, signed_v1(tip(), note))
    assert error["reason"] == "transaction_too_large"
    assert error["maximum"] == 4_096 < error["found"]


def test_every_signature_is_looked_at(door: Door) -> None:
    other = Keypair()
    also = Instruction(Pubkey.new_unique(), b"", [AccountMeta(other.pubkey(), True, False)])
    message = Message.new_with_blockhash([tip(), also], PAYER.pubkey(), Hash.new_unique())
    good = VersionedTransaction(message, [PAYER, other])
    first, second = good.signatures
    for signatures, reason in (
        ([Signature.default(), second], "signature_missing"),
        ([first, Signature.default()], "signature_missing"),
        ([second, first], "signature_invalid"),
        ([first, first], "signature_invalid"),
        ([first, Signature(bytes([1]) * 64)], "signature_invalid"),
    ):
        error = refused(door, VersionedTransaction.populate(message, signatures))
        assert (error["reason"], error["at"]) == (reason, "[0]")
    for bad in (Signature.default(), first):
        error = refused(door, VersionedTransaction.populate(message, [first, bad]))
        assert error["pubkey"] == str(other.pubkey())
    result(door("/priority", "sendTransaction", text(good), SENT))


def test_no_tip_at_all(door: Door) -> None:
    for transaction in (signed(), signed(pay(Pubkey.new_unique(), MINIMUM - 1))):
        error = refused(door, transaction)
        assert error["reason"] == "tip_missing"
        assert (error["required"], error["found"]) == (MINIMUM, 0)
        assert error["addresses"] == [str(static_address())]


def test_a_tip_within_another_program_is_none(door: Door) -> None:
    # What a program would pass on to the system program: its own data, the same accounts.
    inner = Instruction(
        Pubkey.new_unique(),
        tip().data,
        [*tip().accounts, AccountMeta(SYSTEM, False, False)],
    )
    assert refused(door, signed(inner))["reason"] == "tip_missing"


def test_a_tip_below_the_minimum_or_split_over_transfers(door: Door) -> None:
    half = MINIMUM // 2
    error = refused(door, signed(tip(half), tip(half + 1)))
    assert error["reason"] == "tip_too_small"
    assert (error["required"], error["found"]) == (MINIMUM, half + 1)
    assert (error["instructionIndex"], error["address"]) == (1, str(static_address()))


def test_a_tip_to_an_expired_address(door: Door) -> None:
    before = int(time.time())
    address = fetched(expires_in=-10)
    after = int(time.time())
    error = refused(door, signed(pay(Pubkey.new_unique(), 5), pay(address, MINIMUM)))
    assert error["reason"] == "tip_address_expired"
    assert error["instructionIndex"] == 1
    assert error["address"] == str(address)
    assert before - 10 <= error["expiresAt"] <= after - 10
    assert (error["required"], error["found"]) == (MINIMUM, MINIMUM)


def test_a_tip_to_an_address_that_was_never_issued(door: Door) -> None:
    small, large = Pubkey.new_unique(), Pubkey.new_unique()
    error = refused(door, signed(pay(small, MINIMUM), pay(large, MINIMUM + 1)))
    assert error["reason"] == "tip_address_unknown"
    assert (error["address"], error["instructionIndex"]) == (str(large), 1)
    assert (error["required"], error["found"]) == (MINIMUM, MINIMUM + 1)
    assert set(error["unknownAddresses"]) == {str(small), str(large)}


def test_a_tip_behind_a_lookup_table(door: Door) -> None:
    table = AddressLookupTableAccount(Pubkey.new_unique(), [static_address()])
    transaction = signed_v0(tip(), tables=[table])
    assert transaction.message.address_table_lookups
    error = refused(door, transaction)
    assert error["reason"] == "tip_behind_lookup_table"
    assert (error["instructionIndex"], error["required"], error["found"]) == (0, MINIMUM, MINIMUM)


def test_the_refusal_tells_what_its_sender_meant_most(door: Door) -> None:
    live, expired, unknown = fetched(expires_in=60), fetched(expires_in=-60), Pubkey.new_unique()
    table = AddressLookupTableAccount(Pubkey.new_unique(), [hidden := Pubkey.new_unique()])
    parts = [pay(unknown, MINIMUM), pay(hidden, MINIMUM), pay(expired, MINIMUM), pay(live, 1)]
    for count, reason in (
        (4, "tip_too_small"),
        (3, "tip_address_expired"),
        (2, "tip_behind_lookup_table"),
        (1, "tip_address_unknown"),
        (0, "tip_missing"),
    ):
        error = refused(door, signed_v0(*parts[:count], tables=[table]))
        assert error["reason"] == reason


def test_a_qualifying_tip_makes_up_for_all_others(door: Door) -> None:
    live, expired, unknown = fetched(expires_in=60), fetched(expires_in=-60), Pubkey.new_unique()
    others = [pay(unknown, MINIMUM), pay(expired, MINIMUM), tip(1)]
    for last, address in ((pay(live, MINIMUM), live), (tip(), static_address())):
        result(door("/priority", "sendTransaction", text(signed(*others, last)), SENT))
        found = queued()[-1].tip
        assert found is not None
        assert (found.pubkey, found.instruction_index) == (bytes(address), 3)


def test_a_fetched_address_must_hold_what_an_account_needs_to_live(
    door: Door, settings: Any
) -> None:
    settings.TIP_MINIMUM_LAMPORTS = 1_000
    rent = rent_exempt(0)
    live = fetched(expires_in=60)
    error = refused(door, signed(pay(live, rent - 1)))
    assert (error["reason"], error["required"]) == ("tip_too_small", rent)
    result(door("/priority", "sendTransaction", text(signed(pay(live, rent))), SENT))
    result(door("/priority", "sendTransaction", text(signed(tip(1_000))), SENT))


@pytest.fixture
def issued_address(settings: Any) -> Pubkey:
    """One that was fetched."""
    from tipping.models import TtlClass
    from tipping.services import batches, fetching

    now = datetime.now(UTC)
    TtlClass.objects.all().delete()
    TtlClass.objects.create(ttl_seconds=60, window_seconds=30, batch_size=16, is_default=True)
    batches.prepare_batches(seed=settings.TIP_SECRET_SEED, now=now)
    batches.rotate_due(now=now)
    edge = settings.EDGE_NAME
    request = fetching.check_request(ttl=None, count=1, max_count=1, edge=edge, now=now)
    (pubkey,) = fetching.fetch(request, edge=edge, key_id=None, now=now).pubkeys
    return Pubkey(pubkey)


def test_what_redis_lost_the_database_knows(door: Door, issued_address: Pubkey) -> None:
    from tipping.models import TipBatch

    address, key = issued_address, live_key(bytes(issued_address))
    result(door("/priority", "sendTransaction", text(signed(pay(address, MINIMUM))), SENT))
    client().delete(key)
    result(door("/priority", "sendTransaction", text(signed(pay(address, MINIMUM))), SENT))
    assert client().exists(key)  # and tells Redis
    assert [entry.tip and entry.tip.pubkey for entry in queued()] == [bytes(address)] * 2
    client().flushdb()
    TipBatch.objects.update(expires_at=datetime.now(UTC) - timedelta(seconds=5))
    error = refused(door, signed(pay(address, MINIMUM)))
    assert error["reason"] == "tip_address_expired"


def test_a_key_of_the_right_sort_is_needed(door: Door, issue: Any) -> None:
    written = text(signed(tip()))
    response = door("/priority", "sendTransaction", written, SENT, key="")
    assert refusal(response, status=401, code=-32003)["reason"] == "key_required"
    other = issue(scopes=["bundle"]).secret
    response = door("/priority", "sendTransaction", written, SENT, key=other)
    assert refusal(response, status=403, code=-32003)["reason"] == "scope_missing"
    response = door("/priority", "sendTransaction", written, SENT, host="public.rpc.localhost")
    assert refusal(response, status=404, code=-32600)["reason"] == "path_not_served"
    query = f"/priority?api_key={issue(scopes=['priority']).secret}"
    result(door(query, "sendTransaction", written, SENT, key=""))


_RULES = TipRules(frozenset({bytes([9]) * 32}), MINIMUM, MINIMUM)
_LAMPORTS = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([MINIMUM - 1, MINIMUM]))


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("SLEU"), _LAMPORTS), max_size=4), min_size=1, max_size=4
    )
)
def test_the_first_that_qualifies_counts_and_the_last_transaction_first(
    bundle: list[list[tuple[str, int]]],
) -> None:
    """S is a static address, L a fetched one that lives, E an expired one, U one unknown."""
    now = 1_000
    addresses = {sort: Pubkey(bytes([9 if sort == "S" else ord(sort)]) * 32) for sort in "SLEU"}
    client().set(live_key(bytes(addresses["L"])), now + 1)
    client().set(live_key(bytes(addresses["E"])), now)
    transactions = [
        signed(*(pay(addresses[sort], lamports) for sort, lamports in transfers))
        for transfers in bundle
    ]
    wires = [decode_wire(bytes(each)) for each in transactions]
    expected = [
        (index, place)
        for index in reversed(range(len(bundle)))
        for place, (sort, lamports) in enumerate(bundle[index])
        if sort in "SL" and lamports >= MINIMUM
    ]
    try:
        found = first_good(wires, candidates(wires, _RULES), _RULES, now=now, at=str)
    except TipRefused:
        assert not expected
    else:
        assert (found.transaction_index, found.instruction_index) == expected[0]
