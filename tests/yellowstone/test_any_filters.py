"""Any filters on any slot: what the follower selects for them is all that they match."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from livefeed.messages import Level, Reached
from livefeed.parts import Part
from livefeed.wanted import Wanted
from tests.cuckoo_filters import SEED, cuckoo_filter, has
from tests.examples import examples
from upstream.geyser.request_filters import Filters
from upstream.geyser.updates import AccountUpdate, BlockMetaUpdate, TransactionUpdate, account_keys
from upstream.protobuf import geyser_pb2 as schema
from yellowstone.content import Content, content_of
from yellowstone.matching import updates, wants_of

KEYS = [bytes([number]) * 32 for number in range(1, 4)]
TEXTS = [str(Pubkey(key)) for key in KEYS]
TOKEN = bytes(108) + b"\1" + bytes(56)

keys = st.sampled_from(KEYS)
# Mostly nothing: filters with many conditions match hardly anything.
texts = st.integers(0, 2).flatmap(
    lambda n: st.just([]) if n else st.lists(st.sampled_from(TEXTS), min_size=1, max_size=2)
)
flags = st.sampled_from([None, None, False, True])
states = st.sampled_from(
    [
        {"datasize": 3},
        {"memcmp": {"offset": 1, "bytes": b"a"}},
        {"memcmp": {"offset": 0, "base58": "2"}},
        {"token_account_state": True},
        {"lamports": {"gt": 1}},
        {"lamports": {"eq": 2}},
    ]
)


def given_only(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


# Of one bucket, and of several.
cuckoos = st.builds(
    cuckoo_filter, st.lists(keys, max_size=2), st.sampled_from([0, SEED]), st.sampled_from([1, 4])
)
maybe_cuckoos = st.one_of(st.none(), st.none(), cuckoos)

account_filters = st.builds(
    given_only,
    account=texts,
    cuckoo_accounts_filter=maybe_cuckoos,
    owner=texts,
    filters=st.lists(states, max_size=1).filter(
        lambda found: sum("datasize" in each for each in found) < 2
    ),
    nonempty_txn_signature=flags,
)
transaction_filters = st.builds(
    given_only,
    vote=flags,
    failed=flags,
    account_include=texts,
    account_exclude=texts,
    account_required=texts,
    cuckoo_account_include=maybe_cuckoos,
    token_accounts=st.sampled_from([None, None, 0, 1]),
)
block_filters = st.builds(
    given_only,
    account_include=texts,
    cuckoo_account_include=maybe_cuckoos,
    include_transactions=flags,
    include_accounts=flags,
)


def named(filters: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from("ab"), filters, max_size=2)


requests = st.builds(
    schema.SubscribeRequest,
    accounts=named(account_filters),
    transactions=named(transaction_filters),
    transactions_status=named(transaction_filters),
    blocks=st.integers(0, 2).flatmap(lambda n: st.just({}) if n else named(block_filters)),
    blocks_meta=named(st.just({})),
    slots=named(st.builds(given_only, filter_by_commitment=flags)),
    commitment=st.sampled_from([0, 1, 2]),
)


@st.composite
def slots(draw: Any) -> Part:
    part = Part()
    for number, pubkey in enumerate(draw(st.lists(keys, unique=True, min_size=2))):
        info = schema.SubscribeUpdateAccountInfo(
            pubkey=pubkey,
            owner=draw(keys),
            lamports=draw(st.integers(0, 3)),
            data=draw(st.sampled_from([b"\1ab", b"\1ab", b"", TOKEN])),
            write_version=number,
            txn_signature=draw(st.sampled_from([None, bytes(64)])),
        )
        packed = schema.SubscribeUpdate(account={"slot": 7, "account": info}).SerializeToString()
        part.accounts[pubkey] = AccountUpdate(7, pubkey, number, b"", packed, info.owner)  # type: ignore[arg-type]
    for index in range(draw(st.integers(2, 4))):
        owners = draw(st.lists(st.sampled_from(TEXTS), max_size=2))
        balances: Any = [
            {"account_index": at, "owner": owner, "ui_token_amount": {"amount": "1"}}
            for at, owner in enumerate(owners)
        ]
        meta: Any = {
            "loaded_writable_addresses": draw(st.lists(keys, max_size=1)),
            "post_token_balances": balances,
            "err": {"err": draw(st.sampled_from([b"", b"\1"]))},
        }
        signature = bytes([index + 1]) * 64
        info_of: Any = schema.SubscribeUpdateTransactionInfo(
            signature=signature,
            is_vote=draw(st.booleans()),
            transaction={"message": {"account_keys": draw(st.lists(keys, max_size=3))}},
            meta=meta,
            index=index,
        )
        packed = schema.SubscribeUpdate(
            transaction={"slot": 7, "transaction": info_of}
        ).SerializeToString()
        update = TransactionUpdate(
            7,
            index,
            signature,
            (),
            None,
            packed,  # type: ignore[arg-type]
            is_vote=info_of.is_vote,
        )
        part.transactions[index] = part.signatures[signature] = update
    header: Any = {"slot": 7, "parent_slot": 6, "blockhash": "x"}
    header["executed_transaction_count"] = len(part.transactions)
    packed = schema.SubscribeUpdate(block_meta=header).SerializeToString()
    count = len(part.transactions)
    part.meta = BlockMetaUpdate(7, 6, "x", "y", count, (), packed)  # type: ignore[arg-type]
    return part


def content(part: Part, level: Level, accounts: Any, transactions: Any) -> Content:
    assert part.meta is not None
    return content_of(
        Reached(
            7,
            6,
            level,
            True,
            0.0,
            0,
            [each.packed for each in accounts],
            [-1] * len(accounts),
            transactions,
            part.meta.packed,
            len(part.transactions),
            len(part.accounts),
        )
    )


@settings(max_examples=examples(600), deadline=None)
@given(requests, slots())
def test_a_stream_is_sent_what_its_filters_match(request: Any, part: Part) -> None:
    filters, level = Filters(request), Level(request.commitment)
    wanted = Wanted()
    wanted.add("here", wants_of(filters))
    picked = wanted.of_slot(part, level)["here"]
    assert picked.block
    selected = content(part, level, picked.accounts_in_order(), picked.transactions_in_order())
    whole = content(
        part,
        level,
        list(part.accounts.values()),
        [part.transactions[index].packed for index in sorted(part.transactions)],
    )
    selected.created_at = whole.created_at = b""
    found = updates(filters, selected)
    assert found == updates(filters, whole)
    # The same without any index.
    parsed = [schema.SubscribeUpdate.FromString(each) for each in found]
    for name, each in filters.accounts:
        expected = {m.write.pubkey for m in whole.accounts if each.matches(m.write)}
        assert sent(parsed, name, "account", lambda a: a.account.pubkey) == expected
    for name, wanted in filters.transactions:
        expected = {m.signature for m in whole.transactions if wanted.matches(m)}
        assert sent(parsed, name, "transaction", lambda t: t.transaction.signature) == expected


@settings(max_examples=examples(100), deadline=None)
@given(cuckoos, slots())
def test_transactions_within_a_cuckoo_filter_are_selected(asked: Any, part: Part) -> None:
    request = schema.SubscribeRequest(transactions={"a": {"cuckoo_account_include": asked}})
    wanted = Wanted()
    wanted.add("here", wants_of(Filters(request)))
    picked = wanted.of_slot(part, Level.PROCESSED)["here"].transactions
    for index, update in part.transactions.items():
        info = schema.SubscribeUpdate.FromString(update.packed).transaction.transaction
        assert (index in picked) == any(has(asked, key) for key in account_keys(info))


def sent(parsed: Any, name: str, sort: str, what: Any) -> set[bytes]:
    of_sort = (each for each in parsed if each.HasField(sort) and name in each.filters)
    return {bytes(what(getattr(each, sort))) for each in of_sort}
