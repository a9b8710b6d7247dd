"""simulateBundle on the archive's state: at a slot, around a transaction, and without a node."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from solders.instruction import CompiledInstruction
from solders.keypair import Keypair
from solders.message import MessageHeader, MessageV1, TransactionConfig
from solders.transaction import VersionedTransaction

from chain.addresses import COMPUTE_BUDGET
from tests.priority.bundling import Answer, Post, answer, asking, flat
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.round_trips import counted
from tests.rewind.simulating import own_place, stored
from tests.simulator.world import transfer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]

TARGET = Keypair.from_seed(bytes([77]) * 32)


@pytest.fixture
def chain(tmp_path: Path, settings: Any) -> Iterator[LittleChain]:
    """Slots 0 to 4: TARGET has 1 SOL after slot 1, and one more after each of the two payments of
    slot 2; slot 3 was skipped. No node is set.
    """
    settings.UPSTREAM_RPC_URL = ""
    made = LittleChain(tmp_path)
    target = TARGET.pubkey()
    made.block(made.payment(target, SOL))
    made.block(made.payment(target, SOL), made.payment(target, SOL, payer=1))
    made.block(made.payment(target, SOL), skip=1)
    stored(made.records)
    yield made
    made.close()


def shown(post: Post, chain: LittleChain, *, lamports: int = 1, **place: Any) -> Answer:
    """A payment by TARGET of so many lamports and its return, tried there."""
    configs = [{"addresses": [str(TARGET.pubkey())]}] * 2
    return flat(
        post,
        [there(chain, lamports), chain.payment(TARGET.pubkey(), lamports)],
        replaceRecentBlockhash=True,
        preExecutionAccountsConfigs=configs,
        postExecutionAccountsConfigs=configs,
        **place,
    )


def there(chain: LittleChain, lamports: int) -> VersionedTransaction:
    return chain.signed([transfer(TARGET.pubkey(), chain.payers[0].pubkey(), lamports)], TARGET)


def had(told: Answer) -> list[int | None]:
    """What TARGET had before and after each."""
    both = zip(told["preExecutionAccounts"], told["postExecutionAccounts"], strict=True)
    return [each and each["lamports"] for pair in both for each in pair]


def test_each_position_has_its_own_state(post: Post, chain: LittleChain) -> None:
    second, third = chain.sent[1], chain.sent[2]
    fee = 5_000
    for place, lamports in (
        ({"slot": 1}, SOL),
        ({"slot": 2}, 3 * SOL),
        ({"slot": 3}, 3 * SOL),
        ({"simulationBank": {"slot": 2}}, 3 * SOL),
        ({"slot": 2, "transactionIndex": 0}, 2 * SOL),
        ({"anchor": own_place(second)}, SOL),
        ({"anchor": own_place(second, "after")}, 2 * SOL),
        ({"anchor": own_place(third)}, 2 * SOL),
        ({"anchor": {"slot": 2, "transactionIndex": 1, "position": "after"}}, 3 * SOL),
    ):
        told = shown(post, chain, lamports=7, **place)
        assert told["err"] is None, place
        left = lamports - 7 - fee
        assert had(told) == [lamports, left, left, left + 7], place
        assert told["context"]["apiVersion"].startswith("rewind-")
        assert told["context"]["slot"] == place.get("slot", 2)


def test_the_nested_form_names_the_position_in_its_config(post: Post, chain: LittleChain) -> None:
    for place in ({"slot": 2}, {"simulationBank": {"slot": 2}}, {"simulationBank": 2}):
        config = {"replaceRecentBlockhash": True, **place}
        value = answer(post, asking([there(chain, 7)]), config)["result"]
        assert value["context"]["slot"] == 2
        (told,) = value["value"]["transactionResults"]
        assert told["preBalances"][0] == 3 * SOL
        # How long a past blockhash would have lived is not told.
        assert told["replacementBlockhash"] is None


def test_what_the_second_object_leaves_open_the_first_may_say(
    post: Post, chain: LittleChain
) -> None:
    sent = [there(chain, 7)]
    here = {"slot": 2, "replaceRecentBlockhash": True}
    for config in ({}, {"slot": None}, {"skipSigVerify": True}):
        value = answer(post, asking(sent, **here), config)["result"]
        assert value["context"]["slot"] == 2
        assert value["value"]["summary"] == "succeeded"
    assert answer(post, asking(sent, **here), {"slot": 1})["result"]["context"]["slot"] == 1
    error = answer(post, asking(sent, **here), {"anchor": own_place(chain.sent[0])})["error"]
    assert error["data"]["reason"] == "bad_position"


def test_what_really_followed_is_what_a_simulation_before_it_says(
    post: Post, chain: LittleChain
) -> None:
    """The two transactions of slot 2, from before the first."""
    bundle = chain.sent[1:3]
    config = {"anchor": own_place(bundle[0])}
    results = answer(post, asking(bundle), config)["result"]["value"]["transactionResults"]
    for told, record in zip(results, chain.records[2].transactions, strict=True):
        meta = record.meta
        assert meta is not None and told["err"] is None
        assert told["logs"] == meta["logMessages"]
        assert told["unitsConsumed"] == meta["computeUnitsConsumed"]
        assert (told["preBalances"], told["postBalances"]) == (
            meta["preBalances"],
            meta["postBalances"],
        )


def test_blockhashes_are_checked_against_the_time(post: Post, chain: LittleChain) -> None:
    early, late = chain.sent[1], chain.sent[3]
    # What it stood on is recent in its own slot, and not yet known in the slot before it.
    for transaction, slot, err in (
        (early, 2, None),
        (early, 4, None),
        (early, 1, "BlockhashNotFound"),
        (late, 4, None),
        (late, 2, "BlockhashNotFound"),
    ):
        assert flat(post, [transaction], slot=slot)["err"] == err, slot
    assert flat(post, [late], slot=2, replaceRecentBlockhash=True)["err"] is None


def test_without_a_node_the_newest_state_is_the_archives(post: Post, chain: LittleChain) -> None:
    told = shown(post, chain)
    assert told["context"]["slot"] == 4
    assert had(told)[0] == 4 * SOL


@pytest.mark.parametrize(
    ("place", "code", "reason"),
    [
        ({"slot": 99}, -32014, "slot_too_new"),
        ({"simulationBank": 99}, -32014, "slot_too_new"),
        ({"slot": 2, "transactionIndex": 2}, -32602, "transaction_index_out_of_range"),
        ({"anchor": {"signature": "1" * 64}}, -32016, "unknown_signature"),
        ({"anchor": {}}, -32602, "bad_position"),
    ],
)
def test_positions_that_are_none_are_refused(
    post: Post, chain: LittleChain, place: Any, code: int, reason: str
) -> None:
    error = answer(post, asking([chain.sent[0]], **place))["error"]
    assert (error["code"], error["data"]["reason"]) == (code, reason)


def test_shown_accounts_that_no_transaction_names_are_read_too(
    post: Post, chain: LittleChain
) -> None:
    clock = "SysvarC1ock11111111111111111111111111111111"
    system = "1" * 32
    other = str(chain.payers[1].pubkey())
    nobody = str(Keypair.from_seed(bytes([5]) * 32).pubkey())
    configs = [{"addresses": [clock, system, other, nobody], "encoding": "jsonParsed"}]
    told = flat(post, [chain.sent[3]], slot=4, preExecutionAccountsConfigs=configs)
    time, native, wallet, none = told["preExecutionAccounts"]
    assert time["data"]["parsed"]["info"]["slot"] == 4
    assert native["executable"] is True
    assert wallet["lamports"] == 1_000 * SOL - SOL - 5_000
    assert none is None


def test_a_bundle_that_comes_again_reads_in_one_round_trip(
    post: Post, chain: LittleChain, tmp_path: Path
) -> None:
    first = [shown(post, chain, slot=2) for _ in range(2)]
    with counted(tmp_path) as trips:
        assert shown(post, chain, slot=2) == first[0] == first[1]
    assert trips == [1]


def test_version_1_runs_with_what_it_asks_for(post: Post, chain: LittleChain) -> None:
    """In both forms, beside an older version; without a size it fails at loading."""
    target, payer = TARGET.pubkey(), chain.payers[0].pubkey()

    def asks(config: TransactionConfig) -> VersionedTransaction:
        calls = [transfer(target, payer, 1 + each) for each in range(50)]
        message = MessageV1.try_compile(target, calls, chain.blockhash, config)
        return VersionedTransaction(message, [TARGET])

    good = asks(TransactionConfig(3, 50 * 150, 1_000_000))
    assert len(bytes(good)) < 1_232 < len(bytes(asks_more(good)))
    configs = [{"addresses": [str(target)]}] * 3
    told = flat(
        post,
        [there(chain, 7), good, asks_more(good)],
        slot=2,
        skipSigVerify=True,
        replaceRecentBlockhash=True,
        preExecutionAccountsConfigs=configs,
        postExecutionAccountsConfigs=configs,
    )
    assert told["err"] is None, told
    after = [3 * SOL - 7 - 5_000]
    after += [after[0] - 50 * 51 // 2 - 5_003]
    after += [after[1] - 50 * 51 // 2 - 5_003]
    assert had(told)[1::2] == after

    def nested(*transactions: VersionedTransaction) -> list[Any]:
        config = {"replaceRecentBlockhash": True, "slot": 2}
        value = answer(post, asking(list(transactions)), config)["result"]["value"]
        return [(each["err"], each["unitsConsumed"]) for each in value["transactionResults"]]

    assert nested(good, asks_more(good)) == [(None, 50 * 150), (None, 51 * 150)]
    (failed,) = nested(asks(TransactionConfig()))
    assert failed == ("MaxLoadedAccountsDataSizeExceeded", 0)


def asks_more(transaction: VersionedTransaction) -> VersionedTransaction:
    """The same with one more instruction of 900 bytes that means nothing."""
    message = transaction.message
    assert isinstance(message, MessageV1)
    asked = message.config
    keys, header = message.account_keys, message.header
    more = CompiledInstruction(len(keys), b"\xff" * 900, b"")
    config = TransactionConfig(
        asked.priority_fee, 51 * 150, asked.loaded_accounts_data_size_limit, asked.heap_size
    )
    larger = MessageV1(
        MessageHeader(
            header.num_required_signatures,
            header.num_readonly_signed_accounts,
            header.num_readonly_unsigned_accounts + 1,
        ),
        config,
        message.recent_blockhash,
        [*keys, COMPUTE_BUDGET],
        [*message.instructions, more],
    )
    return VersionedTransaction(larger, [TARGET])
