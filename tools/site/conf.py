"""How Sphinx makes the site; read by sphinx-build, not imported."""

import os

project = "funcgraph"
copyright = "the authors of funcgraph, Apache-2.0"
release = os.environ["FG_SITE_VERSION"]
version = release

extensions = ["myst_parser"]
root_doc = "README"
source_suffix = {".md": "markdown"}
#: A link to a heading, in one page or from another, has GitHub's form.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
#: Manual pages begin with their name; the documents are written for readers of the repository, too.
suppress_warnings = ["myst.header"]
highlight_language = "none"
#: Two hyphens begin an option here.
smartquotes = False

html_theme = "furo"
html_title = f"funcgraph {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
#: No font, script or picture comes from elsewhere: the site can be read without a network.
html_theme_options = {"navigation_with_keys": True}
