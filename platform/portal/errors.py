"""What the portal refuses a customer, in words for a page."""

from access.errors import ActionRefused


class MayNot(ActionRefused):
    """More than staff gave, or something of staff's own."""


class TooMany(ActionRefused):
    """As many as there may be."""


class AddressTaken(ActionRefused):
    """The e-mail address signs in already."""


class LinkSpent(ActionRefused):
    """The link was used, is too old, or was never one."""
