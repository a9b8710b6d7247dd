"""Tokens of customers: the page of the portal that makes and revokes them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone

from access import secret_cookies
from access.services import parked_secrets
from management import store
from management.scopes import scopes_of
from management.services import management_keys
from portal.forms.keys import RestrictedForm
from portal.models import Member
from portal.views.keys import ISSUES
from portal.views.pages import action_of_developers, attempt, carry_out, count, for_developers, page
from staff import audit
from staff.formatting import ago


class TokenForm(RestrictedForm):
    """A new token."""

    name = forms.CharField(max_length=100, help_text="What the token is for; no secret")
    scopes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        help_text="What programs may do with it; a write scope includes reading",
    )
    field_order = ("name", "scopes", "networks", "expires_at")

    def __init__(self, *args: Any, scopes: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered: Any = self.fields["scopes"]
        offered.choices = [(scope, scope) for scope in scopes]


@for_developers
def tokens(request: HttpRequest, member: Member) -> HttpResponse:
    """The tokens, and the form of a new one, whose secret is shown once."""
    form = TokenForm(request.POST or None, scopes=scopes_of(member.role))
    if request.method == "POST" and form.is_valid():
        count(request, "issue", f"customer {member.customer_id}", ISSUES)
        with attempt(request, form) as attempted:
            issued = management_keys.issue(
                **form.cleaned_data,
                member=member,
                created_by=str(member),
                now=timezone.now(),
            )
            audit.record(request, "issued", issued.key, text="in the portal")
            # In one transaction with the parking, so that no secret is lost.
            parked = parked_secrets.park([issued], owner=str(request.user.pk))
        if attempted.done:
            return secret_cookies.lead_to(reverse("tokens:tokens"), parked)
    now = timezone.now()
    rows = [
        {
            "row": each,
            "scopes": ", ".join(each.scopes),
            "networks": ", ".join(each.networks) or "any address",
            "used": ago(each.last_used_at, now),
            "expires": ago(each.expires_at, now),
        }
        for each in store.tokens_managed_by(member)
    ]
    secrets = secret_cookies.taken(request)
    context = {"rows": rows, "form": form, "secret": secrets[0].secret if secrets else ""}
    return secret_cookies.forget(request, page(request, "portal/tokens.html", context))


@action_of_developers
def revoke(request: HttpRequest, member: Member, pk: int) -> HttpResponse:
    found = get_object_or_404(store.tokens_managed_by(member), pk=pk)
    run = partial(management_keys.revoke, pk, now=timezone.now())
    carry_out(request, found, "revoked", run, said=f"{found} is revoked")
    return HttpResponseRedirect(reverse("tokens:tokens"))
