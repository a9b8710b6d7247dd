"""The form of a replay: where to run, and what to change of accounts and programs."""

import binascii
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from django import forms
from solders.pubkey import Pubkey

from chain.encodings import b64decode, b64encode
from chain.explained.instructions import sol
from chain.units import I64_MAX, U64_MAX
from rewind.replay.admin.replays.choices import AccountRow, BuildChoice
from rewind.replay.services.replays.requests import AccountEdit, ProgramEdit, ReplayRequest

OTHER = "other"
_IN_SOL = re.compile(
    r"(?P<amount>[0-9][0-9,_]*\.[0-9]{1,9}|[0-9][0-9,_]*(?=\s*SOL))\s*(SOL)?", re.IGNORECASE
)
# An earlier replay's balances below this are shown in lamports.
_LEAST_IN_SOL = 1_000_000
_HEX = re.compile(r"^0x([0-9a-fA-F]{2})*$")
_MOST_TEXT = 200_000
_NO_FILL = {"autocomplete": "off", "spellcheck": "false"}


class LamportsField(forms.CharField):
    """1,000,000 is lamports; 1.5 and 2 SOL are SOL. None where nothing is written."""

    def clean(self, value: Any) -> int | None:
        text = super().clean(value).strip()
        if not text:
            return None
        in_sol = _IN_SOL.fullmatch(text)
        digits = text.replace(",", "").replace("_", "")
        if in_sol is not None:
            try:
                found = int(Decimal(in_sol["amount"].replace(",", "").replace("_", "")) * 10**9)
            except InvalidOperation:
                found = -1
        else:
            found = int(digits) if re.fullmatch(r"[0-9]{1,20}", digits) else -1
        if not 0 <= found <= U64_MAX:
            raise forms.ValidationError(
                "Write lamports as 1000000, or SOL as 1.5 or 2 SOL; 0 removes the account."
            )
        return found


class DataField(forms.CharField):
    """Base64, or hex that begins with 0x; gives base64, None where nothing is written."""

    def clean(self, value: Any) -> str | None:
        text = re.sub(r"\s", "", super().clean(value))
        if not text:
            return None
        try:
            data = bytes.fromhex(text[2:]) if _HEX.match(text) else b64decode(text)
        except (ValueError, binascii.Error):
            raise forms.ValidationError(
                "Write the data in base64, or in hex after 0x; 0x alone is no data."
            ) from None
        return b64encode(data)


class PubkeyField(forms.CharField):
    """Base58 of 32 bytes; None where nothing is written."""

    def clean(self, value: Any) -> str | None:
        text = super().clean(value).strip()
        if not text:
            return None
        try:
            return str(Pubkey.from_string(text))
        except ValueError:
            raise forms.ValidationError("Not an address: 32 bytes in base58.") from None


def _field(kind: type[forms.CharField], label: str, **attrs: str) -> forms.CharField:
    wide = attrs.pop("rows", "")
    widget: Any = forms.Textarea if wide else forms.TextInput
    given = {**_NO_FILL, **attrs, **({"rows": wide} if wide else {})}
    return kind(label=label, required=False, max_length=_MOST_TEXT, widget=widget(attrs=given))


