"""The admin's list of proven slots, and the proof on the coverage page."""

from typing import Any

from solders.hash import Hash

from rewind.proof.store import proof_runs

RUNS = "/admin/rewind/proofrun/"


def test_runs_are_listed_and_found_by_a_slot(admin_client: Any) -> None:
    proof_runs.mark(0, 90, proof_runs.PROVEN)
    proof_runs.mark(91, 91, proof_runs.REFUTED, "votes_differ")
    proof_runs.mark(92, 99, proof_runs.UNPROVEN, "not_computed")
    page = admin_client.get(RUNS)
    assert [row.first_slot for row in page.context["cl"].result_list] == [92, 91, 0]
    assert "The cluster voted for another hash of its bank" in page.content.decode()
    for query, found in (
        ({"q": "93"}, [92]),
        ({"q": "100"}, []),
        ({"q": "x"}, []),
        ({"state": "refuted"}, [91]),
    ):
        rows = admin_client.get(RUNS, query).context["cl"].result_list
        assert [row.first_slot for row in rows] == found
    text = admin_client.get(f"{RUNS}91/change/").content.decode()
    assert "refuted" in text


def test_runs_say_what_they_rest_on(admin_client: Any) -> None:
    proof_runs.mark(0, 90, proof_runs.PROVEN, basis=proof_runs.Basis("snapshot", 1_077))
    proof_runs.mark(91, 99, proof_runs.CONSISTENT, basis=proof_runs.Basis("node"))
    text = admin_client.get(RUNS).content.decode()
    assert "a snapshot of slot 1,077" in text and "the followed node" in text
    text = admin_client.get(f"{RUNS}91/change/").content.decode()
    assert "consistent" in text and "the followed node" in text
    page = admin_client.get(RUNS, {"state": "consistent"})
    assert [row.first_slot for row in page.context["cl"].result_list] == [91]


def test_a_refuted_slots_page_has_its_bank_and_leads_on(
    admin_client: Any, record: Any, db: None
) -> None:
    from rewind.proof.services import proving
    from tests.rewind.proved_chains import with_writes
    from tests.rewind.test_running_proof import proven, small

    proving.forget()
    made = small(7)
    true = made.records[3]
    faulty = with_writes(true, (true.account_writes or [])[:-1])
    record(*made.records[:3], faulty, *made.records[4:])
    assert proven()["refuted"] == [(3, 3, "votes_differ")]
    text = admin_client.get(f"{RUNS}3/change/").content.decode()
    assert "The bank of slot 3" in text
    assert str(Hash(made.hashes[3])) in text and str(Hash(made.hashes[2])) in text
    add = "/admin/ingest/rangeorder/add/?kind=locate&amp;first_slot=3&amp;last_slot=3"
    assert f"{add}&amp;source=stream" in text
    text = admin_client.get(f"{RUNS}0/change/").content.decode()
    assert "The bank of slot 2" in text and "3 vote accounts" in text
    assert "Search the accounts" not in text
    # On the coverage map, epochs, slots and runs of slots have it.
    page = admin_client.get("/admin/rewind/slottally/").content.decode()
    assert "Epoch 0, proof: 3 of 7 slots proven" in page
    page = admin_client.get("/admin/rewind/slottally/epoch/").content.decode()
    assert "Slots 0 to 999: 3 proven, 1 refuted, 3 unproven" in page
    page = admin_client.get("/admin/rewind/slottally/slots/").content.decode()
    assert f'href="{RUNS}3/change/" title="Slot 3: refuted"' in page
    assert 'title="Slot 6: unproven"' in page
    assert "The cluster voted for another state" in page


def test_the_coverage_page_has_a_strip_of_it(admin_client: Any, record: Any) -> None:
    from tests.rewind.samples import block

    record(block(1), block(2))
    proof_runs.mark(0, 1, proof_runs.PROVEN)
    proof_runs.mark(2, 2, proof_runs.UNPROVEN, "votes_not_seen")
    text = admin_client.get("/admin/rewind/slottally/").content.decode()
    assert "proof: proven 0 to 1, unproven 2" in text
