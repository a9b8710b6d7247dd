"""IDLs: what they say of an instruction, in each of their forms, and whatever they are made of."""

import gzip
import json
import zlib
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from chain.addresses import METADATA
from chain.encodings import b64encode
from chain.idl.on_chain import idl_accounts, idl_text
from chain.idl.reading import MOST_BYTES, Idl, IdlError, read_idl
from chain.idl.types import BadIdl
from tests.chain.borsh import DEFINED, packed, typed_values

PROGRAM = Pubkey(bytes([9]) * 32)
MINT = Pubkey(bytes([8]) * 32)


def hashed(text: str) -> bytes:
    return sha256(text.encode()).digest()[:8]


def idl_of(*arguments: Any, **more: Any) -> Idl:
    """With the instruction `go` of the arguments' types."""
    args = [{"name": f"a{number}", "type": each} for number, each in enumerate(arguments)]
    go = {"name": "go", "discriminator": [7], "args": args, "accounts": []}
    return read_idl(json.dumps({"instructions": [go], "types": DEFINED, **more}).encode())


TODAY = {
    "address": str(PROGRAM),
    "metadata": {"name": "shop", "version": "1.2.0", "spec": "0.1.0"},
    "instructions": [
        {
            "name": "buy_item",
            "discriminator": [1, 2, 3, 4, 5, 6, 7, 8],
            "accounts": [
                {"name": "buyer", "signer": True},
                {"name": "pay", "accounts": [{"name": "from"}, {"name": "to"}]},
            ],
            "args": [{"name": "count", "type": "u64"}, {"name": "mint", "type": "pubkey"}],
        }
    ],
    "events": [{"name": "Bought", "discriminator": [8, 7, 6, 5, 4, 3, 2, 1]}],
    "types": [
        {
            "name": "Bought",
            "type": {"kind": "struct", "fields": [{"name": "count", "type": "u32"}]},
        }
    ],
    "errors": [{"code": 6000, "name": "SoldOut", "msg": "Nothing is left"}],
}
# The same as older versions wrote it.
LEGACY = {
    "version": "1.2.0",
    "name": "shop",
    "instructions": [
        {
            "name": "buyItem",
            "accounts": [
                {"name": "buyer", "isMut": True, "isSigner": True},
                {"name": "pay", "accounts": [{"name": "from"}, {"name": "to"}]},
            ],
            "args": [{"name": "count", "type": "u64"}, {"name": "mint", "type": "publicKey"}],
        }
    ],
    "events": [{"name": "Bought", "fields": [{"name": "count", "type": "u32", "index": False}]}],
    "errors": [{"code": 6000, "name": "SoldOut", "msg": "Nothing is left"}],
    "metadata": {"address": str(PROGRAM)},
}
ARGUMENTS = (2**60).to_bytes(8, "little") + bytes(MINT)
TAG = bytes.fromhex("e445a52e51cb9a1d")


@pytest.mark.parametrize(
    ("idl", "buy", "bought", "name"),
    [
        (TODAY, bytes(range(1, 9)), bytes(range(8, 0, -1)), "buy_item"),
        (LEGACY, hashed("global:buy_item"), hashed("event:Bought"), "buyItem"),
    ],
    ids=["0.30", "legacy"],
)
def test_both_forms_of_anchors_say_the_same(
    idl: dict[str, Any], buy: bytes, bought: bytes, name: str
) -> None:
    found = read_idl(json.dumps(idl).encode())
    assert (found.name, found.version, found.address) == ("shop", "1.2.0", PROGRAM)
    call = found.call(buy + ARGUMENTS)
    assert call is not None
    assert (call.name, call.accounts) == (name, ("buyer", "pay.from", "pay.to"))
    assert call.arguments == {"count": str(2**60), "mint": str(MINT)}, "exact in JavaScript, too"
    event = found.call(TAG + bought + (5).to_bytes(4, "little"))
    assert event is not None and event.is_event
    assert (event.name, event.arguments) == ("Bought", {"count": 5})
    assert found.errors == {6000: IdlError("SoldOut", "Nothing is left")}
    assert found.call(bytes(8)) is None and found.call(b"") is None


