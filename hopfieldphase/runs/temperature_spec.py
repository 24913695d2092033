"""Which Transformers are trained and at which inverse temperatures they work; this costs no NumPy."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.capacity_spec import TrainedSpec, check_load
from hopfieldphase.runs.ranges import format_grid
from hopfieldphase.runs.spec_base import one_of, whole, words

PROTOCOLS = ("frozen", "matched")
"""Trained at β = 1 and used at another β, or trained at the β of use."""

PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"steps": 400, "examples": 64, "betas": "0.25:256:x4", "realizations": 1, "key_examples": 1},
    "paper": {},
}
"""Options by name: `paper` has those of Appendix G.3 and three seeds, `quick` less of everything."""


class TemperatureSpec(TrainedSpec):
    """Protocols, training steps and seeds of the models, and the inverse temperatures β of their attention.

    Each model is measured with `load` memories on `examples` examples. For models trained at β = 1 the
    phases of their own keys are found too, for the memories of `key_examples` examples (0: none).
    """

    study: Annotated[str, one_of("study", ("temperature",))] = "temperature"
    protocols: tuple[str, ...] = PROTOCOLS
    load: Annotated[int, whole("load", 4)] = 128
    betas: tuple[float, ...] = tuple(2.0**k for k in range(-2, 10))
    key_examples: Annotated[int, whole("key_examples", 0)] = 2

    @model_validator(mode="before")
    @classmethod
    def _read_protocols(cls, options: Any) -> Any:
        if isinstance(options, Mapping) and "protocols" in options:
            return dict(options) | {"protocols": words("protocols", options["protocols"], PROTOCOLS)}
        return options

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_load("load", self.load)
        if "frozen" in self.protocols and 1.0 not in self.betas:
            raise InputError(
                f"betas = {format_grid(self.betas)} lacks 1, where the frozen models are trained"
            )
        return self

    @property
    def trained_betas(self) -> tuple[float, ...]:
        """The β at which models are trained."""
        return self.betas if "matched" in self.protocols else (1.0,)

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        count = len(self.tasks) * len(self.maps) * self.realizations * len(self.trained_betas)
        return (
            f"{count} Transformers, {self.steps} steps each: {', '.join(self.maps)}; "
            f"{' and '.join(self.protocols)} beta {format_grid(self.betas)} at M = {self.load}"
        )
