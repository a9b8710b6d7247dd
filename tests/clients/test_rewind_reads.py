"""The archive's reads through a running service: at every slot, and around every transaction, an
account is what localnet itself made of it.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from chain.encodings import b64decode
from tests.clients.chain_endpoints import Question, of_localnet, of_service
from tests.clients.mixed_history import History, signatures_of
from tests.clients.stored_changes import Written, wanted_changes

pytestmark = pytest.mark.soak

END_OF_SLOT = 2**31 - 1
# Larger ones are programs: looked at by their hashes alone.
LARGEST = 20_000
At = tuple[int, int]


@dataclass
class Folded:
    """What localnet's writes come to: of each account its states, oldest first, and where."""

    history: History
    places: dict[str, list[At]]
    states: dict[str, list[Written]]

    def at(self, pubkey: str, slot: int, position: int) -> tuple[int, Written] | None:
        """The account at the position, and the slot that it came from; None where it is not."""
        number = bisect_right(self.places.get(pubkey, []), (slot, position)) - 1
        if number < 0 or self.states[pubkey][number].lamports == 0:
            return None
        return self.places[pubkey][number][0], self.states[pubkey][number]

    @property
    def small(self) -> list[str]:
        return [
            pubkey
            for pubkey, states in self.states.items()
            if all(len(state.data) <= LARGEST for state in states)
        ]


@pytest.fixture(scope="module")
def folded(history: History) -> Folded:
    found = Folded(history, {}, {})
    slots = list(history.blocks)
    told = of_localnet(history.localnet, [("getAccountWrites", slot) for slot in slots])
    for slot, writes in zip(slots, told, strict=True):
        wanted = wanted_changes(writes, signatures_of(history.blocks[slot]))
        for place in sorted(wanted, key=lambda place: place.position):
            found.places.setdefault(place.pubkey, []).append((slot, place.position))
            found.states.setdefault(place.pubkey, []).append(wanted[place])
    return found


def asked(folded: Folded, questions: Sequence[Question]) -> list[Any]:
    return of_service(folded.history.service, "/rewind", questions)


def check(found: dict[str, Any] | None, wanted: tuple[int, Written] | None, what: Any) -> None:
    if wanted is None or found is None:
        assert found is wanted, what
        return
    slot, state = wanted
    assert b64decode(found.pop("data")[0]) == state.data, what
    assert found == {
        "lamports": state.lamports,
        "owner": state.owner,
        "executable": state.executable,
        "rentEpoch": state.rent_epoch,
        "space": len(state.data),
        "rewindSlot": slot,
    }, what


def test_at_every_slot_the_accounts_are_localnets(folded: Folded) -> None:
    history, pubkeys = folded.history, folded.small
    assert len(history.signatures) > 300 and len(pubkeys) > 300
    # Skipped ones too.
    window = range(history.first, history.last + 1)
    # A batch of questions must not be longer than a body may be.
    pages = [pubkeys[start : start + 40] for start in range(0, len(pubkeys), 40)]
    places = [(slot, page) for slot in window for page in pages]
    questions = [("getMultipleAccounts", page, {"slot": slot}) for slot, page in places]
    absent = 0
    for (slot, page), result in zip(places, asked(folded, questions), strict=True):
        assert result["context"]["slot"] == slot
        for pubkey, value, reason in zip(
            page, result["value"], result["context"]["reason"], strict=True
        ):
            check(value, folded.at(pubkey, slot, END_OF_SLOT), (slot, pubkey))
            if value is None:
                lived = bisect_right(folded.places[pubkey], (slot, END_OF_SLOT)) > 0
                assert reason == ("closed" if lived else "never_existed")
                absent += 1
    assert absent > 1_000


def test_around_every_transaction_the_accounts_are_localnets(folded: Folded) -> None:
    questions: list[Question] = []
    wanted: list[tuple[int, Written] | None] = []
    small = set(folded.small)
    for slot, block in folded.history.blocks.items():
        for index, entry in enumerate(block["transactions"]):
            signature = entry["transaction"]["signatures"][0]
            loaded = entry["meta"]["loadedAddresses"]
            named = [*entry["transaction"]["message"]["accountKeys"], *loaded["writable"]]
            for number, pubkey in enumerate(sorted(small & set(named))):
                before = {"anchor": {"signature": signature}}
                after = {"anchor": {"signature": signature, "position": "after"}}
                if number % 2:
                    after = {"slot": slot, "transactionIndex": index}
                for config, position in ((before, index - 1), (after, index)):
                    questions.append(("getAccountInfo", pubkey, config))
                    wanted.append(folded.at(pubkey, slot, position))
    assert len(questions) > 2_000
    for question, result, right in zip(questions, asked(folded, questions), wanted, strict=True):
        check(result["value"], right, question)
    assert any(each is None for each in wanted)


def test_the_changes_of_every_account_are_localnets(folded: Folded) -> None:
    history = folded.history
    window = {"fromSlot": history.first, "toSlot": history.last, "limit": 1_000}
    signatures = {slot: signatures_of(block) for slot, block in history.blocks.items()}
    pubkeys = list(folded.states)
    results = asked(folded, [("getAccountChanges", pubkey, window) for pubkey in pubkeys])
    for pubkey, result in zip(pubkeys, results, strict=True):
        value = result["value"]
        assert (value["next"], value["truncatedByBytes"], value["gaps"]) == (None, False, [])
        assert value["changes"] == entries(folded, pubkey, signatures), pubkey


def entries(folded: Folded, pubkey: str, signatures: dict[int, list[str]]) -> list[dict[str, Any]]:
    """As getAccountChanges has them: newest first."""
    found = []
    data = b""
    for (slot, position), state in zip(folded.places[pubkey], folded.states[pubkey], strict=True):
        is_of_a_transaction = 0 <= position < END_OF_SLOT
        found.append(
            {
                "slot": slot,
                "lamports": state.lamports,
                "owner": state.owner,
                "executable": state.executable,
                "rentEpoch": state.rent_epoch,
                "space": len(state.data),
                "dataHash": hashlib.sha256(state.data).hexdigest(),
                "dataChanged": state.data != data,
                "txnSignature": signatures[slot][position] if is_of_a_transaction else None,
                "transactionIndex": position if is_of_a_transaction else None,
            }
        )
        data = state.data
    return found[::-1]


def test_pages_of_a_busy_account_join(folded: Folded) -> None:
    history = folded.history
    pubkey = max(history.wallets, key=lambda each: len(folded.places[str(each)]))
    window = {"fromSlot": history.first, "toSlot": history.last}
    (whole,) = asked(folded, [("getAccountChanges", str(pubkey), window | {"limit": 1_000})])
    found: list[Any] = []
    config: dict[str, Any] = {"limit": 7}
    while True:
        (page,) = asked(folded, [("getAccountChanges", str(pubkey), window | config)])
        found += page["value"]["changes"]
        if page["value"]["next"] is None:
            break
        config["before"] = page["value"]["next"]
    assert found == whole["value"]["changes"]
    assert len(found) > 50
