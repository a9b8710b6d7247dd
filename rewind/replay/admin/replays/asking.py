"""A replay from its form to its row, for the portal and the admin."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from jsonrpc.errors import RpcError
from rewind.replay.admin.replays import words
from rewind.replay.admin.replays.choices import account_rows, build_choices
from rewind.replay.admin.replays.forms import ReplayForm
from rewind.replay.models import Replay
from rewind.replay.services.replays import keeping, running, uploads
from rewind.replay.services.replays.keeping import Maker
from rewind.replay.services.replays.requests import ReplayRequest
from rewind.replay.services.replays.results import ReplayResult
from rewind.replay.services.replays.running import Subject
from staff.errors import ActionRefused

# Runs a replay of so many transactions, or refuses to: what a caller's limits have to say.
Guard = Callable[[Callable[[], ReplayResult]], ReplayResult]


@dataclass(slots=True)
class Asked:
    """A form with the result: the replay that was made, or the refusal of one that was asked
    for.
    """

    form: ReplayForm
    made: Replay | None = None
    refusal: dict[str, str] = field(default_factory=dict)

    @property
    def context(self) -> dict[str, Any]:
        """For templates/replays/form.html."""
        return {"form": self.form, "refusal": self.refusal}


def ask(
    request: HttpRequest,
    subjects: Sequence[Subject],
    *,
    by: Maker,
    guard: Guard,
    bundle_id: str = "",
    earlier: ReplayRequest | None = None,
) -> Asked:
    """The form that was sent, or an empty one, or that of an `earlier` replay."""
    form = ReplayForm(
        request.POST if request.method == "POST" else None,
        accounts=account_rows(subjects),
        builds=build_choices(by.customer_id, subjects),
        earlier=earlier,
    )
    asked = Asked(form)
    if not form.is_bound or not form.is_valid():
        return asked
    change = form.change()
    try:
        asked.made = keeping.make(
            change,
            lambda: guard(lambda: _run(subjects, change, by.customer_id)),
            by=by,
            signatures=[each.recorded.signature for each in subjects],
            bundle_id=bundle_id,
            note=form.cleaned_data["note"],
            most=settings.REPLAYS_KEPT,
            now=timezone.now(),
        )
    except RpcError as error:
        asked.refusal = words.refusal(error)
    except ActionRefused as error:
        asked.refusal = {"text": str(error), "meaning": "", "advice": ""}
    return asked


def _run(
    subjects: Sequence[Subject], change: ReplayRequest, customer_id: int | None
) -> ReplayResult:
    code = None
    if change.program is not None:
        code = uploads.code_for(
            customer_id, shelf_id=change.program.shelf_id, upload_id=change.program.upload_id
        )
    return running.run(
        subjects, change, code=code, timeout_seconds=settings.SIMULATION_TIMEOUT_SECONDS
    )
