"""The admin's list of proven slots, and the proof on the coverage page."""

from typing import Any

from rewind.store import proof_runs

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


def test_the_coverage_page_has_a_strip_of_it(admin_client: Any, record: Any) -> None:
    from tests.rewind.samples import block

    record(block(1), block(2))
    proof_runs.mark(0, 1, proof_runs.PROVEN)
    proof_runs.mark(2, 2, proof_runs.UNPROVEN, "votes_not_seen")
    text = admin_client.get("/admin/rewind/slottally/").content.decode()
    assert "proof: proven 0 to 1, unproven 2" in text
