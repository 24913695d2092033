"""Order of the transition of equidistant patterns against α: from the spec to its result folder."""

import numpy as np
import xarray as xr

from hopfieldphase.data.order import order_tree
from hopfieldphase.phases.order import check_order, order_lines
from hopfieldphase.runs.order_spec import OrderSpec
from hopfieldphase.runs.parallel import Progress, run_tasks


def order(spec: OrderSpec, *, threads: int | None = None, progress: Progress | None = None) -> xr.DataTree:
    """Critical couplings over α from the closed forms, and measured at some α.

    Parameters
    ----------
    spec : OrderSpec
    threads : int, optional
        By default every core that this process may use; results do not depend on it beyond rounding.
    progress : callable, optional
        Called as ``progress(done, total)`` after every measurement at one M and α.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.order`.
    """
    alphas = np.array(spec.alphas)
    lines = [order_lines(M, alphas) for M in spec.M]
    points = [(M, alpha) for M in spec.M for alpha in spec.checks]
    found = run_tasks(lambda i: check_order(*points[i], spec.cosine), len(points), threads, progress)
    checks = [check for group in found for check in group]
    return order_tree(lines, checks, spec.model_dump())
