"""Path → endpoint and its terms."""

from django.urls import path

from gateway.endpoint import RpcEndpoint, Terms
from gateway.hosts import ARCHIVE
from rewind.methods import methods

urlpatterns = [
    path("rewind", RpcEndpoint.as_view(methods=methods, terms=Terms("rewind", ARCHIVE))),
]
