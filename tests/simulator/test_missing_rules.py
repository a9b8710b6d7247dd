"""What of a chain the engine does not have, by the wheel itself and by Agave's sources."""

import io
import re
import struct
import tarfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from solders.account import Account
from solders.pubkey import Pubkey

from chain import addresses
from chain.units import U64_MAX
from simulator import defaults
from simulator.features import activation_slots, known_features
from simulator.missing_rules import (
    MissingRule,
    activated_at,
    features_to_ask_for,
    missing_accounts,
    missing_features,
)
from simulator.newer_features import NEWER_FEATURES
from tests.conftest import FIXTURES
from tests.simulator.world import World, address, pay

NEWEST_OF_MAINNET = max(activation_slots().values())
UNHEARD_OF = Pubkey(bytes([211]) * 32)
# write_version, data_len, pubkey, lamports, rent_epoch, owner, executable, padding, hash
HEAD = struct.Struct("<QQ32sQQ32sB7x32x")


def test_what_the_engine_knows_is_not_listed_as_newer() -> None:
    """After an upgrade of the engine its features go from the list."""
    assert not NEWER_FEATURES.keys() & known_features()
    assert set(features_to_ask_for()) == {*NEWER_FEATURES, *known_features()}


def test_the_engine_has_what_is_taken_to_be_its_own() -> None:
    assert defaults.builtins().keys() == addresses.BUILTINS
    assert defaults.sysvars().keys() == addresses.SYSVARS


@given(
    st.dictionaries(
        st.sampled_from([*sorted(known_features(), key=bytes)[::40], *NEWER_FEATURES])
        | st.binary(min_size=32, max_size=32).map(Pubkey),
        st.integers(0, 2 * NEWEST_OF_MAINNET),
    ),
    st.booleans(),
)
def test_missing_is_what_is_unknown_and_may_matter(
    active: dict[Pubkey, int], is_mainnet: bool
) -> None:
    found = missing_features(active, is_mainnet=is_mainnet)
    for feature, slot in active.items():
        newer = NEWER_FEATURES.get(feature)
        is_built_in = is_mainnet and slot <= NEWEST_OF_MAINNET
        may_matter = newer is None or not newer.harmless
        named = MissingRule("feature", feature, newer.name if newer else None)
        is_missing = feature not in known_features() and not is_built_in and may_matter
        assert (named in found) == is_missing
    assert len(found) <= len(active)
    assert missing_features(dict(reversed(active.items())), is_mainnet=is_mainnet) is found


def test_equal_features_are_judged_once() -> None:
    one = missing_features({UNHEARD_OF: 5}, is_mainnet=False)
    assert one is missing_features({UNHEARD_OF: 9}, is_mainnet=False)
    assert one == (MissingRule("feature", UNHEARD_OF),)


@pytest.mark.parametrize(
    ("data", "owner", "slot"),
    [
        (b"\x01" + (7).to_bytes(8, "little"), addresses.FEATURE, 7),
        (bytes(9), addresses.FEATURE, None),
        (b"\x01", addresses.FEATURE, None),
        (b"\x01" + bytes(8), addresses.SYSTEM, None),
    ],
)
def test_a_feature_is_on_since_its_account_says_so(
    data: bytes, owner: Pubkey, slot: int | None
) -> None:
    assert activated_at(Account(1, data, owner, False, 0)) == slot
    assert activated_at(None) is None


def test_native_programs_and_sysvars_of_the_chain_alone_are_missing() -> None:
    def owned(owner: Pubkey) -> Account:
        return Account(1, b"", owner, False, U64_MAX)

    program, sysvar, other = (Pubkey(bytes([number]) * 32) for number in (2, 1, 3))
    chain = {
        **defaults.genesis_accounts(),
        addresses.INSTRUCTIONS: owned(addresses.SYSVAR_OWNER),
    }
    assert missing_accounts(dict(chain)) == ()
    found = missing_accounts(
        {
            **chain,
            program: owned(addresses.NATIVE_LOADER),
            sysvar: owned(addresses.SYSVAR_OWNER),
            other: owned(addresses.LOADER_3),
            UNHEARD_OF: None,
        }
    )
    assert found == (MissingRule("sysvar", sysvar), MissingRule("program", program))


def test_the_engine_goes_by_the_rent_that_the_chain_has() -> None:
    """Why features that set the Rent sysvar are harmless: it is part of the state."""
    half = defaults.rent_minimum(0) // 2
    world = World()
    assert world.look(pay(address(99), half)).err == {
        "InsufficientFundsForRent": {"account_index": 1}
    }
    rent = world.accounts[addresses.RENT]
    per_byte = int.from_bytes(rent.data[:8], "little") // 2
    cheaper = per_byte.to_bytes(8, "little") + rent.data[8:]
    world.accounts[addresses.RENT] = Account(1, cheaper, addresses.SYSVAR_OWNER, False, 0)
    assert world.look(pay(address(99), half)).err is None


@pytest.mark.parametrize(
    ("version", "active", "missing", "programs"),
    [("4.1.2", 279, 0, 1), ("4.4.0", 288, 6, 1)],
)
def test_real_chains_of_two_versions(
    version: str, active: int, missing: int, programs: int
) -> None:
    """A chain that a node of the engine's own version made lacks nothing; 4.4.0's has 20 features
    that the engine does not know; 6 of them may matter.
    """
    files = sorted((FIXTURES / f"agave-{version}").glob("snapshot-*.tar.zst"))
    if not files:
        pytest.skip(f"no snapshots of Agave {version} beside this checkout")
    for file in files:
        accounts = accounts_of(file)
        on = {key: at for key, each in accounts.items() if (at := activated_at(each)) is not None}
        assert len(on) == active
        found = missing_features(on, is_mainnet=False)
        assert len(found) == missing
        assert all(rule.name for rule in found)
        assert len(on.keys() - known_features()) == (20 if missing else 0)
        # ZkTokenProof is native code in Agave, and not in the engine: mainnet never enabled it.
        (native,) = missing_accounts(accounts)
        assert (native.kind, str(native.address)[:12]) == ("program", "ZkTokenProof")


def accounts_of(file: Path) -> dict[Pubkey, Account]:
    """The archive's newest accounts, small ones alone: 4.4's manifests name no storages."""
    with file.open("rb") as packed:
        data = zstandard.ZstdDecompressor().stream_reader(packed).read()
    found: dict[bytes, tuple[int, Account]] = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            named = re.fullmatch(r"(?:\./)?accounts/(\d+)\.\d+", member.name)
            if named is None:
                continue
            opened = archive.extractfile(member)
            assert opened is not None
            slot, storage, at = int(named[1]), opened.read(), 0
            while at + HEAD.size <= len(storage):
                _, size, pubkey, lamports, rent, owner, executable = HEAD.unpack_from(storage, at)
                end = at + HEAD.size + size
                if end > len(storage) or (lamports == 0 and owner == bytes(32) == pubkey):
                    break
                if size < 20_000 and found.get(pubkey, (0,))[0] <= slot:
                    account = Account(
                        lamports,
                        storage[at + HEAD.size : end],
                        Pubkey(owner),
                        bool(executable),
                        rent,
                    )
                    found[pubkey] = slot, account
                at = -(-end // 8) * 8
    return {Pubkey(key): account for key, (_, account) in found.items() if account.lamports}
