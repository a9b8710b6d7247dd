"""Bases of the serializers: camelCase on the wire, and no unknown members in a body."""

from typing import Any, ClassVar

from rest_framework import serializers

from access.models import Customer
from chain.units import I64_MAX
from jsonrpc.wire import to_camel


class Camel(serializers.Serializer):  # type: ignore[type-arg]
    """snake_case in code, camelCase on the wire. `for_staff` are fields that only root keys see
    and send, `for_customers` those of tokens alone.
    """

    for_staff: ClassVar[tuple[str, ...]] = ()
    for_customers: ClassVar[tuple[str, ...]] = ()

    def get_fields(self) -> dict[str, serializers.Field]:  # type: ignore[type-arg]
        actor = self.context.get("actor")
        hidden: tuple[str, ...] = ()
        if actor is not None:
            hidden = self.for_staff if actor.member is not None else self.for_customers
        found = {}
        for name, field in super().get_fields().items():
            if name in hidden:
                continue
            wire = to_camel(name)
            if isinstance(field, serializers.SerializerMethodField):
                field.method_name = field.method_name or f"get_{name}"
            elif wire != name and field.source is None:
                field.source = name
            found[wire] = field
        return found


class Resource(Camel, serializers.ModelSerializer):  # type: ignore[type-arg]
    """A row as responses have it."""

    def get_extra_kwargs(self) -> dict[str, Any]:
        return {name: {"read_only": True} for name in self.Meta.fields}


class Body(Camel):
    """What a request sends. A member that is none of the fields is refused, not ignored: it would
    be a misspelled one.
    """

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = [str(name)[:100] for name in data if name not in self.fields]
            if unknown:
                raise serializers.ValidationError({name: ["Unknown field."] for name in unknown})
        return super().to_internal_value(data)


class RowField(serializers.PrimaryKeyRelatedField):  # type: ignore[type-arg]
    """A row by its id, which is an integer: Django would find row 7 by 7.9."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            pk_field=serializers.IntegerField(min_value=1, max_value=I64_MAX), **kwargs
        )


class OfCustomer(Body):
    """What is made for a customer, whom a root key has to name; a token is of one."""

    for_staff: ClassVar[tuple[str, ...]] = ("customer",)
    required_of_staff: ClassVar[tuple[str, ...]] = ("customer",)

    customer: Any = RowField(queryset=Customer.objects.all(), required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if self.context["actor"].member is None:
            missing = [name for name in self.required_of_staff if name not in attrs]
            if missing:
                raise serializers.ValidationError(
                    {name: ["This field is required."] for name in missing}
                )
        return attrs
