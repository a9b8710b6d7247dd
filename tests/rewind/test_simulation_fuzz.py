"""Whatever is asked, there is an answer or a refusal with a reason, and never a fault of ours."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chain.encodings import b64encode
from gateway.transactions import TransactionText, read_transaction
from jsonrpc.errors import InvalidParams
from tests.conftest import Rpc
from tests.examples import examples
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.simulating import stored

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]

REFUSED = {-32602, -32014, -32015, -32016, -32017, -32018}
MANY = settings(
    max_examples=examples(150),
)


@pytest.fixture
def archived(tmp_path: Path) -> Any:
    made = LittleChain(tmp_path)
    target = made.payers[1].pubkey()
    made.block(made.payment(target, SOL))
    made.block(made.payment(target, SOL + 1), made.payment(made.payers[0].pubkey(), 1, payer=1))
    stored(made.records)
    yield made
    made.close()


def members(chain: LittleChain) -> st.SearchStrategy[dict[str, Any]]:
    """Configs, most of them close to what is meant."""
    keys = [str(key) for key in chain.sent[0].message.account_keys]
    numbers = st.one_of(st.integers(-1, 4), st.sampled_from([2**63, 2**64 - 1, 2**64, 10**30]))
    pubkeys = st.one_of(st.sampled_from(keys), st.text(max_size=5))
    signatures = st.sampled_from([str(each.signatures[0]) for each in chain.sent])
    anything = st.recursive(
        st.one_of(
            st.none(),
            st.booleans(),
            numbers,
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(max_size=4),
        ),
        lambda inner: st.one_of(
            st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=4), inner, max_size=2)
        ),
        max_leaves=4,
    )

    def maybe(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(good, good, good, anything)

    override = st.fixed_dictionaries(
        {},
        optional={
            "lamports": maybe(numbers),
            "owner": maybe(pubkeys),
            "data": maybe(st.one_of(st.binary(max_size=90).map(b64encode), st.text(max_size=4))),
            "executable": maybe(st.booleans()),
        },
    )
    anchor = st.fixed_dictionaries(
        {},
        optional={
            "signature": maybe(signatures),
            "slot": maybe(numbers),
            "transactionIndex": maybe(numbers),
            "position": maybe(st.sampled_from(["before", "after"])),
        },
    )
    return st.fixed_dictionaries(
        {},
        optional={
            "slot": maybe(numbers),
            "anchor": maybe(anchor),
            "transactionIndex": maybe(numbers),
            "preStateSlot": maybe(numbers),
            "encoding": maybe(st.just("base64")),
            "innerInstructions": maybe(st.booleans()),
            "tolerateGaps": maybe(st.booleans()),
            "accounts": maybe(
                st.fixed_dictionaries(
                    {"encoding": st.just("base64"), "addresses": st.lists(pubkeys, max_size=3)}
                )
            ),
            "overrides": maybe(st.dictionaries(pubkeys, maybe(override), max_size=2)),
            "overrideLoads": maybe(st.dictionaries(pubkeys, maybe(numbers), max_size=2)),
        },
    )


def test_any_config_is_answered_or_refused(archived: LittleChain, rpc: Rpc) -> None:
    text = b64encode(bytes(archived.sent[0]))

    @MANY
    @given(members(archived))
    def check(config: dict[str, Any]) -> None:
        answer = rpc("/rewind", "simulateHistoricalTransaction", text, config)
        if "error" in answer:
            assert answer["error"]["code"] in REFUSED, answer
            assert answer["error"]["data"]["reason"]
        else:
            value = answer["result"]["value"]
            assert value["fidelity"] in ("verified", "unverified", "not_applicable")

    check()


def test_any_transaction_is_answered_or_refused(archived: LittleChain, rpc: Rpc) -> None:
    wire = bytes(archived.sent[0])
    bent = st.lists(st.tuples(st.integers(0, len(wire) - 1), st.integers(0, 255)), max_size=4)

    @MANY
    @given(bent)
    def check(changes: list[tuple[int, int]]) -> None:
        data = bytearray(wire)
        for place, value in changes:
            data[place] = value
        text = b64encode(bytes(data))
        answer = rpc("/rewind", "simulateHistoricalTransaction", text, {"slot": 2})
        try:
            read_transaction(text, TransactionText.BASE64, at="")
        except InvalidParams as refused:
            assert answer["error"]["data"]["reason"] == refused.reason
        else:
            value = answer["result"]["value"]
            is_same = bytes(data) == wire
            assert value["fidelity"] == ("not_applicable" if is_same else "unverified")

    check()
