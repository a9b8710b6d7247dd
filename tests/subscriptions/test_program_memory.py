"""A program's accounts since a slot: exactly what localnet itself says that each slot left."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import (
    AssignParams,
    CreateAccountParams,
    assign,
    create_account,
)

from tests.localnet.wallets import SOL, pay, send, signed, wallet
from tests.patience import wait
from tests.subscriptions.conftest import Served

SYSTEM = "11111111111111111111111111111111"
PROGRAM = Pubkey.from_bytes(bytes([77]) * 32)
_SPACE = 8
# (slot, pubkey) → lamports, owner, data as the node shows it.
States = dict[tuple[int, str], tuple[int, str, Any]]


class Traffic:
    """Accounts that come to the program, are written, and leave their owner."""

    def __init__(self, served: Served) -> None:
        self._localnet = served.localnet
        self._payer = wallet(served.localnet, 1_000 * SOL)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Traffic":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        payer = self._payer
        while not self._stopping.is_set():
            new, leaving = Keypair(), Keypair()
            made = create_account(
                CreateAccountParams(
                    from_pubkey=payer.pubkey(),
                    to_pubkey=new.pubkey(),
                    lamports=SOL // 100,
                    space=_SPACE,
                    owner=PROGRAM,
                )
            )
            # It is the system program's, then the other one's: in one slot, or in two.
            paid = pay(payer, leaving.pubkey(), SOL // 100)
            left = assign(AssignParams(pubkey=leaving.pubkey(), owner=PROGRAM))
            for instructions, signers in (
                ([made, paid], (payer, new)),
                ([left, pay(payer, new.pubkey(), 7)], (payer, leaving)),
            ):
                send(
                    self._localnet,
                    signed(self._localnet, instructions, *signers),
                    skipPreflight=True,
                )
            self._stopping.wait(0.2)


def expected(served: Served, owner: str, size: int | None, first: int, last: int) -> States:
    """The last write of each account in each slot, as localnet has it."""
    found: States = {}
    for slot in range(first, last + 1):
        last_writes = {
            each["pubkey"]: each
            for each in sorted(
                served.localnet.call("getAccountWrites", slot),
                key=lambda each: int(each["writeVersion"]),
            )
        }
        for pubkey, each in last_writes.items():
            if each["owner"] != owner or not each["lamports"]:
                continue
            if size is None or served_size(each) == size:
                found[slot, pubkey] = each["lamports"], each["owner"], each["data"]
    return found


def served_size(write: dict[str, Any]) -> int:
    import base64

    return len(base64.b64decode(write["data"][0]))


class Reader:
    """Reads a program's accounts, each connection from the slot that the last one left undone."""

    def __init__(self, served: Served, program: str, size: int | None, first: int) -> None:
        self._served, self._program, self.at = served, program, first
        self._filters = [] if size is None else [{"dataSize": size}]
        self.found: States = {}
        self.gaps: set[int] = set()

    def read(self, *, messages: int | None = None, until: int | None = None) -> None:
        with self._served.socket() as socket:
            config = {"fromSlot": self.at, "encoding": "base64", "filters": self._filters}
            number = socket.call("programSubscribe", self._program, config)
            slot, states = -1, States()
            for count, params in enumerate(self._notices(socket, number), 1):
                if params["slot"] > slot:
                    self._take(slot, states)
                    slot, states = params["slot"], {}
                assert params["slot"] == slot, "slots ascend"
                if params["result"] is not None:
                    value = params["result"]["value"]
                    account = value["account"]
                    key = slot, value["pubkey"]
                    assert key not in states
                    states[key] = account["lamports"], account["owner"], account["data"]
                if count == messages or (until is not None and slot > until):
                    socket.socket.close_socket()  # without a goodbye
                    return

    def _notices(self, socket: Any, number: int) -> Iterator[dict[str, Any]]:
        while True:
            notice = socket.notice(number)
            params = notice["params"]
            if notice["method"] == "gapNotification":
                result = params["result"]
                assert result["status"] in ("missing", "not_kept"), result
                self.gaps.update(range(result["fromSlot"], result["toSlot"] + 1))
                params = {"slot": result["toSlot"], "result": None}
            yield params

    def _take(self, slot: int, states: States) -> None:
        """A slot that gets nothing more."""
        if slot >= self.at:
            assert not self.found.keys() & states.keys()
            self.found.update(states)
            self.at = slot + 1

    def check(self, size: int | None, first: int, until: int) -> None:
        """Raises AssertionError unless all was read that localnet has, but for reported gaps."""
        theirs = expected(self._served, self._program, size, first, until)
        assert theirs, "nothing happened"
        wanted = {key: state for key, state in theirs.items() if key[0] not in self.gaps}
        mine = {key: state for key, state in self.found.items() if key[0] <= until}
        assert mine == wanted


