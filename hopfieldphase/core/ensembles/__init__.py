"""Heavy-tailed ensembles: laws on the line, operators on the plane, attention integrals."""

from hopfieldphase.core.ensembles.gaussian import Gaussian
from hopfieldphase.core.ensembles.identifiability import (
    GaussianTwins,
    gaussian_twins,
    matrix_from_tail_axis,
    matrix_from_tail_form,
    shear_from_centre,
    shear_from_covariance,
)
from hopfieldphase.core.ensembles.integrability import KERNELS, ScoreKernel, growth_exponent
from hopfieldphase.core.ensembles.laws import Law
from hopfieldphase.core.ensembles.operators import (
    Ensembles,
    Instance,
    MatrixInverse,
    ShearedSwap,
    draw_instance,
)
from hopfieldphase.core.ensembles.pareto import MirroredPareto, pareto_transport
from hopfieldphase.core.ensembles.spliced import SplicedPareto
from hopfieldphase.core.ensembles.symlog import symexp, symlog

__all__ = [
    "KERNELS",
    "Ensembles",
    "Gaussian",
    "GaussianTwins",
    "Instance",
    "Law",
    "MatrixInverse",
    "MirroredPareto",
    "ScoreKernel",
    "ShearedSwap",
    "SplicedPareto",
    "draw_instance",
    "gaussian_twins",
    "growth_exponent",
    "matrix_from_tail_axis",
    "matrix_from_tail_form",
    "pareto_transport",
    "shear_from_centre",
    "shear_from_covariance",
    "symexp",
    "symlog",
]
