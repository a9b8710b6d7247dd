"""A customer's failed transaction in a real browser: understood, replayed with a change, shared."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from solders.compute_budget import set_compute_unit_limit
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from tests.browser.conftest import PASSWORD, SCREENSHOTS, Watched
from tests.browser.everything import EMAIL
from tests.browser.looking import look, member
from tests.localnet.wallets import pay
from tests.rewind.conftest import committed  # noqa: F401  (a fixture)
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.simulating import call, stored, upgradeable
from tests.rewind.submitted import bundle, submission
from tests.rewind.test_large_overrides import program
from tests.simulator.elf import fails_with

pytestmark = pytest.mark.soak

PROGRAM, TARGET = (Pubkey(bytes([number]) * 32) for number in (80, 77))
POOR = Keypair.from_seed(bytes([90]) * 32)
READER = "reader@northern-lights.example"
ERR = {"InstructionError": [1, {"Custom": 1}]}


@pytest.fixture
def chain(committed: None, tmp_path: Path) -> Iterator[LittleChain]:  # noqa: F811
    """A transfer of 5 SOL by one who has 2, a program that fails, and a bundle of two."""
    made = LittleChain(tmp_path, given=upgradeable(PROGRAM, fails_with(7), slot=0))
    made.block(made.payment(POOR.pubkey(), 2 * SOL))
    made.block(made.signed([set_compute_unit_limit(90_000), pay(POOR, TARGET, 5 * SOL)], POOR))
    made.block(made.signed([call(PROGRAM)], made.payers[0]))
    gives = made.payment(POOR.pubkey(), 5 * SOL)
    made.block(gives, made.signed([pay(POOR, TARGET, 6 * SOL)], POOR))
    stored(made.records)
    yield made
    made.close()


@pytest.fixture
def customer(chain: LittleChain, service: str) -> Any:
    """With an owner and a reader, and what they submitted."""
    from access.models import Customer, Tier
    from access.services.keys import issue_key
    from portal.services import members

    made = Customer.objects.create(name="Northern Lights")
    for email, role in ((EMAIL, "owner"), (READER, "reader")):
        members.choose_password(members.invite(made, email=email, role=role).user, PASSWORD)
    tier = Tier.objects.get_or_create(name="elite", defaults={"rank": 30})[0]
    key = issue_key(made, tier=tier, name="production").key
    submission(
        chain,
        chain.sent[1],
        key,
        state="failed",
        err=ERR,
        tip_lamports=20_000,
        tip_address=Pubkey(bytes([8]) * 32),
        tip_instruction_index=1,
    )
    submission(chain, chain.sent[2], key, state="failed")
    bundle(chain, chain.sent[3:5], key)
    return made


def test_a_failed_transaction_is_understood_replayed_and_shared(
    watched: Callable[[], Watched], customer: Any, chain: LittleChain, tmp_path: Path
) -> None:
    visitor = member(watched)
    page, base = visitor.page, visitor.base
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=base)
    (SCREENSHOTS / "replay").mkdir(parents=True, exist_ok=True)
    wrong: list[str] = []

    page.click("nav >> text=Submissions")
    page.click(f"a[title='{chain.sent[1].signatures[0]}']")
    said = page.inner_text("main")
    assert "Transfer of 5 SOL; the payer had 1.999995." in said
    assert "rolled back, not paid" in said
    page.click("a:text-is('Replay it')")
    form = page.url.removeprefix(base)
    account = page.locator(f"[role=group][aria-label='Account {POOR.pubkey()}']")
    account.get_by_label("Balance").fill("lots")
    page.click("main button:text-is('Replay')")
    assert "Write lamports as 1000000" in page.inner_text("main")
    account.get_by_label("Balance").fill("10 SOL")
    page.get_by_label("Note").fill("payer with 10 SOL")
    page.click("main button:text-is('Replay')")
    page.wait_for_url(f"{base}/portal/replays/*/")
    said = page.inner_text("main")
    assert "It failed on chain, and succeeds with the changes." in said
    page.click("[data-copy=rp-link]")
    page.wait_for_selector("button:text-is('Copied')")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url
    shared = link.removeprefix(base)

    colleague = member(watched, READER)
    colleague.open(shared)
    said = colleague.page.inner_text("main")
    assert "succeeds with the changes" in said and EMAIL in said and "payer with 10 SOL" in said
    assert not colleague.page.locator("text=Change and replay again").count()

    large = tmp_path / "fixed.so"
    large.write_bytes(program(400_000))
    signature = chain.sent[2].signatures[0]
    build = f"/portal/fates/{signature}/replay/"
    visitor.open(build)
    page.set_input_files("#rp-file", large)
    page.wait_for_selector("text=fixed.so is uploaded and chosen.")
    page.get_by_label("Program", exact=True).select_option(str(PROGRAM))
    page.click("main button:text-is('Replay')")
    page.wait_for_url(f"{base}/portal/replays/*/")
    assert "succeeds with the changes" in page.inner_text("main")
    built = page.url.removeprefix(base)

    visitor.open("/portal/bundles/" + "ab" * 32 + "/replay/")
    account = page.locator(f"[role=group][aria-label='Account {POOR.pubkey()}']")
    account.get_by_label("Balance").fill("0.5 SOL")
    page.click("main button:text-is('Replay')")
    page.wait_for_url(f"{base}/portal/replays/*/")
    assert "Transaction 2 of 2 fails with the changes" in page.inner_text("main")
    bundled = page.url.removeprefix(base)
    assert not visitor.problems + colleague.problems
    for name, path in {
        "submission": f"/portal/fates/{chain.sent[1].signatures[0]}/",
        "form": form,
        "result": shared,
        "build": built,
        "bundle": bundled,
        "list": "/portal/replays/",
    }.items():
        wrong += look(visitor, name, path, "replay")
    staff = watched()
    staff.sign_in()
    run = f"/admin/rewind/replay/run/?signatures={chain.sent[1].signatures[0]}"
    pk = shared.split("/")[-2]
    for name, path in {
        "staff-run": "/admin/rewind/replay/run/",
        "staff-form": run,
        "staff-result": f"/admin/rewind/replay/{pk}/change/",
        "staff-list": "/admin/rewind/replay/",
        "staff-bundle": "/admin/priority/bundle/1/change/",
    }.items():
        wrong += look(staff, name, path, "replay")
    assert not wrong, "\n".join(wrong)
