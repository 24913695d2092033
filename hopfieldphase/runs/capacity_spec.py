"""Which Transformers are trained and how they are measured; importing this costs no NumPy."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.ranges import format_grid, parse_grid
from hopfieldphase.runs.specs import TomlSpec, one_of, whole

PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"steps": 400, "examples": 64, "loads": "8:512:x2", "betas": "0.25:512:x4"},
    "paper": {},
}
"""Options by name: `paper` has those of Appendices G.2 and G.3, `quick` less of everything."""


class CapacitySpec(TomlSpec):
    """Training steps and seeds of the models, and the grids over which they are measured.

    For each index in `alphas`, each seed from `seed` on and both tasks one model is trained at β = 1. It is
    measured at β = 1 over `loads`, and with `beta_load` memories over `betas`, on `examples` examples each.
    Grids may be given as text (`runs.ranges`).
    """

    study: Annotated[str, one_of("study", ("capacity",))] = "capacity"
    alphas: tuple[float, ...] = (1.0, 1.5, 2.0)
    seed: Annotated[int, whole("seed", 0)] = 0
    realizations: Annotated[int, whole("realizations", 1)] = 1
    steps: Annotated[int, whole("steps", 1)] = 2500
    examples: Annotated[int, whole("examples", 2)] = 512
    loads: tuple[int, ...] = tuple(2**k for k in range(3, 13))
    betas: tuple[float, ...] = tuple(2.0**k for k in range(-2, 10))
    beta_load: Annotated[int, whole("beta_load", 4)] = 128

    @model_validator(mode="before")
    @classmethod
    def _read_grids(cls, options: Any) -> Any:
        if not isinstance(options, Mapping):
            return options
        read = dict(options)
        for name in ("alphas", "loads", "betas"):
            if read.get(name) is not None:
                read[name] = parse_grid(read[name], name)
        if "loads" in read:
            read["loads"] = tuple(int(M) if float(M).is_integer() else M for M in read["loads"])
        return read

    @model_validator(mode="after")
    def _check(self) -> Self:
        for alpha in self.alphas:
            tsallis_index(alpha)
        for name, M in (*(("loads", M) for M in self.loads), ("beta_load", self.beta_load)):
            if M < 4 or M % 4:
                raise InputError(f"{name} has {M} memories: give multiples of 4, for 4 equal clusters")
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        count = 2 * len(self.alphas) * self.realizations
        return (
            f"{count} Transformers, {self.steps} steps each: alpha {format_grid(self.alphas)}, "
            f"M {format_grid(self.loads)} at beta 1, beta {format_grid(self.betas)} at M = {self.beta_load}"
        )
