"""The portal's pages in the admin."""

from portal.admin import find as find
from portal.admin import members as members
