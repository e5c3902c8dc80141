"""The site: pages in Markdown, a gallery of examples that are run, and a reference from docstrings.

Nothing is fetched, neither when the site is built nor when it is read: formulas are MathML, figures are drawn by the
plotly that is installed, and the theme brings its own fonts.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

from gallery_figures import PlotlyScraper, begin_example  # noqa: E402
from reference_pages import write_reference  # noqa: E402

write_reference(HERE / "api")

import discriminant  # noqa: E402

project, author, copyright = "discriminant", "The discriminant developers", "The discriminant developers"  # noqa: A001
version = release = discriminant.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "gallery_figures",
    "repository_pages",
]
exclude_patterns = [
    "_build",
    "_extensions",
    "_templates",
    "gallery/**/*.ipynb",
    "gallery/**/*.md5",
    "sg_execution_times.rst",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
default_role = "code"
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # the settings of the gallery contain functions

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": (PlotlyScraper(),),
    "reset_modules": (begin_example,),
    "capture_repr": (),
    "write_computation_times": False,  # its pages would download scripts
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "copyfile_regex": "",
}

html_theme = "pydata_sphinx_theme"
html_title = "discriminant"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 7,
}

# Warnings about data are part of the examples; deprecation warnings of other packages are not.
warnings.filterwarnings("ignore", category=DeprecationWarning)


def _is_not_ours(app, kind, name, member, skip, options):  # type: ignore[no-untyped-def]  # noqa: ARG001
    """Whether a method is defined by another package: scikit-learn's routing, the methods of exceptions."""
    owner = getattr(member, "__module__", None) or getattr(getattr(member, "__objclass__", None), "__module__", "")
    return True if callable(member) and not owner.startswith("discriminant") else None


def setup(app):  # type: ignore[no-untyped-def]
    """Exclude members of other packages from the reference."""
    app.connect("autodoc-skip-member", _is_not_ours)
