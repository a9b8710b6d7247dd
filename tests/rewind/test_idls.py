"""IDLs in explanations: those on chain at the transaction's slot, and those that staff upload."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.addresses import METADATA
from chain.idl.on_chain import idl_accounts
from rewind.models import ProgramIdl
from staff.models import AuditEntry
from tests.chain.test_idl import anchor_account, metadata_account
from tests.conftest import Rpc
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.simulating import call, stored, with_write
from tests.simulator.elf import SUCCEEDS, fails_with

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("empty_ledger", "nothing_remembered"),
]

# `metadata_account` is that of the program of 32 nines.
FAILS, WORKS = Pubkey(bytes([9]) * 32), Pubkey(bytes([10]) * 32)
IDLS = "/admin/rewind/programidl"


def idl(name: str, program: Pubkey = FAILS, **more: Any) -> bytes:
    """With one instruction, of the discriminator 7, and one error."""
    go = {
        "name": name,
        "discriminator": [7],
        "accounts": [{"name": "<b>first</b>"}],
        "args": [{"name": "count", "type": "u8"}],
    }
    errors = [{"code": 6000, "name": "SoldOut", "msg": "<script>Nothing</script> is left"}]
    text = {"address": str(program), "instructions": [go], "errors": errors}
    return json.dumps({**text, "metadata": {"name": "shop"}, **more}).encode()


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[LittleChain]:
    """Each of the slots 1, 2 and 3 calls both programs."""
    programs = {
        key: Account(10**9, code, addresses.LOADER_2, True, 2**64 - 1)
        for key, code in ((FAILS, fails_with(6000)), (WORKS, SUCCEEDS))
    }
    made = LittleChain(tmp_path, given=programs)
    for slot in (1, 2, 3):
        made.block(
            *(
                made.signed([call(key, WORKS, data=bytes([7, slot]))], made.payers[0])
                for key in (FAILS, WORKS)
            )
        )
    yield made
    made.close()


def put(chain: LittleChain, slot: int, key: Pubkey, owner: Pubkey, data: bytes) -> None:
    """The account is written in the slot."""
    chain.records[slot] = with_write(chain.records[slot], key, Account(SOL, data, owner))


def explained(rpc: Rpc, sent: VersionedTransaction) -> dict[str, Any]:
    found: dict[str, Any] = rpc("/historical", "explainTransaction", str(sent.signatures[0]))
    return found["result"]


def test_an_idl_on_chain_reads_as_it_was_in_the_slot(chain: LittleChain, rpc: Rpc) -> None:
    place = idl_accounts(FAILS)["anchor"]
    put(chain, 2, place, FAILS, anchor_account(idl("second")))
    put(chain, 3, place, FAILS, anchor_account(idl("third")))
    stored(chain.records)
    names = []
    for number in (1, 2, 3):
        found = explained(rpc, chain.sent[2 * (number - 1)])
        (each,) = found["instructions"]
        names.append(each["type"])
        assert each["info"] == {"count": number} and each["decodedBy"] == "idl" and each["failed"]
        assert each["accounts"] == [{"pubkey": str(WORKS), "name": "<b>first</b>"}]
        assert found["failure"]["error"]["name"] == "SoldOut"
        assert "is left” (SoldOut, 6000)" in found["failure"]["sentence"]
        assert [(each["source"], each["name"]) for each in found["idls"]] == [("anchor", "shop")]
        assert each["program"] is None, "any program could call itself by another's name"
    assert names == ["third", "second", "third"], "slot 1 had none: the newest one reads it"


def test_the_metadata_programs_account_counts_first(chain: LittleChain, rpc: Rpc) -> None:
    places = idl_accounts(FAILS)
    put(chain, 1, places["anchor"], FAILS, anchor_account(idl("anchors")))
    metadata = metadata_account(idl("canonical"), 0)
    put(chain, 1, places["programMetadata"], METADATA, metadata)
    stored(chain.records)
    found = explained(rpc, chain.sent[0])
    assert [each["source"] for each in found["idls"]] == ["programMetadata"]
    assert found["instructions"][0]["type"] == "canonical"


@pytest.mark.parametrize(
    ("owner", "data"),
    [
        (WORKS, anchor_account(idl("others"))),
        (FAILS, anchor_account(b"{}")),
        (FAILS, anchor_account(bytes(2_000_000))),
        (FAILS, b"nothing"),
    ],
    ids=["another owner", "not an IDL", "a zip bomb", "too short"],
)
def test_what_cannot_be_read_on_chain_counts_as_none(
    chain: LittleChain, rpc: Rpc, owner: Pubkey, data: bytes
) -> None:
    put(chain, 1, idl_accounts(FAILS)["anchor"], owner, data)
    stored(chain.records)
    found = explained(rpc, chain.sent[0])
    assert found["idls"] == [] and found["failure"]["error"] is None
    assert found["instructions"][0] | {"data": "", "accounts": []} == {
        "number": "1",
        "depth": 1,
        "programId": str(FAILS),
        "program": None,
        "decodedBy": None,
        "type": None,
        "event": False,
        "info": None,
        "accounts": [],
        "data": "",
        "ran": True,
        "failed": True,
        "inner": [],
    }


# --- staff ----------------------------------------------------------------------------------------


def uploaded(client: Client, text: bytes, **query: str) -> Any:
    """The answer to a file that the page's script sends."""
    fields = "&".join(f"{name}={value}" for name, value in query.items())
    return client.post(f"{IDLS}/upload/?{fields}", text, content_type="application/octet-stream")


