"""One endless sequence of patterns, of which sweeps in the memory load take a growing beginning."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns.nested import clustered, gaussian, heavy_tailed, spherical
from hopfieldphase.core.patterns.rows import Patterns

_NESTED: dict[str, tuple[Callable[..., Patterns], tuple[str, ...]]] = {
    "clustered": (clustered, ("clusters", "delta", "noise")),
    "gaussian": (gaussian, ()),
    "heavy_tailed": (heavy_tailed, ("degrees_of_freedom",)),
    "spherical": (spherical, ()),
}


@dataclass(frozen=True)
class PatternSequence:
    """An endless, reproducible sequence of patterns, of which any beginning can be taken.

    `take(M)` gives the first M patterns, whatever M: a sweep in the memory load κ = log(M)/d takes more
    and more of ONE sequence, so that patterns only join or leave. Use `sequence` to make one, and
    `dataclasses.replace(s, realization=k)` for another realization.

    Attributes
    ----------
    name : str
        Generator: "clustered", "gaussian", "heavy_tailed" or "spherical".
    d : int
        Dimension of the patterns.
    seed, realization : int
        Row μ depends on (seed, realization, μ) alone.
    params : dict
        Further arguments of the generator.
    """

    name: str
    d: int
    seed: int = 0
    realization: int = 0
    params: dict[str, float | int | str] = field(default_factory=dict[str, float | int | str], hash=False)

    def __post_init__(self) -> None:
        if self.name not in _NESTED:
            raise InputError(f"pattern sequence {self.name!r} is unknown: use one of {', '.join(_NESTED)}")
        allowed = _NESTED[self.name][1]
        for param in self.params:
            if param not in allowed:
                raise InputError(
                    f"parameter {param!r} of the pattern sequence {self.name!r} is unknown: "
                    f"allowed are {', '.join(allowed) or 'none'}"
                )
        object.__setattr__(self, "params", dict(self.params))
        self.take(1)  # a wrong value fails here, not in the middle of a sweep

    def take(self, M: int) -> Patterns:
        """The first M patterns, shape (M, d); take the largest M once and slice where several are needed."""
        generate = _NESTED[self.name][0]
        return generate(M, self.d, seed=self.seed, realization=self.realization, **self.params)


def sequence(
    name: str, d: int, seed: int = 0, realization: int = 0, **params: float | int | str
) -> PatternSequence:
    """Nested patterns for sweeps in the memory load: `sequence(...).take(M)` are the first M rows.

    Parameters
    ----------
    name : {"clustered", "gaussian", "heavy_tailed", "spherical"}
        The generator of this module that draws the rows.
    d : int
        Dimension ≥ 1.
    seed, realization : int
        Both ≥ 0; realization k depends on (seed, k) alone.
    **params
        Further arguments of that generator, for example ``delta=0.04``.

    Returns
    -------
    PatternSequence

    Raises
    ------
    InputError
        If the name or a parameter is unknown, or a value lies outside its domain.

    Notes
    -----
    Source: Appendix F.3 (memory-load sweeps), with M(κ) = round(exp(κ d)).
    """
    return PatternSequence(name, d, seed, realization, params)
