"""ManagementViewSet: checks, versions, repeats, audit and errors of every call."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, NoReturn

from django.core.exceptions import ObjectDoesNotExist
from django.core.exceptions import ValidationError as ModelInvalid
from django.db import DataError, IntegrityError, transaction
from django.http import Http404
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework import exceptions
from rest_framework.parsers import JSONParser
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from access import windows
from access.callers import Quota
from gateway.endpoint_policy import EndpointPolicy, ErrorFormat
from gateway.exception_handler import exception_handler
from gateway.refusals import ContentTypeUnsupported, NotAllowed, TooManyRequests
from gateway.renderers import JsonRenderer, OneForm
from jsonrpc.errors import RpcError
from jsonrpc.wire import to_camel
from management.actors import Actor
from management.authentication import HasScope, KeyLimit, ManagementKeyAuthentication
from management.errors import (
    ActionImpossible,
    BodyMalformed,
    FieldsInvalid,
    NotFound,
    VersionChanged,
    VersionRequired,
)
from management.filters import Filters
from management.models import ManagementKey
from management.pages import Pages
from management.schema import ManagementSchema
from management.services import repeats
from management.shapes import shape_of
from portal.store import lock_customer
from staff import audit, changes
from staff.changes import between
from staff.errors import ActionRefused

_READS = ("GET", "HEAD")
_LONGEST_NAME = 255
# The name of problems that are of no single field.
_WHOLE = "request"
_OF_THE_WHOLE = ("__all__", "non_field_errors")


class _Json(JSONParser):
    def parse(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().parse(*args, **kwargs)
        except RecursionError:
            raise exceptions.ParseError("nested too deep") from None


class ManagementViewSet(GenericViewSet):  # type: ignore[type-arg]
    """Calls on one resource. A handler of a write changes by one service, records an audit entry
    and returns; it runs in a transaction.
    """

    resource: ClassVar[str]
    # The lookup of the customer's id, by which a customer's token finds its own rows.
    owner: ClassVar[str] = ""
    # Members that change by themselves: no version counts them.
    volatile: ClassVar[frozenset[str]] = frozenset()
    # What a body changes and no response shows: versions count it.
    unshown: ClassVar[tuple[str, ...]] = ()

    authentication_classes = (ManagementKeyAuthentication,)
    permission_classes = (HasScope,)
    throttle_classes = (KeyLimit,)
    parser_classes = (_Json,)
    renderer_classes = (JsonRenderer,)
    content_negotiation_class = OneForm
    pagination_class = Pages
    filter_backends = (DjangoFilterBackend,)
    lookup_value_converter = "int"
    http_method_names = ["get", "head", "post", "patch", "delete"]
    schema = ManagementSchema()

    # Read by gateway.exception_handler.
    policy = EndpointPolicy("", error_format=ErrorFormat.WORD)
    key_id: int | None = None
    refusal: RpcError | None = None

    @property
    def scope(self) -> str:
        """The scope that the call needs."""
        return f"{self.resource}:{'read' if self.request.method in _READS else 'write'}"

    @property
    def actor(self) -> Actor:
        found: Actor = self.request.user  # type: ignore[assignment]
        return found

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {"Cache-Control": "no-store", "X-Request-Id": self.request.request_id}  # type: ignore[attr-defined]

    # --- the way of a request ---

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        self.name = f"management {self.basename}"  # a ViewSet has none of its class
        if request.method not in self.allowed_methods:
            self.http_method_not_allowed(request)
        super().initial(request, *args, **kwargs)
        repeated = [name for name, sent in request.query_params.lists() if len(sent) > 1]
        if repeated:
            raise FieldsInvalid({name[:100]: ["Send it once."] for name in repeated})
        if request.method not in _READS:
            if request.body and request.content_type.partition(";")[0] != "application/json":
                raise ContentTypeUnsupported(request.content_type)
            name = request.method.lower()
            setattr(self, name, partial(self._write, getattr(self, name)))

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotAllowed(request.method or "", ", ".join(self.allowed_methods), preflight=False)

    def _write(
        self, handler: Callable[..., Response], request: Any, *args: Any, **kwargs: Any
    ) -> Response:
        """Runs the handler in a transaction, once for an `Idempotency-Key`."""
        name = request.headers.get("Idempotency-Key", "") if request.method == "POST" else ""
        if len(name) > _LONGEST_NAME or not name.isascii() or not name.isprintable():
            text = f"At most {_LONGEST_NAME} printable ASCII characters."
            raise FieldsInvalid({"Idempotency-Key": [text]})
        key: ManagementKey = request.auth
        with transaction.atomic():
            if name:
                sent = f"{request.get_full_path()}\n".encode() + request.body
                kept = repeats.begin(key.pk, name, sent, now=timezone.now())
                if kept is not None:
                    headers = {**kept.headers, "Idempotency-Replayed": "true"}
                    return Response(kept.body, status=kept.status, headers=headers)
            response = handler(request, *args, **kwargs)
            if name:
                headers = {each: response[each] for each in ("ETag",) if each in response.headers}
                repeats.keep(
                    key.pk, name, repeats.Kept(response.status_code, response.data, headers)
                )
        return response

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        return lambda error, context: exception_handler(refusal_of(error, self), context)

    # --- for handlers ---

    def get_queryset(self) -> Any:
        rows = super().get_queryset()
        customer_id = self.actor.customer_id
        return rows if customer_id is None else rows.filter(**{self.owner: customer_id})

    def get_serializer_context(self) -> dict[str, Any]:
        actor = getattr(self.request, "user", None) if self.request is not None else None
        return {**super().get_serializer_context(), "actor": actor}

    def get_object(self) -> Any:
        """Raises ObjectDoesNotExist."""
        return self.get_queryset().get(pk=self.kwargs["pk"])

    def count(self, what: str, limit: Quota) -> None:
        """Counts what the portal limits too, for a customer's token. Raises TooManyRequests."""
        if self.actor.member is not None:
            whose = f"customer {self.actor.customer_id}"
            taken = windows.take(f"portal-{what}", whose, limit)
            if not taken.allowed:
                raise TooManyRequests(taken, 1)

    def locked(self, pk: int) -> Any:
        """The row, locked until the transaction ends. Raises Http404, VersionRequired for a PATCH
        without `If-Match`, and VersionChanged.
        """
        if self.actor.customer_id is not None:
            # Before the row, as the portal's services do: two orders could deadlock.
            lock_customer(self.actor.customer_id)
        row = self.get_queryset().select_for_update(of=("self",)).filter(pk=pk).first()
        if row is None:
            raise Http404
        wanted = self.request.headers.get("If-Match")
        if wanted is None:
            if self.request.method == "PATCH":
                raise VersionRequired
            return row
        found = self.version_of(row)
        if wanted.strip() != "*" and found not in [each.strip() for each in wanted.split(",")]:
            raise VersionChanged(found, wanted)
        return row

    def given(self, row: Any = None) -> dict[str, Any]:
        """The body by its shape, for a change of the row. Raises DRF's ValidationError."""
        shape = shape_of(self)
        assert shape.body is not None
        return self._read(shape.body, self.request.data, row, partial=shape.partial)

    def asked(self) -> dict[str, Any]:
        """The parameters of the query by its shape. Raises DRF's ValidationError."""
        shape = shape_of(self)
        assert shape.query is not None
        return self._read(shape.query, self.request.query_params)

    def _read(
        self, kind: Any, data: Any, row: Any = None, *, partial: bool = False
    ) -> dict[str, Any]:
        context = self.get_serializer_context()
        serializer = kind(row, data=data, partial=partial, context=context)
        serializer.is_valid(raise_exception=True)
        values: dict[str, Any] = serializer.validated_data
        return values

    def change(self, row: Any, save: Callable[[Any], Any]) -> Response:
        """Changes the row's own fields as the body says, by a service that saves it."""
        given = self.given(row)
        before = {name: getattr(row, name) for name in given}
        for name, value in given.items():
            setattr(row, name, value)
        save(row)
        self.record("changed", row, changes=between(before, row))
        return self.answer(self.get_object())

    def edit(self, pk: int, edit: Callable[..., Any]) -> Response:
        """Changes the row by a service that takes the values of the body."""
        row, given = self.locked(pk), self.given()
        before = {name: getattr(row, name) for name in given}
        changed = edit(pk, **given)
        self.record("changed", changed, changes=between(before, changed))
        return self.answer(changed)

    def remove(self, pk: int, delete: Callable[[Any], Any]) -> Response:
        """Deletes the row by a service."""
        row = self.locked(pk)
        values = changes.of_row(row)
        subject = f"{row._meta.label_lower} {pk}: {row}"
        delete(row)
        self.record("deleted", subject, changes=values)
        return Response(status=204)

    def act(self, verb: str, pk: int, run: Callable[[], Any], **details: Any) -> Response:
        """Runs a service on the row; an entry says so if it changed something."""
        row = self.locked(pk)
        run()
        changed = self.get_object()
        if self.version_of(changed) != self.version_of(row):
            self.record(verb, changed, **details)
        return self.answer(changed)

    def answer(self, row: Any, **more: Any) -> Response:
        """The resource with its version, and what its shape has `more`."""
        shape = shape_of(self)
        kind = shape.answer or self.get_serializer_class()
        row.__dict__.update(more)
        data = kind(row, context=self.get_serializer_context()).data
        return Response(data, status=shape.status, headers={"ETag": self.version_of(row)})

    def version_of(self, row: Any) -> str:
        """A strong ETag of what the resource is, without what changes by itself."""
        data: Mapping[str, Any] = self.get_serializer_class()(
            row, context=self.get_serializer_context()
        ).data
        stable = {name: value for name, value in data.items() if name not in self.volatile}
        stable |= {name: getattr(row, name) for name in self.unshown}
        text = json.dumps(stable, sort_keys=True, default=str)
        # Keyed: what is not shown cannot be guessed from it.
        return f'"{salted_hmac(__name__, text, algorithm="sha256").hexdigest()[:32]}"'

    def record(self, verb: str, subject: Any, **details: Any) -> None:
        """An entry of the audit log on what the actor did."""
        audit.record(self.request, verb, subject, **{"text": "by the management API", **details})


