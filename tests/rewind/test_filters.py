"""Default filters: mainnet's votes and stakes, once, and then as staff want them."""

from chain.addresses import STAKE, VOTE
from rewind.recording.services import filters

DEVNET = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"


def test_mainnet_begins_without_votes_and_stakes(db):
    assert filters.apply_defaults(filters.MAINNET_GENESIS_HASH)
    assert filters.filtered_owners() == [VOTE, STAKE]


def test_what_staff_took_off_stays_off(db):
    filters.apply_defaults(filters.MAINNET_GENESIS_HASH)
    filters.filter_owner(STAKE, filtered=False)
    assert not filters.apply_defaults(filters.MAINNET_GENESIS_HASH)
    assert filters.filtered_owners() == [VOTE]


def test_other_chains_begin_with_everything(db):
    assert not filters.apply_defaults(DEVNET)
    assert filters.filtered_owners() == []


def test_an_account_is_filtered_and_taken_back(db):
    for _ in range(2):
        filters.filter_account(VOTE, filtered=True)
    assert filters.filtered_pubkeys() == [VOTE]
    filters.filter_account(VOTE, filtered=False)
    assert filters.filtered_pubkeys() == []
