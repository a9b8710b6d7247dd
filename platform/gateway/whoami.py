"""whoami: the caller's key and tier, and its remaining quota."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from rest_framework.response import Response

from access import remaining_quota, usage_queries, windows
from access.callers import Caller, Quota
from access.counted_calls import CallCounts
from access.models import ApiKey
from access.months import month_of
from access.services.keys import monthly_limit
from gateway.calls import Call
from gateway.common_methods import common_methods
from gateway.hosts import ALL_IN_ONE, EVERY, RANKS, Host
from gateway.quotas import WINDOW
from gateway.views import EndpointRequest, ReadView
from jsonrpc.wire import Result


class KeyShown(Result, frozen=True, kw_only=True):
    """The key as its holder may see it. Times are Unix seconds.

    name: its name
    prefix: how its text begins
    last_four: how its text ends
    customer: whose it is
    environment: what it is for, as it was named when it was issued
    created_at: when it was issued
    expires_at: when it stops working; null: never
    networks: the addresses that it may be used from; empty allows any
    origins: only pages of these web origins may use it; empty allows any page, and programs
    """

    name: str
    prefix: str
    last_four: str
    customer: str
    environment: str
    created_at: int
    expires_at: int | None
    networks: list[str]
    origins: list[str]


class Bucket(Result, frozen=True, kw_only=True):
    """A limit of a rate, as a bucket of tokens. Null means unlimited.

    per_second: how many tokens come into it a second
    burst: how many it holds
    remaining: how many are in it, or somewhat fewer, since processes prefetch some; null also
        while that is unknown
    reset_seconds: until it is full again
    """

    per_second: float | None
    burst: int | None
    remaining: int | None
    reset_seconds: int | None


class TipFetches(Bucket, frozen=True, kw_only=True):
    """A bucket under a cap of the UTC day.

    daily_cap: how many fetches a UTC day; null if unlimited
    remaining_today: how many of them are left; null if unlimited
    """

    daily_cap: int | None
    remaining_today: int | None


class Monthly(Result, frozen=True, kw_only=True):
    """Calls of this calendar month (UTC) that count, up to the last minute but one: of the key
    with those that it was rotated from or into.

    limit: how many there may be; null if unlimited
    used: how many there were
    remaining: how many are left; null if unlimited
    resets_at: when the next month begins, in Unix seconds
    """

    limit: int | None
    used: int
    remaining: int | None
    resets_at: int


class SimulationJobs(Result, frozen=True, kw_only=True):
    """Batches of simulations.

    open: how many jobs may be open at once
    simulations_per_job: how many simulations one may ask for
    """

    open: int
    simulations_per_job: int


class Limits(Result, frozen=True, kw_only=True):
    """The limits of calls; those of subscriptions are the tier's. Callers without a key share the
    buckets of bundles and tip fetches among them.

    requests: calls of any kind; without a key those of one address
    bundles: bundles that are sent
    tip_fetches: fetches of tip addresses
    monthly: calls of a calendar month; null without a key
    simulation_jobs: batches of simulations
    """

    requests: Bucket
    bundles: Bucket
    tip_fetches: TipFetches
    monthly: Monthly | None
    simulation_jobs: SimulationJobs


class Costs(Result, frozen=True, kw_only=True):
    """What is taken from each limit.

    requests_per_call: from `requests` by every call, and by each call of a batch
    bundles_per_bundle: from `bundles` by every sendBundle
    tip_fetches_per_fetch: from `tipFetches` by every fetch, whatever its count
    monthly_per_answered_call: from the month by a call that was answered
    monthly_per_refused_call: from the month by a call that was refused, or failed by our fault
    """

    requests_per_call: int = 1
    bundles_per_bundle: int = 1
    tip_fetches_per_fetch: int = 1
    monthly_per_answered_call: int = 1
    monthly_per_refused_call: int = 0


class MonthOfCalls(Result, frozen=True, kw_only=True):
    """The key's own calls of this calendar month (UTC), up to the last minute but one, by kind.

    counted: those that a method answered, with a result or an error: they take from the quota
    refused: those that a right, a limit or the form of the request turned away
    failed: those that failed because of the service itself
    pushed: notifications of subscriptions, which are not calls
    """

    counted: int
    refused: int
    failed: int
    pushed: int


class WhoAmI(Result, frozen=True, kw_only=True):
    """Who calls, with which rights and limits.

    key: the key; null without one
    tier: the class of service
    scopes: the rights of the key
    methods: the only methods that it may call; null: all that its scopes have
    limits: what may be asked for, and what is left
    costs: what is taken from the limits
    usage: calls of this month; null without a key
    host: the host of the request
    hosts: the tier hosts that the key may use
    address: where the call came from, as the service sees it
    server_time: the service's clock, in Unix seconds
    """

    key: KeyShown | None
    tier: str
    scopes: list[str]
    methods: list[str] | None
    limits: Limits
    costs: Costs
    usage: MonthOfCalls | None
    host: str
    hosts: list[str]
    address: str
    server_time: int


@dataclass(frozen=True, slots=True)
class _Month:
    own: CallCounts
    counted: int
    resets_at: datetime


@common_methods.add("whoami")
def whoami(call: Call) -> WhoAmI:
    """The caller with its rights, limits and remaining quota. It needs no scope and costs one
    request. It is served at every path.
    """
    return _described(call.caller, call.host, call.address, call.now)


class WhoAmIView(ReadView):
    name = "whoami"
    result = WhoAmI

    def get(self, request: EndpointRequest) -> Response:
        """The caller with its rights, limits and remaining quota: whoami by GET."""
        return Response(_described(request.user, request.host, request.client_address, self.now))


def _described(caller: Caller, host: Host, address: str, now: datetime) -> WhoAmI:
    key, month = None, None
    if caller.key_id is not None:
        key = ApiKey.objects.select_related("customer", "tier").get(pk=caller.key_id)
        start, end = month_of(now)
        own = usage_queries.days_of_key(caller.key_id, start.date(), end.date())
        counted = usage_queries.counted_of_family(caller.key_id, start.date(), end.date())
        month = _Month(own, counted, end)
    return WhoAmI(
        key=None if key is None else _shown(key),
        tier=caller.tier,
        scopes=sorted(caller.scopes),
        methods=None if caller.methods is None else sorted(caller.methods),
        limits=_limits(caller, key, month, address, now),
        costs=Costs(),
        usage=None if month is None else _used(month),
        host=host.label or ALL_IN_ONE.kind.value,
        hosts=_hosts_of(caller),
        address=address,
        server_time=int(now.timestamp()),
    )


def _shown(key: ApiKey) -> KeyShown:
    return KeyShown(
        name=key.name,
        prefix=key.shown_prefix,
        last_four=key.last_four,
        customer=key.customer.name,
        environment=key.environment,
        created_at=int(key.created_at.timestamp()),
        expires_at=None if key.expires_at is None else int(key.expires_at.timestamp()),
        networks=key.networks,
        origins=key.origins,
    )


def _used(month: _Month) -> MonthOfCalls:
    return MonthOfCalls(**month.own._asdict())


def _limits(
    caller: Caller, key: ApiKey | None, month: _Month | None, address: str, now: datetime
) -> Limits:
    remaining = remaining_quota.read(caller, now=now)
    cap = caller.tip_fetch_daily_cap
    fetches = _bucket(caller, "tip_fetches", remaining)
    today = None if cap is None or remaining is None else max(0, cap - remaining.fetched_today)
    return Limits(
        requests=_bucket(caller, "requests", remaining)
        if key is not None
        else _window(caller, address),
        bundles=_bucket(caller, "bundles", remaining),
        tip_fetches=TipFetches(
            per_second=fetches.per_second,
            burst=fetches.burst,
            remaining=fetches.remaining,
            reset_seconds=fetches.reset_seconds,
            daily_cap=cap,
            remaining_today=today,
        ),
        monthly=None if key is None or month is None else _monthly(key, month),
        simulation_jobs=SimulationJobs(
            open=caller.simulation_jobs, simulations_per_job=caller.simulations_per_job
        ),
    )


def _bucket(caller: Caller, name: str, remaining: remaining_quota.RemainingQuota | None) -> Bucket:
    quota = caller.quotas.get(name)
    left = None if remaining is None or quota is None else remaining.by_name[name]
    return _bucket_of(quota, None if left is None else (left.remaining, left.reset_seconds))


def _window(caller: Caller, address: str) -> Bucket:
    """The requests of an address without a key, which are counted in fixed windows."""
    quota = caller.quotas.get("requests")
    left = None if quota is None else windows.remaining(WINDOW, address, quota)
    return _bucket_of(quota, left)


def _bucket_of(quota: Quota | None, left: tuple[int, int] | None) -> Bucket:
    """`left` are the calls left and the seconds until it is full; None if unknown."""
    rate, burst = (None, None) if quota is None else (quota.rate, quota.burst)
    remaining, reset = (None, None) if left is None else left
    return Bucket(per_second=rate, burst=burst, remaining=remaining, reset_seconds=reset)


def _monthly(key: ApiKey, month: _Month) -> Monthly:
    limit = monthly_limit(key)
    return Monthly(
        limit=limit,
        used=month.counted,
        remaining=None if limit is None else max(0, limit - month.counted),
        resets_at=int(month.resets_at.timestamp()),
    )


def _hosts_of(caller: Caller) -> list[str]:
    """The hosts that the caller may use; without a key all, for what needs none."""
    ranks = {label: RANKS[label.partition(".")[0]] for label in EVERY}
    opened = [
        label for label, rank in ranks.items() if caller.key_id is None or rank <= caller.rank
    ]
    return [
        f"{label}.{settings.DOMAIN}"
        for label in sorted(opened, key=lambda each: (ranks[each], each))
    ]
