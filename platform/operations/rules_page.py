"""The admin's page of all rules of alarms, and docs/alarms.md, both from the rules themselves."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.text import slugify

from alerts.store import enabled_webhooks
from operations import mail_button
from operations.home.cards import link_to
from operations.home.problems import page_to_act
from operations.mail_button import TEST_MAIL
from operations.readings.present import MOMENT_SECONDS
from operations.rules.rule import Rule
from operations.rules.table import RULES
from staff import outgoing_mail
from staff.own_pages import OwnPage

_OPENED = "alarm.opened"
_HEAD = f"""# Alarms

`manage.py alarm_catalogue` makes this page from the rules. Each rule is checked every
{MOMENT_SECONDS} seconds, and rules on processes every second. An alarm opens once its condition has
been met for its time, and closes automatically. When it opens and when it closes, it is sent to
every address of `STAFF_MAIL` and to the staff's *Webhooks* that have `{_OPENED}` among their
events. Home and `/metrics` (`tidemark_alarms_open`) show the open alarms. Customers are not
notified. *Rules* above the list of alarms in the admin shows the same with links, and who is
notified now. How to act is described in
[Operators](operators.md#alarms-and-notifications).
"""


def docs_page() -> str:
    """docs/alarms.md."""
    return _HEAD + "".join(
        f"\n## {rule.title}\n\n`{rule.name}`, {rule.severity}. {rule.meaning}\n\n"
        f"- *Begins*: {rule.when}\n- *What to do*: {rule.advice}\n{_runbook(rule)}"
        for rule in RULES
    )


def _runbook(rule: Rule) -> str:
    if not rule.runbook:
        return ""
    return f"- *Runbook*: [{rule.runbook}](operators.md#{slugify(rule.runbook)})\n"


def rules_page(admin: Any, request: HttpRequest) -> HttpResponse:
    """Every rule, and who is notified."""
    webhooks = [each for each in enabled_webhooks([]) if not each.kinds or _OPENED in each.kinds]
    context = {
        "title": "Rules",
        "rules": [{"rule": rule, "page": page_to_act(request, rule.name, "")} for rule in RULES],
        "seconds": MOMENT_SECONDS,
        "mails": settings.STAFF_MAIL,
        "sends_mails": outgoing_mail.is_sent(),
        "test_mail": _test_mail(request),
        "webhooks": webhooks,
        "webhooks_link": link_to(request, "alerts_webhook_changelist", "alerts.view_webhook"),
    }
    page: HttpResponse = admin.page(request, "admin/operations/rules.html", context)
    return page


def _test_mail(request: HttpRequest) -> dict[str, Any] | None:
    """The button to send one; None for who may not."""
    if not request.user.has_perm(TEST_MAIL.permission):
        return None
    return {
        "to": ", ".join(mail_button.recipients(request)),
        "why_not": mail_button.why_not(request),
    }


RULES_PAGE = OwnPage("rules/", "operations_rules", rules_page)
