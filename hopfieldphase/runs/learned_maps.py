"""The attention maps of trained Transformers by name; importing this costs no NumPy."""

from typing import Literal, NamedTuple

from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.errors import InputError, shown
from hopfieldphase.runs.spec_base import word_list

Scaling = Literal["none", "logarithmic", "adaptive"]


class LearnedMap(NamedTuple):
    """Tsallis index α, and what is learned as the factor of the scores (`learn.score_scaling`)."""

    alpha: float
    scaling: Scaling


PAPER = ("softmax", "entmax-1.5", "sparsemax")
"""The three maps of Appendix G."""

SCALED = ("scalable-softmax", "asentmax")
"""Maps whose scores are scaled with the number of memories, with learned constants."""

_NAMED = {
    "softmax": LearnedMap(1.0, "none"),
    "sparsemax": LearnedMap(2.0, "none"),
    "scalable-softmax": LearnedMap(1.0, "logarithmic"),
    "asentmax": LearnedMap(1.5, "adaptive"),
}


def learned_map(name: str) -> LearnedMap:
    """The map of a name: `softmax`, `sparsemax`, `entmax-ALPHA`, `scalable-softmax` or `asentmax`.

    Raises
    ------
    InputError
        If there is no such map.
    """
    if name in _NAMED:
        return _NAMED[name]
    kind, _, index = name.partition("-")
    if kind == "entmax" and index.replace(".", "", 1).isdecimal():
        return LearnedMap(tsallis_index(float(index)), "none")
    raise InputError(
        f"maps has {shown(name)}: choose among {', '.join(_NAMED)} and entmax-ALPHA, like entmax-1.5"
    )


def map_names(given: object) -> tuple[str, ...]:
    """A comma list, or a sequence of names, as names of maps; `InputError` for an unknown or repeated one."""
    names = word_list("maps", given, f"{', '.join(_NAMED)} and entmax-ALPHA, like entmax-1.5")
    for name in names:
        learned_map(name)
    return names