class ReplayForm(forms.Form):
    """A replay of these accounts' transactions. `change` is the request that it comes to."""

    slot = forms.IntegerField(
        label="Slot",
        required=False,
        min_value=0,
        max_value=I64_MAX,
        help_text="Empty: its own place on the chain",
    )
    index = forms.IntegerField(
        label="After the transaction of index",
        required=False,
        min_value=0,
        max_value=2**31 - 2,
        help_text="Empty: at the end of the slot",
    )
    tolerate_gaps = forms.BooleanField(
        label="Use what was known before missing slots",
        required=False,
        help_text="The result then says which accounts may have been another.",
    )
    program = forms.ChoiceField(label="Program", required=False)
    build = forms.ChoiceField(label="Build", required=False)
    note = forms.CharField(
        label="Note",
        max_length=100,
        required=False,
        help_text="For who opens the link, such as: payer with 2 SOL",
        widget=forms.TextInput(attrs=_NO_FILL),
    )

    def __init__(
        self,
        data: Any = None,
        *,
        accounts: Sequence[AccountRow],
        builds: Sequence[BuildChoice],
        earlier: ReplayRequest | None = None,
    ) -> None:
        super().__init__(data, initial=_initial(earlier, accounts) if earlier else None)
        self.accounts = accounts
        self.builds = {each.value: each for each in builds}
        fields: Any = self.fields
        programs = [each.pubkey for each in accounts if each.is_program]
        fields["program"].choices = [("", "none"), *((each, each) for each in programs)]
        fields["build"].choices = [("", "none"), *((each.value, each.label) for each in builds)]
        for number in (*range(len(accounts)), OTHER):
            fields.update(_account_fields(str(number)))
        fields[f"pubkey_{OTHER}"] = _field(PubkeyField, "Address of another account")
        for bound in fields.values():
            bound.widget.attrs.setdefault("class", "rp-input")

    def rows(self) -> Iterator[tuple[AccountRow | None, dict[str, Any], bool, str]]:
        """(account, its fields, whether they are shown open, the balance that would have sufficed,
        for the field); None for the other account.
        """
        for number, row in (*enumerate(self.accounts), (OTHER, None)):
            names = ("lamports", "owner", "data", "offset")
            bound = {name: self[f"{name}_{number}"] for name in names}
            is_open = any(bound[name].value() or bound[name].errors for name in names[1:])
            enough = None if row is None else row.sufficient
            yield row, bound, is_open, str(balance_text(enough) or "")

    @property
    def has_changes(self) -> bool:
        """Whether a request was filled in, or changes of an earlier one."""
        return self.is_bound or bool(self.initial)

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or {}
        if found.get("index") is not None and found.get("slot") is None:
            self.add_error("index", "An index needs its slot.")
        if bool(found.get("program")) != bool(found.get("build")):
            field = "build" if found.get("program") else "program"
            self.add_error(field, "A program needs its build, and a build its program.")
        build = self.builds.get(found.get("build") or "")
        if build is not None and build.program and build.program != found.get("program"):
            self.add_error("build", f"This build is one of {build.program}.")
        other = {
            name: found.get(f"{name}_{OTHER}") for name in ("lamports", "owner", "data", "offset")
        }
        if found.get(f"pubkey_{OTHER}") is None and any(v is not None for v in other.values()):
            self.add_error(f"pubkey_{OTHER}", "Name the account that these changes are for.")
        for number in (*range(len(self.accounts)), OTHER):
            if found.get(f"offset_{number}") is not None and found.get(f"data_{number}") is None:
                self.add_error(f"offset_{number}", "An offset needs the data to write there.")
        keys = {each.pubkey for each in self.accounts}
        if found.get(f"pubkey_{OTHER}") in keys:
            self.add_error(f"pubkey_{OTHER}", "The account is in the list: change it there.")
        return found

    def change(self) -> ReplayRequest:
        """Of a form that is valid."""
        found = self.cleaned_data
        edits = [
            edit
            for number, row in enumerate(self.accounts)
            if (edit := self._edit(row.pubkey, str(number))) is not None
        ]
        other = found.get(f"pubkey_{OTHER}")
        if other is not None and (edit := self._edit(other, OTHER)) is not None:
            edits.append(edit)
        build = self.builds.get(found.get("build") or "")
        return ReplayRequest(
            slot=found.get("slot"),
            index=found.get("index"),
            accounts=tuple(edits),
            program=None if build is None else _program(found["program"], build),
            tolerate_gaps=bool(found.get("tolerate_gaps")),
        )

    def _edit(self, pubkey: str, number: str) -> AccountEdit | None:
        found = self.cleaned_data
        lamports, owner = found.get(f"lamports_{number}"), found.get(f"owner_{number}")
        data, offset = found.get(f"data_{number}"), found.get(f"offset_{number}")
        if (lamports, owner, data) == (None, None, None):
            return None
        return AccountEdit(pubkey, lamports=lamports, owner=owner, data=data, offset=offset)


def _account_fields(number: str) -> dict[str, forms.Field]:
    return {
        f"lamports_{number}": _field(LamportsField, "Balance", placeholder="lamports, or 1.5 SOL"),
        f"owner_{number}": _field(PubkeyField, "Owner"),
        f"data_{number}": _field(DataField, "Data, base64 or 0x hex", rows="2"),
        f"offset_{number}": forms.IntegerField(
            label="From byte",
            required=False,
            min_value=0,
            max_value=10_485_760,
            widget=forms.NumberInput(attrs={"placeholder": "all of it"}),
        ),
    }


def balance_text(lamports: int | None) -> str | int | None:
    """A balance as the form takes it: 1000.001 SOL; small ones in lamports."""
    if lamports is None or lamports < _LEAST_IN_SOL:
        return lamports
    return f"{sol(lamports).replace(',', '')} SOL"


def _program(program: str, build: BuildChoice) -> ProgramEdit:
    return ProgramEdit(
        program=program,
        name=build.name,
        size=build.size,
        digest=build.digest,
        shelf_id=build.shelf_id,
        upload_id=build.upload_id,
    )


def _initial(earlier: ReplayRequest, accounts: Sequence[AccountRow]) -> dict[str, Any]:
    """The fields that an earlier replay was made with."""
    numbers = {each.pubkey: str(number) for number, each in enumerate(accounts)}
    found: dict[str, Any] = {
        "slot": earlier.slot,
        "index": earlier.index,
        "tolerate_gaps": earlier.tolerate_gaps,
    }
    for edit in earlier.accounts:
        number = numbers.get(edit.pubkey, OTHER)
        found |= {
            f"lamports_{number}": balance_text(edit.lamports),
            f"owner_{number}": edit.owner,
            f"data_{number}": "0x" if edit.data == "" else edit.data,
            f"offset_{number}": edit.offset,
        }
        if number == OTHER:
            found[f"pubkey_{OTHER}"] = edit.pubkey
    if earlier.program is not None:
        own = earlier.program
        found |= {"program": own.program, "build": BuildChoice.value_of(own)}
    return found
