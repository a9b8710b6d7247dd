"""The kinds of things that a customer's members find: their own."""

from collections.abc import Iterator

from django.urls import reverse

from access.find import keys_shown_as
from portal import store
from staff.beginnings import beginning_in
from staff.find import MOST, Hit, Kind
from staff.parsing import signature_in


def kinds_of(customer_id: int) -> list[Kind]:
    """What members of the customer find."""

    def keys(text: str) -> Iterator[Hit]:
        shown = keys_shown_as(text)
        found = store.keys_called(customer_id, text, shown, MOST + 1)
        for each in found:
            yield Hit(str(each), reverse("portal:key", args=[each.pk]), each.tier.name)

    def bundles(text: str) -> Iterator[Hit]:
        bundle_id = text.lower()
        is_id = len(bundle_id) == 64 and set(bundle_id) <= set("0123456789abcdef")
        if is_id and store.has_bundle(customer_id, bundle_id):
            yield Hit(bundle_id, reverse("portal:bundle", args=[bundle_id]))
        beginning = beginning_in(text)
        begun = None if beginning is None or is_id else beginning.bundle
        if begun is not None:
            for name in store.bundles_beginning(customer_id, begun, MOST + 1):
                yield Hit(name, reverse("portal:bundle", args=[name]))

    def submissions(text: str) -> Iterator[Hit]:
        signature = signature_in(text)
        if signature is None:
            for each in store.named_submissions(customer_id, text, MOST + 1):
                name = str(each.signature)
                yield Hit(name, reverse("portal:fate", args=[name]), each.state)
            beginning = beginning_in(text)
            if beginning is not None:
                for name in store.submissions_beginning(customer_id, beginning, MOST + 1):
                    yield Hit(name, reverse("portal:fate", args=[name]))
        elif store.submitted(customer_id, [bytes(signature)]):
            yield Hit(str(signature), reverse("portal:fate", args=[str(signature)]))

    def members(text: str) -> Iterator[Hit]:
        for each in store.members_of(customer_id).filter(user__username__startswith=text.lower())[
            : MOST + 1
        ]:
            yield Hit(str(each), reverse("portal:team"), each.role)

    return [
        Kind("Keys", "the beginning of a name, or the characters that are shown of a key", keys),
        Kind("Bundles", "a bundle id or its first 6 characters or more", bundles),
        Kind(
            "Submissions",
            "a signature or its first 6 characters or more, tip address or request id",
            submissions,
        ),
        Kind("Team", "the beginning of a mail address", members),
    ]
