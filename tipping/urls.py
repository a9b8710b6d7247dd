"""Path → view and its endpoint policy."""

from django.urls import path

from gateway.endpoint_policy import EndpointPolicy, ErrorFormat
from gateway.hosts import LANDING
from tipping import views

_POLICY = EndpointPolicy("priority", LANDING, error_format=ErrorFormat.WORD)

urlpatterns = [
    path("priority/tipinfo", views.TipInfoView.as_view(policy=_POLICY)),
    path("priority/fetchtipaddress", views.FetchTipAddress.as_view(policy=_POLICY)),
    path("priority/tipaddress/<str:pubkey>", views.TipAddress.as_view(policy=_POLICY)),
]