def test_data_that_ends_between_arguments_or_within_one() -> None:
    found = read_idl(json.dumps(TODAY).encode())
    early = found.call(bytes(range(1, 9)) + ARGUMENTS[:8])
    assert early is not None and early.is_whole
    assert early.arguments == {"count": str(2**60)}, "an older program had fewer"
    cut = found.call(bytes(range(1, 9)) + ARGUMENTS[:20])
    assert cut is not None
    assert (cut.name, cut.arguments, cut.is_whole) == ("buy_item", {}, False)


def test_shank_and_own_discriminators_of_any_length() -> None:
    instructions = [
        {"name": "one", "discriminant": {"type": "u8", "value": 4}, "args": []},
        {"name": "two", "discriminator": [4, 1], "args": []},
    ]
    found = read_idl(json.dumps({"instructions": instructions}).encode())
    calls = [found.call(data) for data in (b"\x04", b"\x04\x00", b"\x04\x01\xff")]
    assert [call and call.name for call in calls] == ["one", "one", "two"], "the longest that fits"


U8: dict[str, Any] = {"kind": "numberTypeNode", "format": "u8", "endian": "le"}
U32 = {**U8, "format": "u32"}


def codama(*arguments: Any, types: Any = (), **program: Any) -> dict[str, Any]:
    """With the instruction `go` of 7 and 2^8."""
    tags = [
        {"name": "tag", "type": U8, "defaultValue": {"kind": "numberValueNode", "number": 7}},
        {
            "name": "more",
            "type": {"kind": "fixedSizeTypeNode", "size": 2, "type": {"kind": "bytesTypeNode"}},
            "defaultValue": {"kind": "bytesValueNode", "data": "0001", "encoding": "base16"},
        },
    ]
    named = [{"name": f"a{number}", "type": each} for number, each in enumerate(arguments)]
    go = {
        "name": "go",
        "accounts": [{"name": "buyer", "isSigner": True}],
        "arguments": [*tags, *named],
        "discriminators": [
            {"kind": "fieldDiscriminatorNode", "name": "tag", "offset": 0},
            {"kind": "fieldDiscriminatorNode", "name": "more", "offset": 1},
        ],
    }
    size = {"name": "bySize", "discriminators": [{"kind": "sizeDiscriminatorNode", "size": 1}]}
    return {
        "kind": "rootNode",
        "standard": "codama",
        "program": {
            "name": "shop",
            "publicKey": str(PROGRAM),
            "version": "1.2.0",
            "instructions": [go, size],
            "definedTypes": [{"name": name, "type": kind} for name, kind in types],
            "errors": [{"code": 1, "name": "soldOut", "message": "Nothing is left"}],
            **program,
        },
    }


_PAIR = {
    "kind": "structTypeNode",
    "fields": [
        {"name": "left", "type": U8},
        {"name": "right", "type": {"kind": "booleanTypeNode", "size": U8}},
    ],
}
_CHOICE = {
    "kind": "enumTypeNode",
    "size": U8,
    "variants": [
        {"kind": "enumEmptyVariantTypeNode", "name": "none"},
        {
            "kind": "enumTupleVariantTypeNode",
            "name": "one",
            "tuple": {"kind": "tupleTypeNode", "items": [U8]},
        },
        {"kind": "enumStructVariantTypeNode", "name": "both", "struct": _PAIR},
    ],
}


