"""Values of any IDL type, and their Borsh."""

from typing import Any

from hypothesis import strategies as st

from chain.encodings import b64decode, b64encode

DEFINED: list[dict[str, Any]] = [
    {
        "name": "Pair",
        "type": {
            "kind": "struct",
            "fields": [{"name": "left", "type": "u8"}, {"name": "right", "type": "bool"}],
        },
    },
    {
        "name": "Choice",
        "type": {
            "kind": "enum",
            "variants": [
                {"name": "None"},
                {"name": "One", "fields": ["u8"]},
                {
                    "name": "Both",
                    "fields": [{"name": "left", "type": "u8"}, {"name": "right", "type": "bool"}],
                },
            ],
        },
    },
    {"name": "Alias", "type": {"kind": "type", "alias": "u8"}},
    {
        "name": "Box",
        "generics": [{"kind": "type", "name": "T"}, {"kind": "const", "name": "N"}],
        "type": {
            "kind": "struct",
            "fields": [
                {"name": "first", "type": {"generic": "T"}},
                {"name": "rest", "type": {"array": [{"generic": "T"}, {"generic": "N"}]}},
                {"name": "next", "type": {"option": {"defined": "Pair"}}},
            ],
        },
    },
]
_PAIR = st.fixed_dictionaries({"left": st.integers(0, 255), "right": st.booleans()})


def _integers(bits: int, *, signed: bool) -> st.SearchStrategy[tuple[Any, Any]]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    kind = f"{'i' if signed else 'u'}{bits}"
    values = st.integers(low, high).map(lambda each: each if bits < 64 else str(each))
    return values.map(lambda value: (kind, value))


_plain = st.one_of(
    *(_integers(bits, signed=signed) for bits in (8, 16, 32, 64, 128, 256) for signed in (0, 1)),
    st.booleans().map(lambda value: ("bool", value)),
    st.text(max_size=6).map(lambda value: ("string", value)),
    st.binary(max_size=6).map(lambda value: ("bytes", b64encode(value))),
    _PAIR.map(lambda value: ({"defined": "Pair"}, value)),
    st.one_of(
        st.just("None"),
        st.integers(0, 255).map(lambda value: {"One": [value]}),
        _PAIR.map(lambda value: {"Both": value}),
    ).map(lambda value: ({"defined": {"name": "Choice"}}, value)),
)


def _several(inner: st.SearchStrategy[tuple[Any, Any]]) -> st.SearchStrategy[tuple[Any, Any]]:
    """Options, vectors and arrays of one value, some times over."""
    return st.one_of(
        inner.map(lambda each: ({"option": each[0]}, each[1])),
        inner.map(lambda each: ({"option": each[0]}, None)),
        *(
            st.tuples(inner.filter(lambda each: each[0] != "u8"), st.integers(0, 3)).map(
                lambda each, of=of: (  # type: ignore[misc]
                    {"vec": each[0][0]} if of == "vec" else {"array": [each[0][0], each[1]]},
                    [each[0][1]] * each[1],
                )
            )
            for of in ("vec", "array")
        ),
    )


# A type, and a value of it as a reader returns it.
typed_values = st.recursive(_plain, _several, max_leaves=4)


def packed(kind: Any, value: Any) -> bytes:
    """The value's bytes."""
    match kind:
        case "bool":
            return bytes([value])
        case "string":
            return len(value.encode()).to_bytes(4, "little") + value.encode()
        case "bytes":
            return len(b64decode(value)).to_bytes(4, "little") + b64decode(value)
        case str():
            signed = kind[0] == "i"
            return int(value).to_bytes(int(kind[1:]) // 8, "little", signed=signed)
        case {"option": inner}:
            return b"\0" if value is None else b"\1" + packed(inner, value)
        case {"vec": inner}:
            items = b"".join(packed(inner, each) for each in value)
            return len(value).to_bytes(4, "little") + items
        case {"array": [inner, _]}:
            return b"".join(packed(inner, each) for each in value)
        case {"defined": "Pair"}:
            return bytes([value["left"], value["right"]])
        case _ if value == "None":
            return b"\0"
        case _ if "One" in value:
            return bytes([1, *value["One"]])
    return b"\2" + packed({"defined": "Pair"}, value["Both"])
