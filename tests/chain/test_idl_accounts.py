"""Account data by an IDL: each of its forms, memory layouts, and data that is cut or unknown."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from chain.explained.accounts import by_idl, decode_account
from chain.explained.programs import TOKEN
from chain.idl.reading import Idl, read_idl
from tests.chain.borsh import DEFINED, packed, typed_values
from tests.chain.test_idl import U8, codama, hashed

OWNER = Pubkey(bytes([8]) * 32)
MEMBERS = [
    {"name": "owner", "type": "pubkey"},
    {"name": "stock", "type": "u64"},
    {"name": "open", "type": "bool"},
]
STRUCT = {"kind": "struct", "fields": MEMBERS}
TAG = bytes(range(1, 9))
HELD = bytes(OWNER) + (2**60).to_bytes(8, "little") + b"\1"
SAID = {"owner": str(OWNER), "stock": str(2**60), "open": True}


def idl(**more: Any) -> Idl:
    return read_idl(json.dumps({"instructions": [], **more}).encode())


TODAY = idl(
    accounts=[{"name": "Shop", "discriminator": [*TAG]}], types=[{"name": "Shop", "type": STRUCT}]
)
LEGACY = idl(accounts=[{"name": "Shop", "type": STRUCT}])


@pytest.mark.parametrize(
    ("found", "tag"), [(TODAY, TAG), (LEGACY, hashed("account:Shop"))], ids=["0.30", "legacy"]
)
def test_both_forms_of_anchors_say_the_same(found: Idl, tag: bytes) -> None:
    account = found.account(tag + HELD + bytes(100))
    assert account is not None and account.is_whole
    assert (account.name, account.members) == ("Shop", SAID), "accounts may have room to spare"
    assert found.account(bytes(8) + HELD) is None and found.account(b"") is None


def test_data_that_ends_between_members_or_within_one() -> None:
    early = TODAY.account(TAG + HELD[:40])
    assert early is not None and early.is_whole
    assert early.members == {"owner": str(OWNER), "stock": str(2**60)}, "an older account had fewer"
    cut = TODAY.account(TAG + HELD[:35])
    assert cut is not None
    assert (cut.name, cut.members, cut.is_whole) == ("Shop", {}, False)


@pytest.mark.parametrize(
    ("layout", "is_read"),
    [
        ({"serialization": "borsh"}, True),
        ({"serialization": "bytemuck", "repr": {"kind": "c"}}, True),
        ({"serialization": "bytemuckunsafe", "repr": {"kind": "c"}}, False),
        ({"serialization": "bytemuckunsafe", "repr": {"kind": "c", "packed": True}}, True),
        ({"serialization": {"custom": "own"}}, False),
    ],
    ids=str,
)
def test_memory_is_read_only_where_it_has_no_padding(layout: dict[str, Any], is_read: bool) -> None:
    found = idl(
        accounts=[{"name": "Shop", "discriminator": [*TAG]}],
        types=[{"name": "Shop", "type": STRUCT, **layout}],
    ).account(TAG + HELD)
    assert found is not None
    assert (found.is_whole, found.members) == (is_read, SAID if is_read else {})


def test_codamas_accounts_are_known_by_their_first_members() -> None:
    tag = {"name": "tag", "type": U8, "defaultValue": {"kind": "numberValueNode", "number": 7}}
    count = {"name": "count", "type": U8}
    by_tag = [{"kind": "fieldDiscriminatorNode", "name": "tag", "offset": 0}]

    def account(name: str, *fields: Any, discriminators: Any = by_tag) -> dict[str, Any]:
        data = {"kind": "structTypeNode", "fields": fields}
        return {"name": name, "data": data, "discriminators": discriminators}

    by_size = [{"kind": "sizeDiscriminatorNode", "size": 2}]
    accounts = [
        account("sized", count, discriminators=by_size),
        account("unknown", {**tag, "defaultValue": {"kind": "enumValueNode"}}),
        account("untold", {"name": "tag", "type": U8}),
        account("shop", tag, count),
    ]
    found = read_idl(json.dumps(codama(accounts=accounts)).encode())
    shop = found.account(b"\7\5\0")
    assert shop is not None and (shop.name, shop.members) == ("shop", {"count": 5})
    assert found.account(b"\6\5") is None
    call = found.call(b"\7\0\1")
    assert call is not None and call.name == "go", "its instructions are readable all the same"


def test_accounts_without_a_type_do_not_spoil_the_idl() -> None:
    found = idl(accounts=[{"name": "Shop"}], errors=[{"code": 1, "name": "Closed"}])
    assert found.account(hashed("account:Shop") + HELD) is None
    assert found.errors[1].name == "Closed"


@given(st.lists(typed_values, min_size=1, max_size=4), st.binary(max_size=40))
def test_what_is_packed_is_read_again(values: list[tuple[Any, Any]], more: bytes) -> None:
    fields = [{"name": f"m{n}", "type": kind} for n, (kind, _) in enumerate(values)]
    kind = {"name": "Shop", "type": {"kind": "struct", "fields": fields}}
    found = idl(accounts=[{"name": "Shop", "discriminator": [7]}], types=[*DEFINED, kind])
    data = b"".join(packed(kind, value) for kind, value in values)
    account = found.account(b"\7" + data + more)
    assert account is not None and account.is_whole
    expected = {f"m{n}": value for n, (_, value) in enumerate(values)}
    assert account.members.items() <= expected.items(), "what needs no bytes may be left out"
    assert account.members == expected or not more


def test_this_services_decoders_come_before_an_idl() -> None:
    mint = bytes(36) + (5).to_bytes(8, "little") + bytes([6, 1]) + bytes(36)
    other = idl(
        accounts=[{"name": "Other", "discriminator": [0]}],
        types=[{"name": "Other", "type": STRUCT}],
    )
    found = decode_account(str(OWNER), TOKEN, mint, lambda key: None, other)
    assert (found.kind, found.by) == ("mint", "program")
    assert ("supply", "5") in found.details and ("decimals", "6") in found.details
    assert by_idl(mint, other).kind == "Other"
    unknown = decode_account(str(OWNER), str(OWNER), TAG + HELD, lambda key: None, TODAY)
    assert (unknown.kind, unknown.info, unknown.by) == ("Shop", SAID, "idl")
    assert decode_account(str(OWNER), str(OWNER), b"\1", lambda key: None, TODAY).kind == ""


def test_lists_of_sysvars_have_a_name() -> None:
    owner = "Sysvar1111111111111111111111111111111111111"
    hashes = "SysvarS1otHashes111111111111111111111111111"
    data = (1).to_bytes(8, "little") + (9).to_bytes(8, "little") + bytes([1]) * 32
    found = decode_account(hashes, owner, data, lambda key: None)
    assert found.kind == "slotHashes" and found.details[0][0] == "slotHashes"
