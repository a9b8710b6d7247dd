"""Our jsonParsed beside the answers of Agave's own decoder, over made inputs right and wrong."""

from typing import Any

import pytest

from tests.chain.agave_decoder.accounts import SYSVAR, Account
from tests.chain.agave_decoder.instructions import Instruction
from tests.chain.agave_decoder.ours import shown, text
from tests.chain.agave_decoder.recording import PANIC, Case, cases, digest, recorded

# How many types Agave 4.4.0 gives a program's instructions and accounts.
TYPES = {
    "address-lookup-table account": 2,
    "address-lookup-table instruction": 5,
    "bpf-loader instruction": 2,
    "bpf-upgradeable-loader account": 4,
    "bpf-upgradeable-loader instruction": 8,
    "config account": 1,
    "nonce account": 1,
    "spl-associated-token-account instruction": 3,
    "spl-token account": 3,
    "spl-token instruction": 100,
    "spl-token-2022 account": 3,
    "stake account": 4,
    "stake instruction": 18,
    "system instruction": 14,
    "sysvar account": 11,
    "vote account": 1,
    "vote instruction": 20,
}
_SLOT_HISTORY = "SysvarS1otHistory11111111111111111111111111"


@pytest.fixture(scope="module")
def answers() -> list[tuple[Case, Any]]:
    made = cases()
    inputs, found = recorded()
    assert inputs == digest(made), "the recording is of other inputs: record again"
    return list(zip(made, found, strict=True))


def test_each_made_input_is_shown_as_agave_shows_it(answers: list[tuple[Case, Any]]) -> None:
    differing = [
        (case, answer, ours)
        for case, answer in answers
        if answer != PANIC and text(ours := shown(case)) != text(answer)
    ]
    assert not differing, f"{len(differing)} of {len(answers)}, the first: {differing[0]}"


def test_what_makes_agave_panic_stays_unparsed(answers: list[tuple[Case, Any]]) -> None:
    """Slot histories of too few bits: the node's call fails, ours answers in base64."""
    panics = [case for case, answer in answers if answer == PANIC]
    assert panics
    for case in panics:
        assert isinstance(case, Account)
        assert (case.owner, case.pubkey) == (SYSVAR, _SLOT_HISTORY)
        assert shown(case) is None


def test_the_made_inputs_are_of_every_type(answers: list[tuple[Case, Any]]) -> None:
    """So that a generator that makes only rubbish cannot hide a difference."""
    types: dict[str, set[str]] = {}
    extensions = set()
    for case, answer in answers:
        if answer in (None, PANIC) or isinstance(answer["parsed"], str):
            continue
        program, parsed = answer["program"], answer["parsed"]
        made = "instruction" if isinstance(case, Instruction) else "account"
        types.setdefault(f"{program} {made}", set()).add(parsed["type"])
        if made == "account" and parsed["type"] in ("account", "mint"):
            extensions |= {each["extension"] for each in parsed["info"].get("extensions", [])}
    assert {name: len(found) for name, found in types.items()} == TYPES
    assert len(extensions) == 29  # each of the 28 kinds, and what cannot be parsed
