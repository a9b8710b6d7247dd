"""Errors of the portal, which its pages show."""

from access.errors import ActionRefused


class MayNot(ActionRefused):
    """Beyond the rights that staff gave."""


class TooMany(ActionRefused):
    """The maximum number is reached."""


class AddressTaken(ActionRefused):
    """The e-mail address signs in already."""


class LinkSpent(ActionRefused):
    """The link was used, has expired, or is invalid."""