def test_an_uploaded_idl_counts_before_one_on_chain_from_its_slot_on(
    chain: LittleChain, rpc: Rpc, admin_client: Client
) -> None:
    place = idl_accounts(FAILS)["anchor"]
    put(chain, 1, place, FAILS, anchor_account(idl("onChain")))
    stored(chain.records)
    assert uploaded(admin_client, idl("typo"), from_slot="2").status_code == 200
    assert uploaded(admin_client, idl("byStaff"), from_slot="2").status_code == 200
    plain = json.loads(idl("works"))
    del plain["address"]
    answer = uploaded(admin_client, json.dumps(plain).encode(), program=str(WORKS))
    assert answer.status_code == 200, answer.content
    assert ProgramIdl.objects.count() == 2, "the same first slot again replaces it"
    found = [explained(rpc, sent) for sent in chain.sent[:4]]
    assert [each["instructions"][0]["type"] for each in found] == [
        "onChain",
        "works",
        "byStaff",
        "works",
    ]
    assert [(each["idls"][0]["source"], each["idls"][0]["fromSlot"]) for each in found] == [
        ("anchor", None),
        ("uploaded", 0),
        ("uploaded", 2),
        ("uploaded", 0),
    ]
    assert AuditEntry.objects.filter(subject_type="rewind.programidl").count() == 3
    page = admin_client.get(f"{IDLS}/").content.decode()
    assert str(WORKS) in page and f'data-upload="{IDLS}/upload/"' in page
    assert [each["instructions"][0]["program"] for each in found] == [None, "shop", "shop", "shop"]
    row = ProgramIdl.objects.get(program=WORKS)
    assert admin_client.get(f"{IDLS}/{row.pk}/change/").status_code == 200
    admin_client.post(f"{IDLS}/{row.pk}/delete/", {"post": "yes"})
    assert explained(rpc, chain.sent[1])["idls"] == []


@pytest.mark.parametrize(
    ("text", "query", "why"),
    [
        (b"{}", {}, "missing required field"),
        (idl("go"), {"program": str(WORKS)}, f"It is the IDL of {FAILS}"),
        (b'{"instructions": []}', {}, "It does not name its program"),
        (idl("go"), {"program": "x"}, "The program is not a pubkey"),
        (idl("go"), {"from_slot": "-1"}, "The first slot is not a number"),
        (bytes(1_048_577), {}, "A file of at most 1.0 MB"),
        (idl("go", metadata={"name": "a\0b"}), {}, "matching regex"),
        (idl("go", version="\0"), {}, "matching regex"),
    ],
)
def test_what_cannot_be_an_idl_is_refused_with_a_reason(
    db: None, admin_client: Client, text: bytes, query: dict[str, str], why: str
) -> None:
    answer = uploaded(admin_client, text, **query)
    assert answer.status_code == 400 and why in answer.json()["error"]
    assert not ProgramIdl.objects.exists()


def test_who_may_only_look_uploads_and_deletes_nothing(client: Client, admin_client: Any) -> None:
    uploaded(admin_client, idl("go"))
    row = ProgramIdl.objects.get()
    looks = User.objects.create_user("looks", is_staff=True)
    looks.user_permissions.add(Permission.objects.get(codename="view_programidl"))
    client.force_login(looks)
    page = client.get(f"{IDLS}/").content.decode()
    assert str(FAILS) in page and "data-upload" not in page
    assert uploaded(client, idl("other")).status_code == 403
    assert client.post(f"{IDLS}/{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert ProgramIdl.objects.count() == 1


def test_a_page_shows_the_words_of_an_idl_as_text(
    chain: LittleChain, rpc: Rpc, admin_client: Client
) -> None:
    text = idl("go<img>", metadata={"name": "<i>evil</i>\u202e", "version": "1"})
    put(chain, 1, idl_accounts(FAILS)["anchor"], FAILS, anchor_account(text))
    stored(chain.records)
    signature = chain.sent[0].signatures[0]
    page = admin_client.get(f"/admin/rewind/replay/run/?signatures={signature}").content.decode()
    for raw in ("<script>Nothing", "<b>first", "go<img>", "<i>evil", "\u202e"):
        assert raw not in page
    for shown in ("&lt;script&gt;Nothing", "&lt;b&gt;first", "go&lt;img&gt;", "&lt;i&gt;evil"):
        assert shown in page


def test_an_optional_account_that_is_left_out_is_called_none(
    chain: LittleChain, admin_client: Client
) -> None:
    """Programs of Anchor are given their own address for it."""
    stored(chain.records)
    uploaded(admin_client, idl("go", program=WORKS))
    signature = chain.sent[1].signatures[0]
    page = admin_client.get(f"/admin/rewind/replay/run/?signatures={signature}").content.decode()
    label = "<dt>&lt;b&gt;first&lt;/b&gt;</dt>"
    assert f'{label}<dd><code class="break tm-break">none</code></dd>' in page
