"""Every recorded answer of a real node, asked of a chain in this process."""

import json
from pathlib import Path

import pytest

from tests.localnet.recorded_chain import RecordedChain, stand
from tests.recorded_answers import Asked, Recorded, difference, load, recorded

# What differs, and why.
ON_PURPOSE = dict.fromkeys(
    ("requestAirdrop [1]=9223372036854775808", "requestAirdrop [1]=18446744073709551615"),
    "a faucet gives no more than half of what it has; the recorded node signs what cannot land",
)
# They read what the recorded transactions did (tests/historical/test_recorded_answers.py).
_READS = ("getTransaction", "getBlock", "getSignatureStatuses")
# A transaction that names a blockhash of the recorded chain, where that is looked at.
_TOO_LATE = "BlockhashNotFound"


@pytest.fixture(scope="module")
def found(fixtures: Path) -> Recorded:
    return recorded(fixtures)


@pytest.fixture(scope="module")
def chain(found: Recorded, tmp_path_factory: pytest.TempPathFactory) -> RecordedChain:
    return stand(tmp_path_factory.mktemp("chain"), found.facts)


def test_localnet_answers_as_the_node_did(found: Recorded, chain: RecordedChain) -> None:
    differing = {
        asked.name: why
        for asked in found.asked
        if (why := difference(asked.answer, chain.answer(asked)))
    }
    assert differing.keys() == ON_PURPOSE.keys(), differing


def test_localnet_takes_and_refuses_version_1_as_the_node_did(
    fixtures: Path, chain: RecordedChain
) -> None:
    asked = [
        Asked(each["request"]["method"], each["what"], each["request"], each["answer"])
        for each in load(fixtures, "version-1")
        if each["request"]["method"] not in _READS
    ]
    answers = [chain.answer(each) for each in asked]
    differing = {
        each.name: why
        for each, ours in zip(asked, answers, strict=True)
        if (why := difference(each.answer, ours)) and _TOO_LATE not in json.dumps(ours)
    }
    assert not differing
    # Most are refused for themselves, or are taken without a preflight.
    late = [ours for ours in answers if _TOO_LATE in json.dumps(ours)]
    assert (len(asked), len(late)) == (218, 32)