@pytest.mark.parametrize(
    ("kind", "data", "value"),
    [
        ({"kind": "dateTimeTypeNode", "number": {**U8, "format": "i64"}}, b"\5" + bytes(7), "5"),
        ({"kind": "publicKeyTypeNode"}, bytes(MINT), str(MINT)),
        (
            {"kind": "sizePrefixTypeNode", "prefix": U32, "type": {"kind": "stringTypeNode"}},
            b"\2\0\0\0hi",
            "hi",
        ),
        (
            {"kind": "fixedSizeTypeNode", "size": 2, "type": {"kind": "bytesTypeNode"}},
            b"\0\1",
            "AAE=",
        ),
        ({"kind": "optionTypeNode", "prefix": U8, "item": U8}, b"\1\5", 5),
        ({"kind": "optionTypeNode", "prefix": U32, "fixed": True, "item": U8}, bytes(5), None),
        (
            {
                "kind": "arrayTypeNode",
                "item": _PAIR,
                "count": {"kind": "fixedCountNode", "value": 1},
            },
            b"\5\1",
            [{"left": 5, "right": True}],
        ),
        (
            {
                "kind": "arrayTypeNode",
                "item": {"kind": "tupleTypeNode", "items": [U8, U8]},
                "count": {"kind": "prefixedCountNode", "prefix": U32},
            },
            b"\1\0\0\0\5\6",
            [[5, 6]],
        ),
        ({"kind": "definedTypeLinkNode", "name": "Choice"}, b"\0", "none"),
        ({"kind": "definedTypeLinkNode", "name": "Choice"}, b"\1\5", {"one": [5]}),
        (
            {"kind": "definedTypeLinkNode", "name": "Choice"},
            b"\2\5\0",
            {"both": {"left": 5, "right": False}},
        ),
    ],
    ids=lambda each: str(each)[:50],
)
def test_codamas_nodes_are_the_same_types(kind: Any, data: bytes, value: Any) -> None:
    text = json.dumps(codama(kind, U8, types=[("Choice", _CHOICE)])).encode()
    found = read_idl(text)
    assert (found.name, found.version, found.address) == ("shop", "1.2.0", PROGRAM)
    assert found.errors == {1: IdlError("soldOut", "Nothing is left")}
    call = found.call(b"\7\0\1" + data + b"\x09")
    assert call is not None and call.arguments == {"a0": value, "a1": 9}
    assert (call.name, call.accounts) == ("go", ("buyer",))
    assert found.call(b"\7\0\2") is None


def test_codamas_other_layouts_are_called_unreadable() -> None:
    for kind in (
        {"kind": "mapTypeNode"},
        {"kind": "optionTypeNode", "prefix": U32, "item": U8},
        {**U8, "format": "u16", "endian": "be"},
        {"kind": "sizePrefixTypeNode", "prefix": U8, "type": {"kind": "stringTypeNode"}},
    ):
        call = read_idl(json.dumps(codama(kind)).encode()).call(b"\7\0\1" + bytes(40))
        assert call is not None and (call.name, call.is_whole) == ("go", False), kind


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "rootNode"},
        {"kind": "rootNode", "program": 1},
        codama(1),
        codama(types=[("T", {"kind": "enumTypeNode"})]),
        codama(instructions=[1]),
        codama(publicKey="nothing"),
        codama(errors=[{}]),
    ],
    ids=lambda each: str(each)[:60],
)
def test_incomplete_nodes_are_refused(broken: Any) -> None:
    refused(broken)


