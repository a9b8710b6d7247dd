"""Rows of an installation in use, in the states in which something can be done to them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone
from solders.pubkey import Pubkey

from tests.staff.admin_walk import rows

# What only those see who may change it: rows have these in addresses.
HOOK, NODE = "secret-of-the-receiver", "secret-of-the-node"
_URL = f"https://hooks.example.org/{HOOK}"


def fill(
    issue: Callable[..., Any], tier: Callable[..., Any], person: Callable[..., Any]
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """The address of each model's list → the key of a row. The second and the third have other
    states of some.
    """
    from access.models import Customer
    from access.services import keys
    from alerts.models import Delivery, Event
    from alerts.services import rules, webhooks
    from operations.models import Alarm
    from portal.services import members
    from priority.upstreams.models import Upstream
    from rewind.models import ArchiveState

    now = timezone.now()
    ArchiveState.objects.get_or_create(pk=1)
    working, suspended, rotated = issue().key, issue().key, issue().key
    keys.suspend_key(suspended.pk, now=now)
    keys.rotate_key(rotated.pk, overlap=timedelta(days=1), now=now)
    customer = working.customer
    owner = members.invite(customer, email="owner@ada.example", role="owner")
    members.choose_password(owner.user, "high-water-at-seven")
    reader = members.invite(customer, email="reader@ada.example", role="reader")
    former = person("viewer", "former")
    for user in (reader.user, former):
        user.is_active = False
        user.save()
    posting = webhooks.create(None, name="pager", url=_URL)
    stopped = webhooks.create(customer.pk, name="stopped", url=_URL)
    webhooks.disable(stopped.pk)
    rule = rules.create(
        customer.pk, name="fates", trigger="submission", condition={}, mails=True, now=now
    )
    event = Event.objects.create(
        kind="key.expiring", customer=customer, about="a key", text="soon", at=now
    )
    failed = Delivery.objects.create(event=event, webhook=posting, due_at=now, state="failed")
    alarm = Alarm.objects.create(
        **{"name": "no_upstream", "severity": "critical", "text": "None.", "began_at": now},
        opened_at=now,
    )
    url = f"https://node.example.org/{NODE}"
    node = Upstream.objects.create(name="our-node", kind="node", url=url, weight=50)
    broken = Upstream.objects.create(
        **{"name": "broken", "kind": "node", "url": url, "is_enabled": False},
        broken_until=now + timedelta(hours=1),
        broken_reason="gone",
    )
    chosen: dict[str, tuple[Any, ...]] = {
        "access/apikey": (working, suspended, rotated),
        "access/customer": (customer, Customer.objects.create(name="Nobody's")),
        "access/tier": (working.tier, tier("unused", 70)),
        "portal/member": (owner, reader),
        "alerts/webhook": (posting, stopped),
        "alerts/rule": (rule,),
        "alerts/delivery": (failed,),
        "alerts/event": (event,),
        "operations/alarm": (alarm,),
        "priority/upstream": (node, broken),
        "auth/user": (person("administrator", "grace"), former),
    }
    first, second, third = (
        {f"/admin/{name}/": str(each[at].pk) for name, each in chosen.items() if len(each) > at}
        for at in range(3)
    )
    return rows() | first, second, third


def typed() -> dict[str, dict[str, str]]:
    """What a person would type into the forms of a model, by the address of its list."""
    from access.models import Customer

    customer = str(Customer.objects.get(name="Nobody's").pk)
    return {
        f"/admin/{name}/": fields
        for name, fields in {
            "access/apikey": {"customer": customer, "name": "another"},
            "access/customer": {"name": "Another", "notes": "new"},
            "access/tier": {"name": "another", "rank": "90", "simulation_jobs": "3"},
            "alerts/webhook": {"name": "another", "url": "https://example.com/hook"},
            "auth/user": {"username": "another", "role": "viewer"},
            "ingest/rangeorder": {"first_slot": "5", "last_slot": "9"},
            "management/managementkey": {"name": "robot", "scopes": "keys:read"},
            "portal/member": {"customer": customer, "email": "c@d.example", "role": "reader"},
            "priority/upstream": {"name": "another", "kind": "node", "weight": "7"},
            "rewind/filteredpubkey": {"key": str(Pubkey([7] * 32)), "confirmed": "1"},
            "rewind/owner": {"key": str(Pubkey([8] * 32)), "confirmed": "1"},
            "tipping/ttlclass": {
                "ttl_seconds": "7200",
                "window_seconds": "60",
                "batch_size": "64",
            },
        }.items()
    }
