"""Every action of the admin has its call of the management API, or a reason why it has none."""

from typing import Any

import pytest
from django.test import RequestFactory

from tests.management.test_permissions import CALLS

# By the admin's model: its action → the call.
GAPS = {"try_again_now": "retry", "give_up": "give-up"}
TABLE = {
    "access.ApiKey": {
        "add": "POST keys",
        "change": "PATCH keys/1",
        **{f"{each}_keys": f"POST keys/1/{each}" for each in ("rotate", "suspend", "resume")},
        **{each: f"POST keys/1/{each}" for each in ("rotate", "suspend", "resume", "revoke")},
        "revoke_keys": "POST keys/1/revoke",
        "end_overlap": "POST keys/1/overlap/end",
        "extend_overlap": "POST keys/1/overlap/extend",
        "compare_keys": "GET usage",
    },
    "access.Customer": {
        "add": "POST customers",
        "change": "PATCH customers/1",
        "delete": "DELETE customers/1",
    },
    "access.Tier": {"add": "POST tiers", "change": "PATCH tiers/1", "delete": "DELETE tiers/1"},
    "alerts.Delivery": {"deliver_again": "POST deliveries/1/redeliver"},
    "alerts.Webhook": {
        "add": "POST webhooks",
        "change": "PATCH webhooks/1",
        "delete": "DELETE webhooks/1",
        "secret": "POST webhooks/1/rotate",  # programs get a secret once, when it is made
        **{each: f"POST webhooks/1/{each}" for each in ("test", "rotate", "enable", "disable")},
    },
    "historical.Gap": {name: f"POST gaps/ledger/1/{path}" for name, path in GAPS.items()},
    "rewind.Gap": {name: f"POST gaps/archive/1/{path}" for name, path in GAPS.items()},
    "operations.Alarm": {"acknowledge": "POST alarms/1/acknowledge"},
    "portal.Member": {
        "add": "POST members",
        "change": "PATCH members/1",
        "delete": "DELETE members/1",
        "invite_again": "POST members/1/invite",
        "new_link": "POST members/1/password-link",
        "deactivate": "POST members/1/deactivate",
        "activate": "POST members/1/activate",
        "reset_second_factor": "POST members/1/second-factor/reset",
        "sign_out": "POST members/1/sign-out",
        "unbind_provider": "POST members/1/provider/unbind",
    },
    "priority.Upstream": {
        "add": "POST upstreams",
        "change": "PATCH upstreams/1",
        "delete": "DELETE upstreams/1",
        **{each: f"POST upstreams/1/{each}" for each in ("enable", "drain", "disable")},
        "reset_breaker": "POST upstreams/1/breaker/reset",
    },
    "tipping.TipBatch": {"sweep_now": "POST tip-batches/1/sweep"},
    "tipping.TtlClass": {
        "add": "POST ttl-classes",
        "change": "PATCH ttl-classes/1",
        "delete": "DELETE ttl-classes/1",
        **{each: f"POST ttl-classes/1/{each}" for each in ("rotate", "prepare", "sweep")},
    },
}
# The models whose actions have none.
WITHOUT = {
    "auth.User": "who may use the admin is for its administrators alone to decide",
    "management.ManagementKey": "a key does not make or revoke keys of its own kind",
    "ingest.RangeOrder": "orders over slots: `verify_range`, `reingest`, `locate_refuted` as well",
    "rewind.Divergence": "findings of the replay audit are for people to judge",
    "rewind.FilteredPubkey": "what the archive leaves out cannot be had again: people confirm it",
    "rewind.Owner": "as above",
    "rewind.ProgramBuild": "builds and IDLs are files, with a preview of what they decode",
    "rewind.ProgramIdl": "as above",
    "rewind.Replay": "replays and jobs are calls of /rewind",
    "rewind.SimulationJob": "as above",
}


def actions(model: Any, shown: Any, request: Any) -> set[str]:
    """What the admin lets an administrator do with the model, by the names in its code."""
    found = {each.name for each in getattr(shown, "admin_actions", ())}
    found |= {each if isinstance(each, str) else each.__name__ for each in shown.actions or ()}
    found |= set(getattr(shown, "row_buttons", {}).values())
    return found | {
        verb
        for verb in ("add", "change", "delete")
        if getattr(shown, f"has_{verb}_permission")(request)
    }


@pytest.mark.django_db
def test_every_action_of_the_admin_has_its_call(admin_user: Any) -> None:
    from django.contrib import admin

    import config.urls  # noqa: F401  (registers them)

    request = RequestFactory().get("/admin/")
    request.user = admin_user
    served = {f"{method} {path}" for method, path, _view in CALLS}
    missing, found = [], set()
    for model, shown in admin.site._registry.items():
        label = model._meta.label
        does = actions(model, shown, request)
        if not does:
            continue
        found.add(label)
        calls = TABLE.get(label, {})
        if label not in WITHOUT:
            missing += [f"{label}: {each}" for each in sorted(does ^ calls.keys())]
        missing += [f"{label}: {call}" for call in calls.values() if call not in served]
    assert not missing, "no call, or no such action: " + ", ".join(missing)
    assert found == TABLE.keys() | WITHOUT.keys() and not TABLE.keys() & WITHOUT.keys()
