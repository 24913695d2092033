"""Critical points that are known in closed form, each a plain function next to its domain.

Conventions. Gram matrices are Ξ Ξᵀ in any units: with the cosines of unit-norm patterns the results are
values of b = β s², with the model's G = s² Ξ Ξᵀ they are values of β. Patterns of one common cosine c
depend on the coupling K = b (1 − c) alone. An argument outside a function's domain raises `InputError`; a
threshold that no finite value reaches is `inf`; a point that does not exist is `nan` (an interval: `None`).
All quantities are dimensionless.
"""

from hopfieldphase.core.closed_forms.annealed import annealed_fold, annealed_overlap
from hopfieldphase.core.closed_forms.dispersion import DispersionBounds, dispersion_bounds, isolation_gap
from hopfieldphase.core.closed_forms.one_pattern import (
    HOPFIELD_CRITICAL_BETA,
    hopfield_one_pattern_energy,
    hopfield_one_pattern_limit,
    hopfield_one_pattern_overlap,
)
from hopfieldphase.core.closed_forms.pairs import (
    pair_barrier,
    pair_interval,
    proposition_4_1_energy,
    proposition_4_1_residual,
)
from hopfieldphase.core.closed_forms.potts import (
    potts_barrier,
    potts_coexistence,
    potts_coupling,
    potts_free_energy,
    potts_instability,
    potts_spinodal,
    potts_vertex,
    potts_window,
)
from hopfieldphase.core.closed_forms.rem import rem_capacity, rem_cumulant, rem_threshold
from hopfieldphase.core.closed_forms.storage import (
    OnsetCharacter,
    all_stored_onset,
    exact_storage_onset,
    exact_storage_probability,
    onset_character,
    onset_of_separation,
    pattern_separation,
)
from hopfieldphase.core.closed_forms.suggestion import BetaRange, suggest_beta_range
from hopfieldphase.core.closed_forms.two_keys import (
    Transition,
    two_keys_coexistence,
    two_keys_instability,
    two_keys_transition,
    two_keys_vertex,
)
from hopfieldphase.core.closed_forms.uniform import (
    is_uniform_stationary,
    uniform_existence,
    uniform_spinodal,
)

__all__ = [
    "HOPFIELD_CRITICAL_BETA",
    "BetaRange",
    "DispersionBounds",
    "OnsetCharacter",
    "Transition",
    "all_stored_onset",
    "annealed_fold",
    "annealed_overlap",
    "dispersion_bounds",
    "exact_storage_onset",
    "exact_storage_probability",
    "hopfield_one_pattern_energy",
    "hopfield_one_pattern_limit",
    "hopfield_one_pattern_overlap",
    "is_uniform_stationary",
    "isolation_gap",
    "onset_character",
    "onset_of_separation",
    "pair_barrier",
    "pair_interval",
    "pattern_separation",
    "potts_barrier",
    "potts_coexistence",
    "potts_coupling",
    "potts_free_energy",
    "potts_instability",
    "potts_spinodal",
    "potts_vertex",
    "potts_window",
    "proposition_4_1_energy",
    "proposition_4_1_residual",
    "rem_capacity",
    "rem_cumulant",
    "rem_threshold",
    "suggest_beta_range",
    "two_keys_coexistence",
    "two_keys_instability",
    "two_keys_transition",
    "two_keys_vertex",
    "uniform_existence",
    "uniform_spinodal",
]
