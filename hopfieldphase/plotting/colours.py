"""The colours of all figures: those of Okabe and Ito, which people with any colour vision tell apart."""

UP, DOWN = "#0072B2", "#D55E00"
"""Up and down sweep."""

BRANCHES = (UP, DOWN, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Branches in the order in which they get a colour of their own."""
