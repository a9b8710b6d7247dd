"""getSignaturesForAddress and getTransactionsForAddress."""

from collections import defaultdict

import pytest

HISTORICAL = "/historical"
VOTE = "Vote111111111111111111111111111111111111111"
TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
UNKNOWN = "5" * 87
V0 = {"maxSupportedTransactionVersion": 0}


@pytest.fixture(scope="module")
def expected(real_blocks, django_db_blocker):
    """Address → its transactions as (slot, position, signature, err), oldest first, taken from
    the files by reading every block whole.
    """
    from chain.encodings import b58encode
    from chain.transactions import decode_wire
    from upstream.archives.block_files import open_block_file

    from .conftest import FILES

    history = defaultdict(list)
    for name in FILES.values():
        with open_block_file(real_blocks / name) as blocks:
            for record in blocks:
                for position, entry in enumerate(record.transactions):
                    wire = decode_wire(entry.wire)
                    meta = entry.meta or {}
                    loaded = meta.get("loadedAddresses") or {}
                    keys = {b58encode(key) for key in wire.account_keys}
                    keys |= {*loaded.get("writable", []), *loaded.get("readonly", [])}
                    signature = b58encode(wire.signatures[0])
                    for key in keys:
                        history[key].append((record.slot, position, signature, meta.get("err")))
    for places in history.values():
        places.sort(key=lambda place: place[:2])
    return history


def all_pages(rpc, address, limit):
    entries, before = [], None
    while True:
        config = {"limit": limit} | ({"before": before} if before else {})
        page = rpc(HISTORICAL, "getSignaturesForAddress", address, config)["result"]
        entries += page
        if len(page) < limit:
            return entries
        before = page[-1]["signature"]


@pytest.mark.parametrize("limit", [1000, 333])
def test_pages_of_a_busy_address_join_to_its_whole_history(rpc, real_ledger, expected, limit):
    entries = all_pages(rpc, VOTE, limit)
    assert [(each["slot"], each["signature"], each["err"]) for each in entries] == [
        (slot, signature, err) for slot, _, signature, err in reversed(expected[VOTE])
    ]
    assert {each["confirmationStatus"] for each in entries} == {"finalized"}


def test_every_address_has_exactly_its_transactions(rpc, real_ledger, expected):
    addresses = sorted(expected, key=lambda key: (len(expected[key]) % 7, key))[::61]
    assert len(addresses) > 100
    for address in addresses:
        entries = rpc(HISTORICAL, "getSignaturesForAddress", address)["result"]
        wanted = [signature for _, _, signature, _ in reversed(expected[address])][:1000]
        assert [each["signature"] for each in entries] == wanted


def test_before_and_until_are_exclusive(rpc, real_ledger, expected):
    newest_first = [signature for _, _, signature, _ in reversed(expected[TOKEN])]
    config = {"before": newest_first[10], "until": newest_first[30]}
    entries = rpc(HISTORICAL, "getSignaturesForAddress", TOKEN, config)["result"]
    assert [each["signature"] for each in entries] == newest_first[11:30]


@pytest.mark.parametrize("name", ["before", "until"])
def test_a_bound_that_the_ledger_does_not_have_is_an_error_and_not_an_empty_list(
    rpc, real_ledger, name
):
    error = rpc(HISTORICAL, "getSignaturesForAddress", TOKEN, {name: UNKNOWN})["error"]
    assert error["code"] == -32020
    assert error["data"] == {
        "reason": "filter_transaction_not_found", "parameter": name, "signature": UNKNOWN,
    }  # fmt: skip


@pytest.mark.parametrize("limit", [0, 1001])
@pytest.mark.parametrize("method", ["getSignaturesForAddress", "getTransactionsForAddress"])
def test_a_limit_out_of_range_is_refused(rpc, real_ledger, method, limit):
    error = rpc(HISTORICAL, method, TOKEN, {"limit": limit})["error"]
    assert (error["code"], error["message"]) == (-32602, "Invalid limit; max 1000")
    assert error["data"]["found"] == limit


def test_an_address_without_transactions_has_an_empty_list(rpc, real_ledger):
    nobody = "1nc1nerator11111111111111111111111111111112"
    error_or_list = rpc(HISTORICAL, "getSignaturesForAddress", nobody)
    assert error_or_list["result"] == []
    page = rpc(HISTORICAL, "getTransactionsForAddress", nobody)["result"]
    assert page == {"data": [], "paginationToken": None}


