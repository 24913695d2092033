"""The one family of exceptions: every message says what is wrong, what is allowed, what to do."""


class HopfieldPhaseError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(HopfieldPhaseError, ValueError):
    """The input lies outside the domain: one line with the value, what is allowed and what to do."""
