"""The portal's pages in the admin."""

from portal.admin import members as members
