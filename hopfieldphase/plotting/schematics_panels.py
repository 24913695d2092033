"""What the schematic figures share: colours and a row of three panels."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from hopfieldphase.plotting import style

BLUE, RED, GREEN = "#0072B2", "#D55E00", "#009E73"


def three_panels(axes: Sequence[Axes] | None, height: float) -> tuple[Axes, Axes, Axes]:
    """The given axes, or three of a new figure over both columns; to be called within `style.style`."""
    if axes is None:
        axes = list(style.new_figure(style.DOUBLE, height).subplots(1, 3))
    first, second, third = axes
    return first, second, third
