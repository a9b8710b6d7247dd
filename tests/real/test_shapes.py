"""localnet beside a real validator: the same load on both, and the shape of what both said."""

import json
import re

import pytest

from tests.localnet.test_stream_shapes import (
    test_a_slot_writes_the_accounts_that_a_real_one_writes as check_writes,
)
from tests.localnet.test_stream_shapes import (
    test_messages_come_in_the_order_of_real_ones as check_order,
)
from tests.localnet.test_stream_shapes import (
    test_messages_have_the_fields_that_real_ones_have as check_fields,
)
from tests.localnet.test_stream_shapes import (
    test_nothing_contradicts_itself_but_where_real_ones_do as check_faults,
)
from tests.real.shapes import Seen, differences
from tests.real.test_meeting import SEEN

pytestmark = pytest.mark.real

# What differs, by patterns of names, and why; docs/decisions/localnet.md has the stream's.
_PROGRAMS = "localnet has the builds that LiteSVM brings, a test validator those of its own release"
ON_PURPOSE = {
    r".* by (Token|Memo|AddressLookupTab)\w+: units": _PROGRAMS,
    r".* by MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr: (errors|logs)": _PROGRAMS,
    r"call \d+ sendTransaction": "localnet says in 4.4.0's words what is no base64",
}


@pytest.fixture
def both() -> tuple[Seen, Seen]:
    """The validator's and localnet's, of the meetings that this run had."""
    if SEEN.keys() != {"validator", "localnet"}:
        pytest.skip(f"only {', '.join(SEEN) or 'nothing'} was met in this run")
    return SEEN["validator"], SEEN["localnet"]


def test_localnets_stream_has_the_shape_of_the_validators(both: tuple[Seen, Seen]) -> None:
    theirs, ours = (each.stream for each in both)
    for check in (check_fields, check_order, check_writes, check_faults):
        check(ours, theirs)


def test_localnet_says_all_else_in_the_shape_of_the_validator(both: tuple[Seen, Seen]) -> None:
    found = differences(*both)
    others = {
        name: why
        for name, why in found.items()
        if not any(re.fullmatch(pattern, name) for pattern in ON_PURPOSE)
    }
    print(f"on purpose: {json.dumps(found, indent=1)}")
    assert not others, json.dumps(others, indent=1)
