"""Which Transformers are trained and at which memory loads they are measured; this costs no NumPy."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.learned_maps import PAPER, SCALED, map_names
from hopfieldphase.runs.ranges import format_grid, parse_grid
from hopfieldphase.runs.spec_base import TomlSpec, one_of, whole, words

Task = Literal["selective", "uniform"]

TASKS: tuple[Task, ...] = ("selective", "uniform")
"""To give back the value of one memory, or the mean value of one cluster."""

PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"steps": 400, "examples": 64, "loads": "8:512:x2", "maps": PAPER, "realizations": 1},
    "paper": {},
}
"""Options by name: `paper` has those of Appendix G.2 and three seeds, `quick` less of everything."""


class TrainedSpec(TomlSpec):
    """Options that all studies of trained Transformers share: what is trained, and on how many seeds."""

    tasks: tuple[Task, ...] = TASKS
    maps: tuple[str, ...] = PAPER
    seed: Annotated[int, whole("seed", 0)] = 0
    realizations: Annotated[int, whole("realizations", 1)] = 3
    steps: Annotated[int, whole("steps", 1)] = 2500
    examples: Annotated[int, whole("examples", 2)] = 512

    @model_validator(mode="before")
    @classmethod
    def _read_lists(cls, options: Any) -> Any:
        if not isinstance(options, Mapping):
            return options
        read = dict(options)
        for name in ("loads", "betas"):
            if read.get(name) is not None:
                read[name] = parse_grid(read[name], name)
        if "loads" in read:
            read["loads"] = tuple(int(M) if float(M).is_integer() else M for M in read["loads"])
        if "maps" in read:
            read["maps"] = map_names(read["maps"])
        if "tasks" in read:
            read["tasks"] = words("tasks", read["tasks"], TASKS)
        return read

    @property
    def seeds(self) -> range:
        """The training seeds."""
        return range(self.seed, self.seed + self.realizations)


def check_load(name: str, M: int) -> None:
    """Raise `InputError` unless M memories fill the four clusters equally."""
    if M < 4 or M % 4:
        raise InputError(f"{name} has {M} memories: give multiples of 4, for 4 equal clusters")


class CapacitySpec(TrainedSpec):
    """Training steps and seeds of the models, and the memory loads at which they are measured.

    For each task, each of `maps` and each seed from `seed` on one model is trained at β = 1, and measured at
    β = 1 over `loads` on `examples` examples each. Lists may be given as text.
    """

    study: Annotated[str, one_of("study", ("capacity",))] = "capacity"
    maps: tuple[str, ...] = (*PAPER, *SCALED)
    loads: tuple[int, ...] = tuple(2**k for k in range(3, 13))

    @model_validator(mode="after")
    def _check_loads(self) -> Self:
        for M in self.loads:
            check_load("loads", M)
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        count = len(self.tasks) * len(self.maps) * self.realizations
        return (
            f"{count} Transformers, {self.steps} steps each: {', '.join(self.maps)}; "
            f"M {format_grid(self.loads)} at beta 1"
        )
