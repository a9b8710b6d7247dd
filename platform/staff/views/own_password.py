"""Changing one's own password."""

from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.views.decorators.debug import sensitive_post_parameters

from staff import audit


@sensitive_post_parameters()
def change_password(request: HttpRequest) -> HttpResponse:
    """Django's page, with an entry in the audit log. Every other session of the person ends."""
    with transaction.atomic():
        response = admin.site.password_change(request)
        if request.method == "POST" and response.status_code == 302:
            audit.record(request, "changed the password", request.user)
    return response
