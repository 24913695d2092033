"""Sphinx configuration: warnings are errors (`make docs`)."""

import hopfieldphase

project = "hopfieldphase"
author = "The hopfieldphase developers"
copyright = "2026, the hopfieldphase developers"
version = release = hopfieldphase.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax"]
myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = False

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"hopfieldphase {release}"
html_show_sourcelink = False
