"""Subscriptions at a node's WebSocket and at ours, side by side."""

import json
import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tests.recorded_doors import CLOCK, VOTE
from tests.subscriptions.socket_client import Socket

TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
LEVELS = ("processed", "confirmed", "finalized")
# What another clock says of the same; and what a leader counts by batches, which it does not send.
_OF_THE_MOMENT = ("timestamp",)
_OF_BATCHES = ("maxTransactionsPerEntry", "numTransactionEntries")


def subscriptions(wallets: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Method and params by name: every kind, at every commitment that it has."""
    found: dict[str, tuple[Any, ...]] = {
        "slot": ("slotSubscribe",),
        "root": ("rootSubscribe",),
        "vote": ("voteSubscribe",),
        "slots updates": ("slotsUpdatesSubscribe",),
    }
    for level in LEVELS:
        at = {"commitment": level}
        base64, parsed = at | {"encoding": "base64"}, at | {"encoding": "jsonParsed"}
        tokens = parsed | {"filters": [{"dataSize": 165}]}
        found |= {
            f"logs of all, {level}": ("logsSubscribe", "all", at),
            f"logs with votes, {level}": ("logsSubscribe", "allWithVotes", at),
            f"logs of a wallet, {level}": ("logsSubscribe", {"mentions": [wallets[0]]}, at),
            f"clock, {level}": ("accountSubscribe", CLOCK, parsed),
            f"wallet, {level}": ("accountSubscribe", wallets[0], base64),
            f"votes' accounts, {level}": ("programSubscribe", VOTE, base64),
            f"token accounts, {level}": ("programSubscribe", TOKEN, tokens),
        }
        if level != "processed":
            plain = at | {"maxSupportedTransactionVersion": 0, "showRewards": True}
            mentioned = {"mentionsAccountOrProgram": wallets[0]}
            few = plain | {"transactionDetails": "signatures"}
            found |= {
                f"blocks, {level}": ("blockSubscribe", "all", plain | {"encoding": "json"}),
                f"signatures, {level}": ("blockSubscribe", "all", few),
                f"blocks of a wallet, {level}": ("blockSubscribe", mentioned, plain | base64),
            }
    return found


class Heard:
    """The notifications of one server, by the name of the subscription."""

    def __init__(self, url: str, key: str | None, asked: Mapping[str, tuple[Any, ...]]) -> None:
        self._socket = Socket(url, key)
        self.results: dict[str, list[Any]] = {name: [] for name in asked}
        self.failure: list[BaseException] = []
        self._names = {self._socket.call(*each): name for name, each in asked.items()}
        self._ended = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            while not self._ended:
                message = self._socket.kept.pop(0) if self._socket.kept else self._socket.receive()
                params = message["params"]
                self.results[self._names[params["subscription"]]].append(params["result"])
        except BaseException as error:
            if not self._ended:
                self.failure.append(error)

    def close(self) -> None:
        self._ended = True
        self._socket.socket.close()


def slot_of(name: str, result: Any) -> int:
    """The slot that a notification is of."""
    match name:
        case "root":
            return int(result)
        case "vote":
            return max(map(int, result["slots"]), default=0)
        case "slot" | "slots updates":
            return int(result["slot"])
    return int(result["context"]["slot"])


def differing(
    theirs: Heard, ours: Heard, slots: Sequence[int], landed: Collection[str]
) -> dict[str, str]:
    """By subscription what differs of what was notified of these slots: each is there, once, and in
    the node's order. A node may repeat itself, and hears votes by gossip; ours are `landed`, by
    signature.
    """
    assert not theirs.failure and not ours.failure, (theirs.failure, ours.failure)
    wanted = set(slots)
    found: dict[str, str] = {}
    for name, results in theirs.results.items():
        said, got = (
            [
                _text(name, each)
                for each in heard
                if slot_of(name, each) in wanted and (name != "vote" or each["signature"] in landed)
            ]
            for heard in (results, ours.results[name])
        )
        repeated = [each for each, count in Counter(got).items() if count > 1]
        expected = list(dict.fromkeys(said))
        if sorted(expected) != sorted(got):
            absent = [each[:300] for each in expected if each not in set(got)]
            more = [each[:300] for each in got if each not in set(expected)]
            found[name] = (
                f"{len(absent)} of {len(expected)} absent: {absent[:1]},"
                f" {len(more)} more: {more[:1]}, {len(repeated)} repeated"
            )
        elif _in_order(name, expected) != _in_order(name, got):
            found[name] = "another order"
    return found


def _in_order(name: str, texts: Sequence[str]) -> list[str]:
    # Of the accounts of a program, of votes, and of transactions that its threads ran side by side,
    # a node keeps no order within a slot. Ours are in the block's.
    is_ordered = name.startswith(("slot", "root", "clock", "block", "signatures"))
    return list(texts) if is_ordered and name != "slots updates" else sorted(texts)


def far_roots(theirs: Heard, ours: Heard, slots: Sequence[int]) -> dict[int, tuple[int, int]]:
    """By slot the roots that came with it, if they are more than one slot apart: a validator's
    threads say in no order that a slot begins and that another one is rooted.
    """
    roots = [{each["slot"]: each["root"] for each in h.results["slot"]} for h in (theirs, ours)]
    both = ((slot, roots[0][slot], roots[1][slot]) for slot in slots)
    return {slot: (told, ours) for slot, told, ours in both if abs(told - ours) > 1}


def _text(name: str, result: Any) -> str:
    if isinstance(result, dict):
        result = {key: value for key, value in result.items() if (name, key) != ("slot", "root")}
        result = {key: value for key, value in result.items() if key not in _OF_THE_MOMENT}
        if "stats" in result:
            stats = result["stats"].items()
            result["stats"] = {key: value for key, value in stats if key not in _OF_BATCHES}
    return json.dumps(result, sort_keys=True)