class ResourceViewSet(ManagementViewSet):
    """A resource with a list, and a page of each row. The names are those of the document."""

    singular: ClassVar[str]
    plural: ClassVar[str]

    filterset_class: type[Filters] = Filters

    def list(self, request: Any) -> Response:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def retrieve(self, request: Any, pk: int) -> Response:
        return self.answer(self.get_object())


def refusal_of(error: Exception, view: ManagementViewSet) -> Exception:
    """The typed error of the service for one of DRF's, Django's or a service's."""
    match error:
        case exceptions.ValidationError():
            return FieldsInvalid(_plain(error.detail))
        case ModelInvalid():
            by_field = hasattr(error, "error_dict")
            return FieldsInvalid(_plain(error.message_dict if by_field else error.messages))
        case exceptions.ParseError():
            return BodyMalformed(str(error))
        case exceptions.NotFound() | Http404() | ObjectDoesNotExist():
            return NotFound()
        case ActionRefused():
            return ActionImpossible(str(error))
        case IntegrityError():  # of two requests at once, the later one
            return ActionImpossible("it conflicts with what was stored meanwhile, or is in use")
        case DataError() | OverflowError():
            return FieldsInvalid({_WHOLE: ["A value is out of its range."]})
        case _:
            return error


def _plain(detail: Any) -> dict[str, Any]:
    """The problems of each field, by its name on the wire."""
    if not isinstance(detail, dict):
        return {_WHOLE: _texts(detail)}
    return _texts(detail)  # type: ignore[no-any-return]


def _texts(detail: Any) -> Any:
    if isinstance(detail, dict):
        return {
            _WHOLE if name in _OF_THE_WHOLE else to_camel(str(name)): _texts(each)
            for name, each in detail.items()
        }
    if isinstance(detail, list | tuple):
        return [_texts(each) for each in detail]
    # It may quote what was sent.
    return str(detail).encode("utf-8", "replace").decode()
