"""Customers."""

from typing import Any, ClassVar

from django_filters import rest_framework as filters
from rest_framework import serializers
from rest_framework.response import Response

from access.models import Customer
from access.services import customer_edits
from management.filters import Filters
from management.serializers import Body, Resource
from management.shapes import shape
from management.views.base import ResourceViewSet


class CustomerSerializer(Resource):
    """A holder of API keys."""

    for_staff: ClassVar[tuple[str, ...]] = ("notes",)

    email = serializers.CharField(help_text="may be empty")

    class Meta:
        model = Customer
        fields = ("id", "name", "email", "alert_mails", "notes", "created_at")


class CustomerBody(Body, serializers.ModelSerializer):  # type: ignore[type-arg]
    """A customer to add, or what to change of one."""

    class Meta:
        model = Customer
        fields = ("name", "email", "alert_mails", "notes")


class CustomerFilter(Filters):
    """Which customers to list."""

    name = filters.CharFilter(lookup_expr="icontains")
    email = filters.CharFilter(lookup_expr="iexact")


class Customers(ResourceViewSet):
    resource = "customers"
    singular, plural = "a customer", "customers"
    owner = "pk"
    queryset = Customer.objects.all()
    serializer_class = CustomerSerializer
    filterset_class = CustomerFilter

    @shape(body=CustomerBody, status=201)
    def create(self, request: Any) -> Response:
        """Adds a customer."""
        customer = Customer(**self.given())
        customer_edits.save_customer(customer)
        self.record("added", customer)
        return self.answer(customer)

    @shape(body=CustomerBody, partial=True)
    def partial_update(self, request: Any, pk: int) -> Response:
        """Changes a customer."""
        return self.change(self.locked(pk), customer_edits.save_customer)

    @shape(status=204)
    def destroy(self, request: Any, pk: int) -> Response:
        """Deletes a customer who never had a key: usage is kept."""
        return self.remove(pk, customer_edits.delete_customer)
