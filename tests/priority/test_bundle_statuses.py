"""getBundleStatuses, getInflightBundleStatuses, getTipAccounts: as a block engine answers them."""

from collections.abc import Callable
from typing import Any

import pytest

from access.models import ApiKey
from priority.submissions import State, pending_key
from tests.conftest import Rpc
from tests.priority.submitted import NOW, bundled, signature

pytestmark = pytest.mark.django_db

Post = Callable[..., Any]


@pytest.fixture
def key(api_key: str) -> ApiKey:
    return ApiKey.objects.get()


def landed_bundle(key: ApiKey | None, numbers: tuple[int, ...] = (1, 2)) -> Any:
    on_chain = {"state": State.LANDED, "slot": 102, "commitment": "confirmed"}
    return bundled(key, numbers, {"state": State.LANDED, "slot": 102}, **on_chain)


def test_a_landed_bundle_is_told_in_the_engines_shape(rpc: Rpc, key: ApiKey) -> None:
    from priority.chain_events import HEAD
    from shared_state.redis_client import client

    made = landed_bundle(key)
    client().hset(HEAD, mapping={"slot": 120, "height": 100})
    unknown = "0" * 64
    statuses = rpc("/bundle", "getBundleStatuses", [made.bundle_id, unknown])["result"]
    assert statuses == {
        "context": {"slot": 120},
        "value": [
            {
                "bundle_id": made.bundle_id,
                "transactions": [str(signature(1)), str(signature(2))],
                "slot": 102,
                "confirmation_status": "confirmed",
                "err": {"Ok": None},
            },
            None,
        ],
    }
    inflight = rpc("/bundle", "getInflightBundleStatuses", [made.bundle_id, unknown])["result"]
    assert inflight == {
        "context": {"slot": 120},
        "value": [
            {"bundle_id": made.bundle_id, "status": "Landed", "landed_slot": 102},
            {"bundle_id": unknown, "status": "Invalid", "landed_slot": None},
        ],
    }


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (State.RECEIVED, "Pending"),
        (State.SENT, "Pending"),
        (State.FAILED, "Failed"),
        (State.EXPIRED, "Failed"),
        (State.REFUSED, "Failed"),
    ],
)
def test_every_state_has_its_word(rpc: Rpc, key: ApiKey, state: State, status: str) -> None:
    final = NOW if state in (State.FAILED, State.EXPIRED, State.REFUSED) else None
    made = bundled(key, (1,), {"state": state, "settled_at": final, "slot": 102})
    inflight = rpc("/bundle", "getInflightBundleStatuses", [made.bundle_id])["result"]["value"]
    assert inflight == [{"bundle_id": made.bundle_id, "status": status, "landed_slot": None}]
    assert rpc("/bundle", "getBundleStatuses", [made.bundle_id])["result"]["value"] == [None]


def test_what_send_bundle_answered_names_the_bundle(rpc: Rpc, key: ApiKey) -> None:
    made = landed_bundle(key)
    both = [str(signature(1)), str(signature(2))]
    # Clients hand back the result as it is: an array of signatures, or one.
    (by_all,) = rpc("/bundle", "getInflightBundleStatuses", [both])["result"]["value"]
    assert by_all == {"bundle_id": made.bundle_id, "status": "Landed", "landed_slot": 102}
    (by_one,) = rpc("/bundle", "getInflightBundleStatuses", both[1:])["result"]["value"]
    assert by_one == {"bundle_id": both[1], "status": "Landed", "landed_slot": 102}
    (status,) = rpc("/bundle", "getBundleStatuses", [both])["result"]["value"]
    assert status["bundle_id"] == made.bundle_id and status["transactions"] == both


def test_a_bundle_that_was_accepted_a_moment_ago_is_pending(rpc: Rpc, key: ApiKey) -> None:
    from shared_state.redis_client import client

    bundle_id = "ab" * 32
    client().set(pending_key(bytes.fromhex(bundle_id)), f"{NOW.timestamp()}|{key.pk}")
    (status,) = rpc("/bundle", "getInflightBundleStatuses", [bundle_id])["result"]["value"]
    assert status == {"bundle_id": bundle_id, "status": "Pending", "landed_slot": None}


def test_a_bundle_is_its_customers_and_one_without_a_key_is_everybodys(
    rpc: Rpc, client: Any, key: ApiKey
) -> None:
    mine, everybodys = landed_bundle(key, (1, 2)), landed_bundle(None, (3, 4))
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "getInflightBundleStatuses",
        "params": [[mine.bundle_id, everybodys.bundle_id]],
    }
    answer = client.post("/bundle", body, content_type="application/json").json()
    assert [each["status"] for each in answer["result"]["value"]] == ["Invalid", "Landed"]
    for path in ("/bundle/bundles", "/api/v1/bundles", "/api/v1/getInflightBundleStatuses"):
        answer = rpc(path, "getInflightBundleStatuses", *body["params"])  # type: ignore[misc]
        assert [each["status"] for each in answer["result"]["value"]] == ["Landed", "Landed"]


def test_five_at_once_and_no_nonsense(rpc: Rpc) -> None:
    for method in ("getBundleStatuses", "getInflightBundleStatuses"):
        error = rpc("/bundle", method, ["0" * 64] * 6)["error"]
        assert error["code"] == -32602
        assert error["data"] == {"reason": "too_many_bundles", "found": 6, "maximum": 5}
        for nonsense in ("xyz", "A" * 64, [], [str(signature(n)) for n in range(5)], ["x"]):
            error = rpc("/bundle", method, [nonsense])["error"]
            assert error["data"]["reason"] == "bundle_id_malformed", nonsense
        assert rpc("/bundle", method, [])["result"]["value"] == []
        assert rpc("/bundle", method)["error"]["code"] == -32602


def test_tips_go_to_our_own_static_addresses(rpc: Rpc, settings: Any) -> None:
    found = rpc("/bundle", "getTipAccounts")["result"]
    assert found == [str(each) for each in settings.TIP_ADDRESSES] and found
    assert rpc("/api/v1/getTipAccounts", "getTipAccounts")["result"] == found
