"""The one family of exceptions: every message says what is wrong, what is allowed, what to do."""


class HopfieldPhaseError(Exception):
    """Base of every error that this package raises on purpose."""


class InputError(HopfieldPhaseError, ValueError):
    """The input lies outside the domain: one line with the value, what is allowed and what to do."""


def one_line(text: str, most: int = 800) -> str:
    """Text from elsewhere on one line of limited length, without characters that a terminal would obey."""
    words = " ".join(text.split())
    line = "".join(char if char.isprintable() else "?" for char in words)
    return line if len(line) <= most else f"{line[: most // 2]} … {line[-most // 2 :]}"


def shown(value: object) -> str:
    """A wrong value as messages show it: text in quotes, shortened."""
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # a whole number of so many digits that Python does not write it
        text = "a number of thousands of digits"
    return one_line(text, 80)