@pytest.mark.parametrize(
    ("kind", "data", "value"),
    [
        ("bool", b"\1", True),
        ("i16", b"\xfe\xff", -2),
        ("u128", b"\1" + bytes(15), "1"),
        ("f64", bytes(6) + b"\xf0\x7f", None),
        ("string", b"\2\0\0\0hi", "hi"),
        ("bytes", b"\2\0\0\0\0\1", "AAE="),
        ({"array": ["u8", 3]}, b"abc", b64encode(b"abc")),
        ({"array": ["u16", 2]}, b"\1\0\2\0", [1, 2]),
        ({"vec": "bool"}, b"\2\0\0\0\1\0", [True, False]),
        ({"hashMap": ["u8", "bool"]}, b"\2\0\0\0\5\1\6\0", [[5, True], [6, False]]),
        ({"bTreeMap": ["string", "u8"]}, b"\1\0\0\0\1\0\0\0a\5", [["a", 5]]),
        ({"hashSet": "u8"}, b"\2\0\0\0\5\6", [5, 6]),
        ({"bTreeSet": "u8"}, b"\0\0\0\0", []),
        ({"option": "u8"}, b"\0", None),
        ({"option": "u8"}, b"\1\5", 5),
        ({"coption": "u8"}, b"\0\0\0\0\5", None),
        ({"defined": "Pair"}, b"\5\0", {"left": 5, "right": False}),
        ({"defined": {"name": "Pair"}}, b"\5\1", {"left": 5, "right": True}),
        ({"defined": "Choice"}, b"\0", "None"),
        ({"defined": "Choice"}, b"\1\5", {"One": [5]}),
        ({"defined": "Choice"}, b"\2\5\1", {"Both": {"left": 5, "right": True}}),
        ({"defined": "Alias"}, b"\5", 5),
        (
            {
                "defined": {
                    "name": "Box",
                    "generics": [
                        {"kind": "type", "type": "u8"},
                        {"kind": "const", "value": "2"},
                    ],
                }
            },
            b"\1\2\3\0",
            {"first": 1, "rest": [2, 3], "next": None},
        ),
    ],
    ids=str,
)
def test_each_type_is_read(kind: Any, data: bytes, value: Any) -> None:
    call = idl_of(kind, "u8").call(b"\7" + data + b"\x09")
    assert call is not None and call.arguments == {"a0": value, "a1": 9}


@given(st.lists(typed_values, max_size=4))
def test_what_is_packed_is_read_again(values: list[tuple[Any, Any]]) -> None:
    data = b"".join(packed(kind, value) for kind, value in values)
    call = idl_of(*(kind for kind, _ in values), "u8").call(b"\7" + data + b"\x01")
    assert call is not None
    assert call.arguments == {f"a{n}": value for n, (_, value) in enumerate(values)} | {
        f"a{len(values)}": 1
    }


@given(st.lists(typed_values, min_size=1, max_size=3), st.binary(max_size=80))
def test_any_data_is_read_or_called_unreadable(values: list[tuple[Any, Any]], data: bytes) -> None:
    call = idl_of(*(kind for kind, _ in values)).call(b"\7" + data)
    assert call is not None and (call.is_whole or call.arguments == {})


def refused(idl: Any) -> str:
    text = idl if isinstance(idl, bytes) else json.dumps(idl).encode()
    with pytest.raises(BadIdl) as found:
        read_idl(text)
    return str(found.value)


GO = {"name": "go", "discriminator": [1]}


@pytest.mark.parametrize(
    ("idl", "why"),
    [
        (b"{", "truncated"),
        (b"\xff", "invalid"),
        (b'{"instructions": [], "types": [{"name": "T", "type": ' + b"[" * 100_000, "recursion"),
        ([], "Expected `object`"),
        ({"kind": "rootNode", "standard": "codama"}, "not complete"),
        ({"instructions": [{"name": "x" * 129}]}, "length <= 128"),
        ({"instructions": [{"name": "go", "discriminator": [256]}]}, "<= 255"),
        ({"instructions": [{"name": "go", "discriminator": []}]}, "empty discriminator"),
        ({"instructions": [{**GO, "args": [{"name": "a", "type": "u7"}]}]}, "unknown type `u7`"),
        ({"instructions": [{**GO, "args": [{"name": "a", "type": {"map": 1}}]}]}, "unknown type"),
        (
            {"instructions": [{**GO, "args": [{"name": "a", "type": {"defined": "No"}}]}]},
            "type `No` is not defined",
        ),
        ({"instructions": [], "address": "nothing"}, "not a pubkey"),
        ({"instructions": [], "types": [{"name": "T", "type": {"kind": "map"}}]}, "neither"),
        (b'{"instructions": []}'.ljust(MOST_BYTES + 1), "more than 1,048,576 bytes"),
    ],
    ids=lambda each: str(each)[:40],
)
def test_what_is_no_idl_is_refused_with_a_reason(idl: Any, why: str) -> None:
    assert why.lower() in refused(idl).lower()


