"""Mixed transactions through a running service: all that they did is stored, exactly."""

from collections import Counter

import pytest

from chain.encodings import b64decode
from tests.clients.chain_endpoints import of_localnet, of_service, statuses
from tests.clients.mixed_history import VERSION_0, History, signatures_of
from tests.clients.stored_changes import Written, archived_slots, stored_changes, wanted_changes

pytestmark = pytest.mark.soak

SYSVARS = "Sysvar1111111111111111111111111111111111111"


def test_each_transaction_came_to_what_was_planned(history: History) -> None:
    assert len(set(history.signatures)) == len(history.signatures) >= 1_080
    found = statuses(history.localnet, [each.signature for each in history.taken])
    for planned, status in zip(history.taken, found, strict=True):
        assert status is not None and status["err"] == planned.err, planned.kind
    lost = statuses(history.localnet, [each.signature for each in history.lost])
    assert lost == [None] * len(lost)
    kinds = Counter(each.kind for each in history.taken)
    assert len(kinds) >= 35 and min(kinds.values()) >= 8, kinds
    in_blocks = Counter(each for block in history.blocks.values() for each in signatures_of(block))
    assert in_blocks == Counter(history.signatures)


def test_every_write_is_in_the_archive_and_nothing_else(history: History) -> None:
    stored = stored_changes(history.service, history.first, history.last)
    rows = {slot: len(changes) for slot, changes in stored.items()}
    assert archived_slots(history.service, history.first, history.last) == rows
    assert list(history.blocks) == sorted(stored)
    count = 0
    for slot, block in history.blocks.items():
        writes = history.localnet.call("getAccountWrites", slot)
        wanted, found = wanted_changes(writes, signatures_of(block)), stored[slot]
        assert not wanted.keys() ^ found.keys(), f"slot {slot}"
        for place, write in wanted.items():
            assert found[place] == write, (slot, place)
        count += len(writes)
    assert count > 2 * len(history.signatures)


def test_changes_agree_with_the_balances_that_blocks_tell(history: History) -> None:
    stored = stored_changes(history.service, history.first, history.last)
    for slot, block in history.blocks.items():
        for index, entry in enumerate(block["transactions"]):
            meta, message = entry["meta"], entry["transaction"]["message"]
            loaded = meta["loadedAddresses"]
            keys = [*message["accountKeys"], *loaded["writable"], *loaded["readonly"]]
            before = dict(zip(keys, meta["preBalances"], strict=True))
            after = dict(zip(keys, meta["postBalances"], strict=True))
            found = {
                place.pubkey: change.lamports
                for place, change in stored[slot].items()
                if place.position == index
            }
            moved = {key for key in keys if before[key] != after[key]}
            assert moved <= found.keys() <= set(keys), (slot, index)
            assert found == {key: after[key] for key in found}, (slot, index)
            if meta["err"] is not None:
                # Who pays the fee, and a nonce where there was one.
                assert keys[0] in found and len(found) <= 2, (slot, index)


def test_the_newest_change_of_each_account_is_the_account(history: History) -> None:
    stored = stored_changes(history.service, history.first, history.last)
    newest: dict[str, Written] = {}
    for slot in sorted(stored):
        for place in sorted(stored[slot], key=lambda place: place.position):
            newest[place.pubkey] = stored[slot][place]
    # Sysvars and who leads go on changing with every slot.
    leaders = history.localnet.call("getLeaderSchedule")
    keys = [key for key, each in newest.items() if each.owner != SYSVARS and key not in leaders]
    config = {"encoding": "base64", "commitment": "finalized"}
    pages = [
        ("getMultipleAccounts", keys[start : start + 100], config)
        for start in range(0, len(keys), 100)
    ]
    accounts = [each for page in of_localnet(history.localnet, pages) for each in page["value"]]
    for key, account in zip(keys, accounts, strict=True):
        change = newest[key]
        if account is None:
            assert change.lamports == 0, key
            continue
        assert (change.lamports, change.owner) == (account["lamports"], account["owner"]), key
        assert change.data == b64decode(account["data"][0]), key
        assert change.executable == account["executable"], key
    assert any(account is None for account in accounts)


@pytest.mark.parametrize("encoding", ["json", "base64"])
def test_the_ledgers_blocks_are_the_nodes(history: History, encoding: str) -> None:
    config = {"encoding": encoding, **VERSION_0}
    questions = [("getBlock", slot, config) for slot in history.blocks]
    theirs = of_localnet(history.localnet, questions)
    ours = of_service(history.service, "/historical", questions)
    for slot, wanted, found in zip(history.blocks, theirs, ours, strict=True):
        assert found == wanted, f"slot {slot}"


@pytest.mark.parametrize("encoding", ["json", "base64"])
def test_the_ledgers_transactions_are_the_nodes(history: History, encoding: str) -> None:
    config = {"encoding": encoding, **VERSION_0}
    questions = [("getTransaction", each, config) for each in history.signatures]
    theirs = of_localnet(history.localnet, questions)
    ours = of_service(history.service, "/historical", questions)
    index = {
        signature: number
        for block in history.blocks.values()
        for number, signature in enumerate(signatures_of(block))
    }
    for signature, wanted, found in zip(history.signatures, theirs, ours, strict=True):
        assert found["transactionIndex"] == index[signature]
        assert found == wanted, signature


def test_addresses_have_the_nodes_signatures(history: History) -> None:
    touched = Counter(
        key
        for block in history.blocks.values()
        for entry in block["transactions"]
        for key in entry["meta"]["loadedAddresses"]["writable"]
    )
    by_table = [key for key, _ in touched.most_common(5)]
    questions = [
        ("getSignaturesForAddress", key) for key in [*map(str, history.wallets), *by_table]
    ]
    theirs = of_localnet(history.localnet, questions)
    ours = of_service(history.service, "/historical", questions)
    for (_, key), wanted, found in zip(questions, theirs, ours, strict=True):
        assert len(wanted) > 1
        assert found == wanted, key


def test_skipped_slots_are_no_gaps(history: History) -> None:
    window = {"fromSlot": history.first, "toSlot": history.last}
    (coverage,) = of_service(history.service, "/rewind", [("getRewindCoverage", window)])
    assert (coverage["gapPercent"], coverage["missingSlotCount"], coverage["gaps"]) == (0, 0, [])
    assert (coverage["filteredOwners"], coverage["filteredPubkeys"]) == ([], [])
    slots = history.last - history.first + 1
    assert coverage["skippedSlotCount"] == slots - len(history.blocks) > 0
