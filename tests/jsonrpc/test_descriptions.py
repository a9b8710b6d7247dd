"""Docstrings and annotations, as the reference reads them."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from msgspec import UNSET, Meta, UnsetType

from jsonrpc.descriptions import described, described_fields
from jsonrpc.errors import InvalidParams, RpcError
from jsonrpc.methods import MethodTable
from jsonrpc.openrpc import error_objects, method_object
from jsonrpc.params import U64, Config
from jsonrpc.schemas import Schemas
from jsonrpc.wire import As, Result


class Place(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where. A second sentence.

    slot: the slot, which is
        described in two lines
    from_end: counted from the end
    """

    slot: U64
    from_end: bool | None = None


class NamedPlace(Place, frozen=True, kw_only=True):
    """A place that has a name.

    name: its name
    """

    name: str | None = None


class Answer(Result, frozen=True, kw_only=True):
    """What is there.

    `note: this` is no field of it.

    first_word: one of two
    pair: text and number
    inner: another answer
    extra: only now and then
    raw: anything
    """

    first_word: Literal["a", "b"]
    pair: tuple[str, int]
    inner: "Answer | None"
    extra: int | UnsetType = UNSET
    raw: Annotated[Any, As(list[float])]


methods = MethodTable()


class Strange(InvalidParams):
    """The place is strange.

    More text.
    """

    reason = "strange"


@methods.add("getAnswer", errors=(Strange,))
def get_answer(call: Any, place: NamedPlace, most: U64 = 3) -> Answer:
    """What stands at a place. It is read at once.

    place: where to look
    most: how much
    """
    raise NotImplementedError


def test_a_docstring_is_a_text_and_a_line_for_each_part() -> None:
    docs = described(Place, ["slot", "from_end"])
    assert (docs.summary, docs.text) == ("Where", "Where. A second sentence.")
    assert docs.parts == {
        "slot": "the slot, which is described in two lines",
        "from_end": "counted from the end",
    }
    assert described(Answer, ["pair"]).parts == {"pair": "text and number"}
    assert described(lambda: None, []).text == ""


def test_inherited_fields_are_described_in_their_classes() -> None:
    docs = described_fields(NamedPlace, ["slot", "from_end", "name"])
    assert docs.text == "A place that has a name."
    assert docs.parts.keys() == {"slot", "from_end", "name"}

    class Undescribed(Place, frozen=True, kw_only=True):
        pass

    assert described_fields(Undescribed, ["slot"]).text == ""


def test_params_with_a_default_are_optional_and_null_is_left_out() -> None:
    schemas = Schemas()
    assert schemas.of(Place) == {"$ref": "#/components/schemas/Place"}
    assert schemas.components["Place"] == {
        "type": "object",
        "title": "Place",
        "description": "Where. A second sentence.",
        "properties": {
            "slot": {
                "type": "integer",
                "minimum": 0,
                "maximum": 2**64 - 1,
                "description": "the slot, which is described in two lines",
            },
            "fromEnd": {"type": "boolean", "description": "counted from the end"},
        },
        "required": ["slot"],
        "additionalProperties": False,
    }


def test_results_require_all_but_unset_members() -> None:
    schemas = Schemas()
    schemas.of(Answer)
    docs = schemas.components["Answer"]
    assert docs["required"] == ["firstWord", "pair", "inner", "raw"]
    fields = docs["properties"]
    assert fields["firstWord"]["enum"] == ["a", "b"]
    assert fields["pair"]["prefixItems"] == [{"type": "string"}, {"type": "integer"}]
    reference = {"$ref": "#/components/schemas/Answer"}
    assert fields["inner"]["anyOf"] == [reference, {"type": "null"}]
    assert fields["extra"]["type"] == "integer"
    assert fields["raw"]["items"] == {"type": "number"}


def test_two_classes_of_one_name_are_two_components() -> None:
    @dataclass(frozen=True)
    class Place:
        """Another one.

        here: whether it is here
        """

        here: bool = False

    schemas = Schemas()
    references = {each["$ref"] for each in map(schemas.of, (NamedPlace, Place, globals()["Place"]))}
    assert len(references) == 3 and len(schemas.components) == 3


def test_limits_of_numbers_and_texts_are_described() -> None:
    schemas = Schemas()
    assert schemas.of(Annotated[int, Meta(ge=0, le=9)]) == {
        "type": "integer",
        "minimum": 0,
        "maximum": 9,
    }
    text = schemas.of(Annotated[str, Meta(min_length=1, max_length=5)])
    assert text == {"type": "string", "minLength": 1, "maxLength": 5}
    with pytest.raises(TypeError):
        schemas.of(object())


def test_a_method_is_described_with_its_params_result_and_errors() -> None:
    schemas = Schemas()
    method = methods.get("getAnswer")
    assert method is not None
    docs = method_object(method, schemas)
    assert docs["summary"] == "What stands at a place"
    assert docs["description"] == "What stands at a place. It is read at once."
    assert [(each["name"], each["required"]) for each in docs["params"]] == [
        ("place", True),
        ("most", False),
    ]
    assert docs["params"][1]["description"] == "how much"
    assert docs["result"]["schema"] == {"$ref": "#/components/schemas/Answer"}
    assert docs["errors"] == [
        {"code": -32602, "message": "The place is strange.", "data": {"reasons": ["strange"]}}
    ]


def test_errors_of_one_code_are_one_entry() -> None:
    class Odd(RpcError):
        """Odd."""

        code = -32602
        reason = "odd"

    (entry,) = error_objects([Strange, Odd])
    assert entry["data"]["reasons"] == ["strange", "odd"]