def test_types_cannot_take_more_than_an_idl_may() -> None:
    deep: Any = "u8"
    for _ in range(60):
        deep = {"option": deep}
    assert "nested too deep" in refused({"instructions": [{**GO, "args": [field(deep)]}]})
    # Each of these has the next one twice: 2^40 uses.
    doubling = [
        {
            "name": f"T{n}",
            "generics": [{"kind": "type", "name": "X"}],
            "type": {"kind": "struct", "fields": [field(use(n + 1)), field(use(n + 1), "b")]},
        }
        for n in range(30)
    ]
    end = {"name": "T30", "generics": doubling[0]["generics"], "type": {"kind": "struct"}}
    assert "too many" in refused(
        {"instructions": [{**GO, "args": [field(use(0))]}], "types": [*doubling, end]}
    )


def field(kind: Any, name: str = "a") -> dict[str, Any]:
    return {"name": name, "type": kind}


def use(n: int) -> dict[str, Any]:
    return {"defined": {"name": f"T{n}", "generics": [{"kind": "type", "type": "u8"}]}}


@pytest.mark.parametrize(
    "kind",
    [
        {"vec": {"defined": "Nothing"}},
        {"array": [{"array": [{"array": ["u16", 60_000]}, 60_000]}, 60_000]},
        {"array": [{"array": [{"defined": "Nothing"}, 4_000]}, 4_000]},
        {"defined": "Endless"},
    ],
    ids=str,
)
def test_small_data_cannot_make_a_large_answer(kind: Any) -> None:
    nothing = {"name": "Nothing", "type": {"kind": "struct", "fields": []}}
    endless = {
        "name": "Endless",
        "type": {"kind": "struct", "fields": [field({"option": {"defined": "Endless"}})]},
    }
    idl = idl_of(kind, types=[nothing, endless])
    call = idl.call(b"\7" + (2**32 - 1).to_bytes(4, "little") + b"\1" * 1_000)
    assert call is not None and not call.is_whole