def seal_once() -> None:
    """What is stored is sealed, though the chain still writes beside it."""
    from django.utils import timezone

    from rewind.sealed.models import SealedSegment
    from rewind.sealed.services.sealing import Policy, seal_step

    active = SealedSegment.objects.filter(state=SealedSegment.State.ACTIVE)
    while not active.exists():
        seal_step(Policy(margin=-1_000_000, late_share=1.0), now=timezone.now())


@pytest.mark.parametrize(
    ("program", "size"), [(SYSTEM, None), (str(PROGRAM), _SPACE)], ids=["system", "one size"]
)
def test_what_is_read_in_parts_is_what_each_slot_left(
    served: Served, program: str, size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed again and again, far behind, while all that was stored is sealed underneath."""
    from historical.blocks.services.bounds import first_available_block, newest_slot_or_none
    from subscriptions import history, stored_first

    monkeypatch.setattr(stored_first, "_NEAR_SLOTS", 3)
    monkeypatch.setattr(history, "_MOST_WRITES", 20)
    first = first_available_block() + 1
    with Traffic(served):
        # Of the chain: what is stored may lag behind it.
        until = served.localnet.call("getSlot", {"commitment": "processed"}) + 40
        wait(lambda: (newest_slot_or_none() or 0) >= until, "40 slots stored")
        hot = Reader(served, program, size, first)
        for turn in range(5):
            hot.read(messages=2 + 3 * turn)
        hot.read(until=until)
        hot.check(size, first, until)
        seal_once()
        sealed = Reader(served, program, size, first)
        for turn in range(3):
            sealed.read(messages=3 + 4 * turn)
        later = until + 15
        sealed.read(until=later)
    sealed.check(size, first, later)


def test_slots_without_a_list_of_their_accounts_are_a_gap(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    from historical.blocks.services.bounds import first_available_block, newest_slot_or_none
    from rewind.models import SlotOwners
    from subscriptions import stored_first

    monkeypatch.setattr(stored_first, "_NEAR_SLOTS", 3)
    first = first_available_block()
    wait(lambda: (newest_slot_or_none() or 0) >= first + 20, "20 slots stored")
    SlotOwners.objects.filter(slot__range=(first, first + 5)).delete()
    with served.socket() as socket:
        sysvars = "Sysvar1111111111111111111111111111111111111"
        number = socket.call("programSubscribe", sysvars, {"fromSlot": first, "encoding": "base64"})
        gap = socket.notice(number)
        assert gap["method"] == "gapNotification"
        result = {"fromSlot": first, "toSlot": first + 5, "status": "not_listed"}
        assert gap["params"]["result"] == result
        assert socket.notice(number)["params"]["slot"] == first + 6


def test_a_filtered_program_says_so(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    from historical.blocks.services.bounds import first_available_block, newest_slot_or_none
    from rewind.models import Owner

    first = first_available_block()
    wait(lambda: (newest_slot_or_none() or 0) >= first + 5, "5 slots stored")
    Owner.objects.update_or_create(pubkey=PROGRAM, defaults={"filtered": True})
    with served.socket() as socket:
        number = socket.call("programSubscribe", str(PROGRAM), {"fromSlot": first})
        gap = socket.notice(number)["params"]["result"]
        assert (gap["fromSlot"], gap["status"]) == (first, "filtered")
