"""Path → view and its endpoint policy."""

from django.urls import path

from gateway.hosts import LANDING
from gateway.terms import Face, Terms
from tipping import views

_TERMS = Terms("priority", LANDING, face=Face.WORD)

urlpatterns = [
    path("priority/tipinfo", views.TipInfoView.as_view(terms=_TERMS)),
    path("priority/fetchtipaddress", views.FetchTipAddress.as_view(terms=_TERMS)),
    path("priority/tipaddress/<str:pubkey>", views.TipAddress.as_view(terms=_TERMS)),
]
