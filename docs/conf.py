"""Sphinx configuration: warnings are errors (`make docs`)."""

import re

import hopfieldphase

project = "hopfieldphase"
author = "The hopfieldphase developers"
copyright = "2026, the hopfieldphase developers"
version = release = hopfieldphase.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax"]
exclude_patterns = ["_build"]
default_role = "literal"
myst_enable_extensions = ["dollarmath"]

autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"hopfieldphase {release}"
html_show_sourcelink = False


def keep_formulas(app, what, name, obj, options, lines):
    """Formulas in docstrings are plain text: their |x| and Ω* are no markup."""
    for number, line in enumerate(lines):
        parts = re.split(r"(`+[^`]*`+)", line)
        parts[::2] = [re.sub(r"([|*_])", r"\\\1", part) for part in parts[::2]]
        lines[number] = "".join(parts)


def setup(app):
    app.connect("autodoc-process-docstring", keep_formulas, priority=0)
