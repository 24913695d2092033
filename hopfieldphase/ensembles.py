"""Heavy-tailed laws, operators between them, and what their integrals do."""

from hopfieldphase.core.ensembles import *  # noqa: F403
from hopfieldphase.core.ensembles import __all__  # noqa: F401
