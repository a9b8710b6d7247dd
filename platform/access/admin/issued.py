"""The page that shows new secrets, once."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from access import secret_cookies
from access.first_calls import first_calls
from access.models import ApiKey


def lead_to(token: str) -> HttpResponse:
    return secret_cookies.lead_to(reverse("admin:access_apikey_issued"), token)


def page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    secrets = secret_cookies.taken(request)
    found = ApiKey.objects.select_related("customer", "tier", "rotated_from").in_bulk(
        [shown.key_id for shown in secrets]
    )
    base = f"{request.scheme}://{request.get_host()}"
    context = {
        "title": "New API key" if len(secrets) < 2 else "New API keys",
        "shown": [
            (found.get(shown.key_id), shown.secret, first_calls(base, shown.secret))
            for shown in secrets
        ],
    }
    response = model_admin.page(request, "admin/access/apikey/issued.html", context)
    return secret_cookies.forget(request, response)
