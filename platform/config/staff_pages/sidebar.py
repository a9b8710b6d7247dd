"""The admin's sidebar: links to the pages that the user may see, under their headings."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse


@dataclass(frozen=True, slots=True)
class Link:
    """One page: its URL's name in the admin, and the permission that shows it."""

    title: str
    url: str
    icon: str
    permission: str


def _list(title: str, app: str, model: str, icon: str) -> Link:
    return Link(title, f"{app}_{model}_changelist", icon, f"{app}.view_{model}")


_GROUPS: tuple[tuple[str, tuple[Link, ...]], ...] = (
    (
        "Chain",
        (
            _list("Coverage", "rewind", "slottally", "view_timeline"),
            _list("Gaps of the archive", "rewind", "gap", "broken_image"),
            _list("Gaps of the ledger", "historical", "gap", "broken_image"),
            _list("Range orders", "ingest", "rangeorder", "published_with_changes"),
            _list("Replay audit", "rewind", "auditedday", "fact_check"),
            _list("Divergences", "rewind", "divergence", "difference"),
            _list("Replays", "rewind", "replay", "replay"),
            _list("Blocks", "historical", "block", "deployed_code"),
            _list("Archived slots", "rewind", "archivedslot", "inventory_2"),
            _list("Damage of the archive", "rewind", "sealeddamage", "healing"),
            _list("Damage of the ledger", "historical", "ledgerdamage", "healing"),
            _list("Sealed segments", "rewind", "sealedsegment", "compress"),
            _list("Sealed ledger", "historical", "sealedrange", "compress"),
            Link(
                "Account history", "rewind_account_history", "history", "rewind.view_accountchange"
            ),
            Link("Sizing", "operations_sizing", "straighten", "rewind.view_sealedsegment"),
            _list("Imports", "historical", "import", "file_open"),
            _list("Proof of slots", "rewind", "proofrun", "verified"),
            _list("Baselines", "rewind", "baseline", "photo_camera"),
            _list("Program builds", "rewind", "programbuild", "memory"),
            _list("IDLs", "rewind", "programidl", "data_object"),
            _list("Filtered owners", "rewind", "owner", "filter_alt"),
            _list("Filtered accounts", "rewind", "filteredpubkey", "filter_list"),
            _list("Simulation jobs", "rewind", "simulationjob", "science"),
        ),
    ),
    (
        "Landing",
        (
            Link("Overview", "priority_landing", "monitoring", "priority.view_submission"),
            _list("Submissions", "priority", "submission", "send"),
            _list("Bundles", "priority", "bundle", "package_2"),
            _list("Upstreams", "priority", "upstream", "alt_route"),
        ),
    ),
    (
        "Tips",
        (
            _list("TTL classes", "tipping", "ttlclass", "timelapse"),
            _list("Batches", "tipping", "tipbatch", "stacks"),
            _list("Addresses", "tipping", "tipaddress", "alternate_email"),
            _list("Tip ledger", "tipping", "tipentry", "receipt_long"),
            _list("Sweeps", "tipping", "tipsweep", "savings"),
        ),
    ),
    (
        "Customers",
        (
            _list("Customers", "access", "customer", "group"),
            _list("API keys", "access", "apikey", "key"),
            _list("Tiers", "access", "tier", "stairs"),
            _list("Usage", "access", "usageminute", "bar_chart"),
            _list("Portal users", "portal", "member", "badge"),
        ),
    ),
    (
        "Alerts",
        (
            _list("Alarms", "operations", "alarm", "notifications_active"),
            _list("Events", "alerts", "event", "campaign"),
            _list("Webhooks", "alerts", "webhook", "webhook"),
            _list("Event rules", "alerts", "rule", "rule"),
            _list("Deliveries", "alerts", "delivery", "outbox"),
        ),
    ),
    (
        "Staff",
        (
            _list("Users", "auth", "user", "person"),
            _list("Management keys", "management", "managementkey", "passkey"),
            _list("Audit log", "staff", "auditentry", "history_edu"),
        ),
    ),
)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The navigation in the theme's form."""
    home = {"title": "Home", "icon": "home", "link": reverse("admin:index")}
    groups: list[dict[str, Any]] = [{"title": "", "items": [home]}]
    for title, links in _GROUPS:
        shown = [item for link in links if (item := _item(request, link)) is not None]
        if shown:
            groups.append({"title": title, "separator": True, "items": shown})
    items = [item for group in groups for item in group["items"]]
    active = _active(request, items)
    for item in items:
        item["active"] = item is active
    return groups


def here(request: HttpRequest) -> tuple[str, dict[str, Any] | None]:
    """The heading and the link of the page; no link where the sidebar does not lead to it."""
    groups = sidebar(request)
    for group in groups:
        for item in group["items"]:
            if item["active"]:
                return group["title"], item
    return "", None


def _active(request: HttpRequest, items: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The page's own link, and not that of the list whose path it lies below."""
    inside = [item for item in items if request.path.startswith(item["link"])]
    return max(inside, key=lambda item: len(item["link"]), default=None)


def _item(request: HttpRequest, link: Link) -> dict[str, Any] | None:
    if not request.user.has_perm(link.permission):
        return None
    return {"title": link.title, "icon": link.icon, "link": reverse(f"admin:{link.url}")}
