"""Every recorded answer of a real node, asked of a chain in this process."""

from pathlib import Path

from tests.localnet.recorded_chain import stand
from tests.recorded_answers import difference, recorded

# What differs, and why.
ON_PURPOSE = dict.fromkeys(
    ("requestAirdrop [1]=9223372036854775808", "requestAirdrop [1]=18446744073709551615"),
    "a faucet gives no more than half of what it has; the recorded node signs what cannot land",
)


def test_localnet_answers_as_the_node_did(fixtures: Path, tmp_path: Path) -> None:
    found = recorded(fixtures)
    chain = stand(tmp_path, found.facts)
    differing = {
        asked.name: why
        for asked in found.asked
        if (why := difference(asked.answer, chain.answer(asked)))
    }
    assert differing.keys() == ON_PURPOSE.keys(), differing
