"""The claims of "On the Statistical Mechanics of Attention" (arXiv:2610.17347), each measured.

One module per part of the paper, with its claims in `CLAIMS`; `report` runs them.
"""
