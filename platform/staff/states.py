"""States of jobs, orders, imports, sweeps and batches as badges."""

from django.utils.safestring import SafeString

from staff.formatting import badge

_HUES = {
    **dict.fromkeys(("open", "done", "landed"), "good"),
    **dict.fromkeys(("running", "planned"), "warning"),
    "failed": "bad",
}


def state_badge(state: str, hint: str = "") -> SafeString:
    """The state in its hue; quiet where nothing is to be done, as for queued or cancelled."""
    return badge(state, _HUES.get(state, "quiet"), hint)
