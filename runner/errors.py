"""The base of every error that the user can mend; the command line prints its message alone and ends with status 2."""

from __future__ import annotations


class UserError(Exception):
    """What is wrong, where, why, and what to do."""