json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 300) | st.sampled_from(["", "u8", "T", "struct"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "type",
                    "kind",
                    "fields",
                    "variants",
                    "alias",
                    "generics",
                    "value",
                    "vec",
                    "array",
                    "option",
                    "defined",
                    "generic",
                    "instructions",
                    "types",
                    "args",
                    "accounts",
                    "discriminator",
                    "discriminant",
                    "events",
                    "errors",
                    "item",
                    "prefix",
                    "count",
                    "size",
                    "items",
                    "struct",
                    "tuple",
                    "format",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(json_values, json_values, json_values)
def test_any_json_is_read_or_refused(arguments: Any, types: Any, whole: Any) -> None:
    instructions = [{"name": "go", "discriminator": [7], "args": arguments}]
    kinds = [{"name": "T", "type": types}]
    for idl in (whole, {"instructions": instructions, "types": kinds, "events": arguments}):
        try:
            found = read_idl(json.dumps(idl).encode())
        except BadIdl:
            continue
        found.call(b"\7" + bytes(range(40)))


@given(json_values, json_values, json_values)
def test_any_nodes_are_read_or_refused(kind: Any, types: Any, whole: Any) -> None:
    for idl in (codama(kind, types=[("T", types)]), {"kind": "rootNode", "program": whole}):
        try:
            read_idl(json.dumps(idl).encode()).call(b"\7\0\1" + bytes(range(40)))
        except BadIdl:
            continue


# --- on chain -------------------------------------------------------------------------------------

TEXT = json.dumps(TODAY).encode()


def anchor_account(text: bytes) -> bytes:
    held = zlib.compress(text)
    return hashed("internal:IdlAccount") + bytes(32) + len(held).to_bytes(4, "little") + held


def metadata_account(held: bytes, compression: int, **more: int) -> bytes:
    header = bytearray(96)
    header[0], header[1:33], header[66] = 2, bytes(PROGRAM), 1
    header[67:70] = b"idl"
    header[83:87] = bytes([1, compression, 1, 0])
    header[87:91] = len(held).to_bytes(4, "little")
    for place, value in more.items():
        header[int(place[1:])] = value
    return bytes(header) + held


def test_the_accounts_are_where_the_programs_derive_them() -> None:
    """Those of Pump.fun and of the program metadata program itself on mainnet."""
    pump = Pubkey.from_string("6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P")
    base, _ = Pubkey.find_program_address([], pump)
    assert idl_accounts(pump)["anchor"] == Pubkey.create_with_seed(base, "anchor:idl", pump)
    found = idl_accounts(METADATA)["programMetadata"]
    seeds = [bytes(METADATA), b"idl" + bytes(13)]
    assert found == Pubkey.find_program_address(seeds, METADATA)[0]
    assert not found.is_on_curve() and [*idl_accounts(pump)] == ["programMetadata", "anchor"]


@pytest.mark.parametrize(
    ("kind", "owner", "data"),
    [
        ("anchor", PROGRAM, anchor_account(TEXT)),
        ("anchor", PROGRAM, anchor_account(TEXT) + bytes(500)),
        ("programMetadata", METADATA, metadata_account(TEXT, 0)),
        ("programMetadata", METADATA, metadata_account(gzip.compress(TEXT), 1)),
        ("programMetadata", METADATA, metadata_account(zlib.compress(TEXT), 2)),
    ],
)
def test_an_account_holds_an_idl(kind: Any, owner: Pubkey, data: bytes) -> None:
    assert idl_text(kind, PROGRAM, owner, data) == TEXT


@pytest.mark.parametrize(
    ("kind", "owner", "data"),
    [
        ("anchor", METADATA, anchor_account(TEXT)),
        ("anchor", PROGRAM, bytes(8) + anchor_account(TEXT)[8:]),
        ("anchor", PROGRAM, anchor_account(TEXT)[:60] + bytes(40)),
        ("anchor", PROGRAM, b""),
        ("programMetadata", PROGRAM, metadata_account(TEXT, 0)),
        ("programMetadata", METADATA, metadata_account(TEXT, 0, _0=1)),
        ("programMetadata", METADATA, metadata_account(TEXT, 0, _1=7)),
        ("programMetadata", METADATA, metadata_account(TEXT, 0, _83=3)),
        ("programMetadata", METADATA, metadata_account(TEXT, 0, _85=2)),
        ("programMetadata", METADATA, metadata_account(b"https://example.com", 0, _86=1)),
        ("programMetadata", METADATA, metadata_account(TEXT, 1)),
        ("programMetadata", METADATA, metadata_account(TEXT, 0)[:95]),
    ],
)
def test_an_account_that_holds_none_is_refused(kind: Any, owner: Pubkey, data: bytes) -> None:
    with pytest.raises(BadIdl):
        idl_text(kind, PROGRAM, owner, data)


def test_a_compressed_text_is_not_unpacked_beyond_the_most_bytes() -> None:
    text = idl_text("anchor", PROGRAM, PROGRAM, anchor_account(bytes(8 * MOST_BYTES)))
    assert len(text) == MOST_BYTES + 1
    assert "more than" in refused(text)


@given(st.sampled_from(["anchor", "programMetadata"]), st.binary(max_size=120), st.data())
def test_any_account_is_read_or_refused(kind: Any, data: bytes, more: Any) -> None:
    made = anchor_account(TEXT) if kind == "anchor" else metadata_account(TEXT, 2)
    at = more.draw(st.integers(0, len(made)))
    owner = PROGRAM if kind == "anchor" else METADATA
    for tried in (data, made[:at] + data, made[:at] + data + made[at + len(data) :]):
        try:
            read_idl(idl_text(kind, PROGRAM, owner, tried))
        except BadIdl:
            continue
