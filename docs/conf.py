"""How the site is made: ``make docs``. Every warning is an error, and every link within the site is checked."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import accord
from accord.registry import TABLE

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))
import reference  # noqa: E402

ROOT = DOCS.parent

project = "Accord"
author = "The Accord authors"
copyright = "The Accord authors, Apache License 2.0"
release = version = accord.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery/*"]
templates_path = ["_templates"]
default_role = "py:obj"
highlight_language = "python"
nitpicky = False

# -- Markdown --------------------------------------------------------------------------------------------------------
myst_enable_extensions = ["colon_fence", "deflist", "attrs_block", "attrs_inline"]
myst_heading_anchors = 4
myst_heading_slug_func = "blocks.slug"  # as Git hosts make them, so that links work there and here

# -- reference (see reference.py) ------------------------------------------------------------------------------------
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"  # the page is that of the class
autodoc_member_order = "groupwise"
_FROM_SCIKIT_LEARN = re.compile(r"[sg]et_(params|output|metadata_routing|\w+_request)")  # documented there
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# -- gallery ---------------------------------------------------------------------------------------------------------
os.environ.setdefault("OMP_NUM_THREADS", "1")
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "backreferences_dir": "auto_gallery/uses",
    "doc_module": ("accord",),
    "parallel": 2,
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "copyfile_regex": r"",
    "image_scrapers": ("matplotlib",),
    "write_computation_times": False,
    "min_reported_time": 1e6,  # how long a script took here says little about there
}
suppress_warnings = ["config.cache"]

# -- pages -----------------------------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "Accord"
html_static_path = ["_static"]
html_css_files = ["accord.css"]
html_js_files = ["accord.js"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "experiments": [], "which": []}  # pages without others beside them
html_theme_options = {
    "logo": {"text": "Accord"},
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.output):not(.highlight-text) > div.highlight > pre"

# -- links that work on Git hosts and here -----------------------------------------------------------------------------
# Files beside this folder that are pages of the site.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "benchmarks/README.md": "benchmarks.md",
}
_ORIGINS = {Path(page).stem: ROOT / name for name, page in PAGES.items() if page != "index.md"}
_LINK = re.compile(r"(?<=\]\()([^()\s]+)(?=\))")


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Take pages that live elsewhere from there, and point links to them at their place in the site."""
    origin = _ORIGINS.get(docname, DOCS / f"{docname}.md")
    if docname in _ORIGINS:
        source[0] = origin.read_text("utf-8")
    if not origin.is_file():
        return

    def moved(match: re.Match[str]) -> str:
        url = urlparse(match[1])
        if url.scheme or not url.path:
            return match[1]
        target = (origin.parent / url.path).resolve()
        try:
            page = DOCS / PAGES[str(target.relative_to(ROOT))]
        except (KeyError, ValueError):
            page = target
        path = os.path.relpath(page, (DOCS / docname).parent)
        if page.suffix == ".md" and not page.is_relative_to(DOCS):
            return f"path:{path}"  # no page of the site: the file itself
        return f"{path}#{url.fragment}" if url.fragment else path

    source[0] = _LINK.sub(moved, source[0])


# -- what the pages are made of --------------------------------------------------------------------------------------
def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    return True if _FROM_SCIKIT_LEARN.fullmatch(name) else None


class NamesLeadToTheReference(SphinxTransform):
    """Public names in the text of pages, such as ``CRF`` or ``CRF(...)``, become links."""

    default_priority = 200

    def apply(self, **kwargs: Any) -> None:
        if self.env.docname.startswith(("api/", "auto_gallery/")):
            return
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext().partition("(")[0]
            inside = isinstance(literal.parent, (nodes.reference, nodes.title, pending_xref))
            if name in TABLE and TABLE[name].public and not inside:
                link = pending_xref("", refdomain="py", reftype="obj", reftarget=f"accord.{name}", refexplicit=True)
                literal.replace_self(link)
                link += literal


class DrawingsKeepTheirLines(SphinxTransform):
    """Tables drawn with lines are scrolled sideways where they do not fit; other outputs are wrapped."""

    default_priority = 940

    def apply(self, **kwargs: Any) -> None:
        for block in self.document.findall(nodes.literal_block):
            if "│" in block.astext():
                block["classes"].append("drawn")


class FoldExperiments(SphinxTransform):
    """Of every experiment the first paragraph is open, and the rest folded; the verdicts stay as they are."""

    default_priority = 950

    def apply(self, **kwargs: Any) -> None:
        if self.env.docname != "experiments":
            return
        top = next(iter(self.document.findall(nodes.section)))
        for section in [s for s in top.children if isinstance(s, nodes.section)][1:]:
            first = next((k for k, c in enumerate(section.children) if isinstance(c, nodes.paragraph)), 0)
            inner = section.children[first + 1 :]
            opening = '<details class="fold"><summary>Figures and how they came about</summary>'
            section.children[first + 1 :] = [
                nodes.raw("", opening, format="html"), *inner, nodes.raw("", "</details>", format="html"),
            ]  # fmt: skip


def setup(app: Sphinx) -> None:
    """Entry point of Sphinx."""
    app.connect("source-read", _read)
    app.connect("autodoc-skip-member", _skip)
    app.add_lexer("csv", TextLexer)
    reference.write(DOCS / "api")  # before Sphinx looks which pages there are
    app.add_transform(NamesLeadToTheReference)
    app.add_transform(DrawingsKeepTheirLines)
    app.add_transform(FoldExperiments)
