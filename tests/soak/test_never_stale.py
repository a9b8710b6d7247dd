"""A million reads beside commits and removals, by two web processes: none is stale."""

from pathlib import Path

import pytest

from tests.historical import racing

_READS = 1_000_000


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("empty_redis")
@pytest.mark.parametrize("servers", [(1, 1), (2,)], ids=["two servers", "two workers of one"])
def test_half_a_million_reads_are_never_stale(
    servers: tuple[int, ...], api_key: str, tmp_path: Path
) -> None:
    found = racing.race(
        tmp_path, api_key, servers=servers, readers=2, connections=6, reads=_READS // 2
    )
    print(
        f"{_READS // 2:,} reads of {found.states_seen:,} states,"
        f" {found.beside_a_commit:,} beside a commit: {len(found.violations)} stale"
    )
    assert not found.violations, "\n".join([f"{len(found.violations)}:", *found.violations[:5]])
    assert found.states_seen > 1_000
