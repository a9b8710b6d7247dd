"""Path → operation and its terms."""

from django.urls import path

from gateway.hosts import LANDING
from gateway.reading import get_endpoint
from gateway.terms import Face, Terms
from tipping import views

_TERMS = Terms("priority", LANDING, face=Face.WORD)

urlpatterns = [
    path("priority/tipinfo", get_endpoint("tipinfo", views.tip_info, _TERMS)),
    path(
        "priority/fetchtipaddress",
        get_endpoint("fetchtipaddress", views.fetch_tip_address, _TERMS),
    ),
    path("priority/tipaddress/<str:pubkey>", get_endpoint("tipaddress", views.tip_address, _TERMS)),
]
