"""IDLs of Codama, which the program metadata program has of many programs, as Anchor would have
them. Raises BadIdl for types that are not Borsh's.
"""

from collections.abc import Iterable
from typing import Any

from chain.encodings import b58decode, b64decode
from chain.idl.types import BadIdl

Node = dict[str, Any]
_NUMBERS = {f"{sign}{bits}" for sign in "ui" for bits in (8, 16, 32, 64, 128)} | {"f32", "f64"}
_DEEPEST = 32


def is_codama(document: Any) -> bool:
    return isinstance(document, dict) and document.get("kind") == "rootNode"


def as_anchor(root: Node) -> Node:
    """The members that `read_idl` reads. Whatever the document has, it raises BadIdl alone."""
    try:
        program = root["program"]
        return {
            "address": program["publicKey"],
            "metadata": {"name": program["name"], "version": program.get("version")},
            "instructions": [
                found
                for each in program.get("instructions") or ()
                if (found := _instruction(each)) is not None
            ],
            "accounts": [
                found
                for each in program.get("accounts") or ()
                if (found := _account(each)) is not None
            ],
            "types": [
                {"name": each["name"], "type": _definition(each["type"])}
                for each in program.get("definedTypes") or ()
            ],
            "errors": [
                {"code": each["code"], "name": each["name"], "msg": each.get("message")}
                for each in program.get("errors") or ()
            ],
        }
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise BadIdl(f"its Codama nodes are not complete: {error}") from None


def _instruction(node: Node) -> Node | None:
    """None for an instruction with another discriminator than its first arguments."""
    discriminator, arguments = _tagged(node, node.get("arguments") or ())
    if not discriminator:
        return None
    return {
        "name": node["name"],
        "discriminator": [*discriminator],
        "args": arguments,
        "accounts": [{"name": each["name"]} for each in node.get("accounts") or ()],
    }


def _account(node: Node) -> Node | None:
    """None for an account with another discriminator than its first members."""
    try:
        discriminator, members = _tagged(node, node["data"].get("fields") or ())
    except (BadIdl, KeyError):  # its instructions are readable all the same
        return None
    if not discriminator:
        return None
    return {
        "name": node["name"],
        "discriminator": [*discriminator],
        "type": {"kind": "struct", "fields": members},
    }


def _tagged(node: Node, members: Iterable[Node]) -> tuple[bytes, list[Node]]:
    """Discriminating members come first, and have values of their own; then the others follow."""
    known = {
        each["name"]: each.get("offset", 0)
        for each in node.get("discriminators") or ()
        if each["kind"] == "fieldDiscriminatorNode"
    }
    discriminator = b""
    others: list[Node] = []
    for each in members:
        if each["name"] in known and known[each["name"]] == len(discriminator) and not others:
            discriminator += _constant(each["type"], each["defaultValue"])
        else:
            others.append({"name": each["name"], "type": _type(each["type"], 0)})
    return discriminator, others


def _constant(kind: Node, value: Node) -> bytes:
    match value:
        case {"kind": "numberValueNode", "number": int(number)}:
            return number.to_bytes(int(_number(kind)[1:]) // 8, "little", signed=number < 0)
        case {"kind": "bytesValueNode", "data": str(text), "encoding": "base16"}:
            return bytes.fromhex(text)
        case {"kind": "bytesValueNode", "data": str(text), "encoding": "base58"}:
            return b58decode(text)
        case {"kind": "bytesValueNode", "data": str(text), "encoding": "base64"}:
            return b64decode(text)
        case {"kind": "bytesValueNode", "data": str(text), "encoding": "utf8"}:
            return text.encode()
    raise BadIdl("unknown value of a discriminator")


def _definition(node: Node) -> Node:
    if node["kind"] == "structTypeNode":
        return {"kind": "struct", "fields": _fields(node, 0)}
    if node["kind"] == "enumTypeNode":
        if _number(node.get("size") or {"kind": "numberTypeNode", "format": "u8"}) != "u8":
            raise BadIdl("an enum whose variant is not one byte")
        return {"kind": "enum", "variants": [_variant(each) for each in node["variants"]]}
    return {"kind": "type", "alias": _type(node, 0)}


def _variant(node: Node) -> Node:
    match node:
        case {"kind": "enumStructVariantTypeNode", "struct": struct}:
            return {"name": node["name"], "fields": _fields(struct, 0)}
        case {"kind": "enumTupleVariantTypeNode", "tuple": {"items": items}}:
            return {"name": node["name"], "fields": [_type(each, 0) for each in items]}
    return {"name": node["name"]}


def _fields(node: Node, depth: int) -> list[Node]:
    return [{"name": each["name"], "type": _type(each["type"], depth)} for each in node["fields"]]


def _type(node: Node, depth: int) -> Any:
    if depth > _DEEPEST:
        raise BadIdl("its types are nested too deep")
    depth += 1
    match node:
        case {"kind": "numberTypeNode"} if _number(node):
            return _number(node)
        case {"kind": "amountTypeNode" | "solAmountTypeNode" | "dateTimeTypeNode", "number": inner}:
            return _type(inner, depth)
        case {"kind": "booleanTypeNode", "size": size} if _number(size) == "u8":
            return "bool"
        case {"kind": "publicKeyTypeNode"}:
            return "pubkey"
        case {"kind": "definedTypeLinkNode", "name": name}:
            return {"defined": name}
        case {"kind": "structTypeNode"}:
            return {"struct": _fields(node, depth)}
        case {"kind": "tupleTypeNode", "items": items}:
            return {"tuple": [_type(each, depth) for each in items]}
        case {"kind": "sizePrefixTypeNode", "prefix": prefix, "type": inner}:
            if _number(prefix) == "u32" and inner["kind"] in ("stringTypeNode", "bytesTypeNode"):
                return "string" if inner["kind"] == "stringTypeNode" else "bytes"
        case {"kind": "fixedSizeTypeNode", "size": int(size), "type": {"kind": "bytesTypeNode"}}:
            return {"array": ["u8", size]}
        case {"kind": "optionTypeNode", "prefix": prefix, "item": item}:
            if (_number(prefix), bool(node.get("fixed"))) == ("u8", False):
                return {"option": _type(item, depth)}
            if (_number(prefix), bool(node.get("fixed"))) == ("u32", True):
                return {"coption": _type(item, depth)}
        case {"kind": "arrayTypeNode", "item": item, "count": {"kind": "fixedCountNode", **count}}:
            return {"array": [_type(item, depth), count["value"]]}
        case {"kind": "arrayTypeNode", "item": item, "count": {"prefix": prefix}}:
            if _number(prefix) == "u32":
                return {"vec": _type(item, depth)}
    # Read as far as it goes: what is behind it is unreadable.
    return {"unreadable": str(node["kind"])}


def _number(node: Node) -> str:
    """The format of a plain number; empty for any other."""
    known = node.get("kind") == "numberTypeNode" and node.get("endian", "le") == "le"
    return node["format"] if known and node["format"] in _NUMBERS else ""
