"""The numerical validation of Appendix G.4, from a spec to its result folder."""

import xarray as xr

from hopfieldphase.data.validation import validation_tree
from hopfieldphase.phases.validation.appendix_g4 import support_values, two_key_values
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.validation_spec import SupportsSpec, TwoKeysSpec


def validation(spec: TwoKeysSpec | SupportsSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Locate the critical points of every system; see `hopfieldphase.data.validation`.

    Notes
    -----
    Source: Appendix G.4 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    if isinstance(spec, TwoKeysSpec):
        values = two_key_values(spec.cosines, spec.d, spec.rotations, spec.scale)
        total = len(spec.cosines) * spec.rotations
    else:
        values = support_values(spec.sizes, spec.d, spec.systems, spec.scale)
        total = len(spec.sizes) * spec.systems
    found = []
    for value in values:
        found.append(value)
        if progress is not None:
            progress(len(found), total)
    return validation_tree(spec.study, found, spec.model_dump(exclude_none=True))
