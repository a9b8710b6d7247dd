"""The pages of tokens in the portal."""

from django.urls import path

from management import portal_pages

app_name = "tokens"

urlpatterns = [
    path("", portal_pages.tokens, name="tokens"),
    path("<int:pk>/revoke/", portal_pages.revoke, name="revoke"),
]
