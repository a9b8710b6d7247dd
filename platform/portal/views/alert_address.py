"""Where a customer's alerts are mailed: the owner's request, and the link that confirms it."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from access.callers import Quota
from gateway.sign_in import limited_sign_in
from portal.errors import LinkSpent
from portal.forms.webhooks import AlertAddressForm
from portal.models import Member
from portal.services import alert_mails, post
from portal.views.pages import action_of_owners, count, page
from staff import audit

# Each sends a mail to an address that a user entered.
_REQUESTS = Quota(rate=10 / 3600, burst=10)


@action_of_owners
def request_address(request: HttpRequest, member: Member) -> HttpResponse:
    """Mails a link to the new address, which is used once the link was opened."""
    form = AlertAddressForm(request.POST)
    if not form.is_valid():
        messages.error(request, str(form.errors["email"][0]))
        return _back()
    address = form.cleaned_data["email"]
    if address == member.customer.email:
        messages.info(request, f"Alerts go to {address} already")
        return _back()
    count(request, "alert-address", f"customer {member.customer_id}", _REQUESTS)
    if not post.post_alert_address(member, address):
        messages.error(request, "No mail can be sent now. Try again in a few minutes")
        return _back()
    text = f"asked for mails of alerts to {address}"
    audit.record(request, "requested an address", member.customer, text=text)
    said = f"A link is being mailed to {address}: alerts go there once it was opened and confirmed"
    messages.success(request, said)
    return _back()


@action_of_owners
def use_members(request: HttpRequest, member: Member) -> HttpResponse:
    """Alerts go to the members' own addresses again."""
    with transaction.atomic():
        before = alert_mails.use_members(member.customer_id)
        if before:
            _record(request, member, before, "", "in the portal")
    messages.success(request, "Alerts go to the members' own addresses")
    return _back()


@never_cache
@limited_sign_in
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest, token: str) -> HttpResponse:
    """The page of the link: its reader confirms the address, without signing in. A button, because
    scanners of mails open links.
    """
    try:
        member, address = alert_mails.requested(token)
        if request.method == "POST":
            with transaction.atomic():
                member, before, address = alert_mails.confirm(token)
                _record(request, member, before, address, "confirmed by a mailed link")
    except LinkSpent as refusal:
        context = {"refusal": refusal, "of_address": True}
        return page(request, "portal/link_spent.html", context, status=410)
    context = {"asker": member, "address": address, "is_done": request.method == "POST"}
    return page(request, "portal/confirm_address.html", context)


def _record(request: HttpRequest, member: Member, before: str, after: str, text: str) -> None:
    changes = {"email": [before, after]}
    customer = member.customer
    audit.record(request, "changed", customer, text=text, changes=changes, by=member.user)


def _back() -> HttpResponse:
    return HttpResponseRedirect(reverse("portal:webhooks"))
