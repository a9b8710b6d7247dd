"""What the portal refuses a customer, in words for a page."""

from access.errors import OrderRefused


class MayNot(OrderRefused):
    """More than staff gave, or something of staff's own."""


class TooMany(OrderRefused):
    """As many as there may be."""


class AddressTaken(OrderRefused):
    """The e-mail address signs in already."""


class LinkSpent(OrderRefused):
    """The link was used, is too old, or was never one."""
