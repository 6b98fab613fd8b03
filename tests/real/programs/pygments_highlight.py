"""pygments highlights sources of the standard library."""

import os
import textwrap

import pygments
from pygments.formatters import HtmlFormatter, NullFormatter
from pygments.lexers import HtmlLexer, JsonLexer, PythonLexer


def main():
    with open(textwrap.__file__, encoding="utf-8") as file:
        source = file.read(-1 if os.environ.get("FUNCGRAPH_NIGHTLY") == "1" else 4000)
    html = pygments.highlight(source, PythonLexer(), HtmlFormatter(full=True))
    assert pygments.highlight(html, HtmlLexer(), NullFormatter())
    assert pygments.highlight('{"a": [1, 2, null]}', JsonLexer(), HtmlFormatter())