def pages(rpc, address, config):
    entries, token = [], None
    for _ in range(1000):
        paged = {**config, **({"paginationToken": token} if token else {})}
        result = rpc(HISTORICAL, "getTransactionsForAddress", address, paged)["result"]
        entries += result["data"]
        token = result["paginationToken"]
        if token is None:
            return entries
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"status": "success"},
        {"status": "failed"},
        {"slot": {"gte": 55065010, "lt": 55065020}},
        {"slot": {"gt": 55065010, "lte": 254170887}, "status": "failed"},
        {"signature": {"gte": "3", "lt": "4"}},
        {"blockTime": {"gte": 1700000000, "lte": 1720000000}},
    ],
)
def test_filtered_pages_join_to_exactly_what_the_filters_leave(
    rpc, real_ledger, expected, order, filters
):
    entries = pages(rpc, TOKEN, {"sortOrder": order, "limit": 150, "filters": filters})
    slots = filters.get("slot", {})
    times = filters.get("blockTime")
    wanted = [
        (slot, position, signature, err)
        for slot, position, signature, err in expected[TOKEN]
        if slots.get("gte", 0) <= slot < slots.get("lt", 2**63)
        and slots.get("gt", -1) < slot <= slots.get("lte", 2**63)
        and ("status" not in filters or (filters["status"] == "success") == (err is None))
        and ("signature" not in filters or "3" <= signature < "4")
        and (times is None or slot == 254170887)
    ]
    assert wanted
    if order == "desc":
        wanted.reverse()
    assert [
        (each["slot"], each["transactionIndex"], each["signature"], each["err"]) for each in entries
    ] == wanted


def test_full_entries_are_the_transactions_themselves(rpc, real_ledger):
    config = {**V0, "transactionDetails": "full", "encoding": "jsonParsed", "limit": 5}
    config["filters"] = {"slot": {"gte": 254170887, "lte": 254170887}}
    result = rpc(HISTORICAL, "getTransactionsForAddress", TOKEN, config)["result"]
    assert len(result["data"]) == 5
    for entry in result["data"]:
        signature = entry["transaction"]["signatures"][0]
        whole = rpc(HISTORICAL, "getTransaction", signature, {**V0, "encoding": "jsonParsed"})
        assert entry == whole["result"]
    last = result["data"][-1]
    assert result["paginationToken"] == f"{last['slot']}:{last['transactionIndex']}"


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"paginationToken": "x"}, "bad_pagination_token"),
        ({"paginationToken": "1:2:3"}, "bad_pagination_token"),
        ({"paginationToken": "9" * 19 + ":0"}, "bad_pagination_token"),
        ({"paginationToken": "1:99999999"}, "bad_pagination_token"),
        ({"paginationToken": "1:99999999:partial"}, "bad_pagination_token"),
        ({"filters": {"tokenAccounts": "all"}}, "filter_unsupported"),
        ({"transactionDetails": "none"}, "filter_unsupported"),
        ({"transactionDetails": "full", "limit": 101}, "limit_invalid"),
        ({"filters": {"status": "fine"}}, "invalid_params"),
        ({"filters": {"slot": {"eq": 1}}}, "invalid_params"),
        ({"filters": {"bogus": 1}}, "invalid_params"),
    ],
)
def test_what_cannot_be_served_is_refused_by_name(rpc, real_ledger, config, reason):
    error = rpc(HISTORICAL, "getTransactionsForAddress", TOKEN, config)["error"]
    assert (error["code"], error["data"]["reason"]) == (-32602, reason)


def test_a_token_of_other_filters_is_refused(rpc, real_ledger):
    config = {"limit": 3, "filters": {"status": "failed"}}
    token = rpc(HISTORICAL, "getTransactionsForAddress", TOKEN, config)["result"]["paginationToken"]
    for filters in ({"status": "success"}, {"slot": {"lt": 5}}):
        changed = {"limit": 3, "filters": filters, "paginationToken": token}
        error = rpc(HISTORICAL, "getTransactionsForAddress", TOKEN, changed)["error"]
        assert error["data"]["reason"] == "bad_pagination_token"
