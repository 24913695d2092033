"""Sphinx configuration: warnings are errors (`make docs`)."""

import re
import shutil
from pathlib import Path

import hopfieldphase
from hopfieldphase.runs.reproduction import report

ROOT = Path(__file__).resolve().parent.parent
GENERATED = Path(__file__).resolve().parent / "generated"

project = "hopfieldphase"
author = "The hopfieldphase developers"
copyright = "2026, the hopfieldphase developers"
version = release = hopfieldphase.__version__

extensions = [
    "myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery", "sphinx-mathjax-offline",  # formulas without a network
]  # fmt: skip
exclude_patterns = ["_build", "gallery/**", "generated/gallery/**.ipynb"]
default_role = "literal"
myst_enable_extensions = ["dollarmath"]
nb_execution_mode = "off"  # notebooks are committed with their outputs; CI runs them

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"\.py$",  # all of them are run
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "nested_sections": False,
    "plot_gallery": True,
    "show_memory": False,
    "show_signature": False,
    "subsection_order": [f"gallery/{part}" for part in ("phases", "formulas", "attention", "tools")],
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}

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


def bring_notebooks(app):
    """The notebooks, into the sources: Sphinx reads no page outside of them."""
    target = GENERATED / "notebooks"
    target.mkdir(parents=True, exist_ok=True)
    for file in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copyfile(file, target / file.name)


def fill_reproduction(app, docname, source):
    """The table of claims, from the results that `hopfieldphase reproduce` wrote."""
    if docname == "reproduction":
        results = Path(app.srcdir, "reproduction.json")
        app.env.note_dependency(str(results))
        source[0] += report.to_markdown(report.read_report(results))


def setup(app):
    app.connect("source-read", fill_reproduction)
    app.connect("builder-inited", bring_notebooks)
    app.connect("autodoc-process-docstring", keep_formulas, priority=0)
