"""The page as few files: its styles as one, and its modules as one. A server sends three files. An exported
page is one, with a policy that lets nothing else run.

A browser asks for modules level by level of their imports, some fifty of them: that takes longer than a
picture. So the modules become one script. Each is a function that returns what others import from it, in an
order in which none comes before what it needs. The page is plain modules without a build step, in a form that
is easily taken apart: `import {a, b as c} from "./x.js";` and `export` before a declaration.
"""

from __future__ import annotations

import base64
import hashlib
import posixpath
import re
from collections.abc import Mapping
from functools import cache
from html import escape

from funcgraph.page.page_files import FIRST_PAGE, page_file

__all__ = ["bundled_script", "one_page", "served_file"]

_IMPORT = re.compile(r'^import\s+(\{[^}]*\}|\* as \w+)\s+from\s+"(\.[\w./]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function\b|class\b|const\b)", re.MULTILINE)
_DECLARATION = re.compile(r"^export (?:async )?(?:function|class|const) (\w+)", re.MULTILINE)
_LEFT_OVER = re.compile(r"^(?:import|export)\b|\bimport\(", re.MULTILINE)
_LINK = re.compile(r'<link rel="(stylesheet|icon)" href="/page/([\w./]+)">\n')
_SCRIPT = re.compile(r'<script type="module" src="/page/([\w/]+\.js)"></script>\n')
_URL = re.compile(r'url\("/page/([\w./]+)"\)')


_SCRIPT_NAME, _STYLE_NAME = "all.js", "all.css"


def served_file(name: str) -> tuple[bytes, str] | None:
    """Return the bytes and the media type that a server sends for a file of the page; None: there is none."""
    return _served().get(name) or page_file(name)


@cache
def _served() -> dict[str, tuple[bytes, str]]:
    """Return the first page, and the files with all of its styles and all of its modules."""
    text = _file(FIRST_PAGE)
    main = _SCRIPT.search(text)
    assert main is not None
    script = bundled_script(main[1], {})
    style = f'<link rel="stylesheet" href="/page/{_STYLE_NAME}">\n'
    icon = f'<link rel="icon" href="{_data_url(_linked(text, "icon")[0])}">\n'
    first = text.replace(main[0], main[0].replace(main[1], _SCRIPT_NAME))
    first = _LINK.sub("", first).replace("<title>", f"{icon}{style}<title>", 1)
    return {
        FIRST_PAGE: (first.encode(), "text/html; charset=utf-8"),
        _SCRIPT_NAME: (script.encode(), "text/javascript; charset=utf-8"),
        _STYLE_NAME: (_styles(text).encode(), "text/css; charset=utf-8"),
    }


def one_page(replaced: Mapping[str, str], title: str, data: str, first: str = "") -> str:
    """Return the page with all that it needs, and data.

    Args:
        replaced: modules in whose place others are taken.
        title: of the page.
        data: of ASCII letters, digits, + / and = alone.
        first: what the page shows first, as the fragment of its address; "": the whole, and no tab.
    """
    text = _file(FIRST_PAGE)
    styles = _styles(text)
    main = _SCRIPT.search(text)
    assert main is not None
    script = bundled_script(main[1], replaced)
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script, styles)}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<link rel="icon" href="{_data_url(_linked(text, "icon")[0])}">\n<style>{styles}</style>\n'
    )
    body = (
        f'<script type="text/plain" data-first="{escape(first)}" id="embedded-trace">{data}</script>\n'
        f'<script type="module">{script}</script>\n</body>'
    )
    text = _SCRIPT.sub("", _LINK.sub("", text))
    text = re.sub(r"<title>.*?</title>", lambda _: f"<title>{escape(title)}</title>", text)
    text = text.replace('<meta charset="utf-8">\n', f'<meta charset="utf-8">\n{head}', 1)
    return text.replace("</body>", body, 1)


def bundled_script(main: str, replaced: Mapping[str, str]) -> str:
    """Return one script that does what a module does with all that it imports."""
    order: list[str] = []
    sources: dict[str, str] = {}
    imports: dict[str, list[tuple[str, str]]] = {}

    def visit(name: str, around: tuple[str, ...]) -> None:
        if name in order:
            return
        assert name not in around, f"modules import each other: {' -> '.join((*around, name))}"
        sources[name] = _file(name)
        found = [(names, _resolved(name, path)) for names, path in _IMPORT.findall(sources[name])]
        imports[name] = [(names, replaced.get(other, other)) for names, other in found]
        for _, other in imports[name]:
            visit(other, (*around, name))
        order.append(name)

    visit(replaced.get(main, main), ())
    script = '"use strict";\n' + "".join(_function(name, sources[name], imports, sources) for name in order)
    assert "</script" not in script.lower()
    assert "<!--" not in script
    return script


def _resolved(name: str, path: str) -> str:
    """Return which module a path in an import of another one leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _function(
    name: str, source: str, imports: Mapping[str, list[tuple[str, str]]], sources: Mapping[str, str]
) -> str:
    """Return the statement that stands for a module."""
    needed = set(_DECLARATION.findall(source))
    for rows in imports.values():
        for names, other in rows:
            if other == name and names.startswith("{"):
                needed |= {word.split(" as ")[0].strip() for word in names[1:-1].split(",") if word.strip()}
    heads = "".join(f"const {_bound(names)} = {_variable(other)};\n" for names, other in imports[name])
    body = _EXPORT.sub("", _IMPORT.sub("", source))
    assert not _LEFT_OVER.search(body), f"{name} has an import or export in another form"
    return (
        f"const {_variable(name)} = (() => {{\n{heads}{body}return {{{', '.join(sorted(needed))}}};\n}})();\n"
    )


def _bound(names: str) -> str:
    """Return what the names of an import are bound to: `{a, b: c}`, or a name for all."""
    return names.removeprefix("* as ").replace(" as ", ": ")


def _variable(name: str) -> str:
    return f"module_{name.removesuffix('.js').replace('/', '_')}"


def _linked(text: str, kind: str) -> list[str]:
    """Return the files that a page links to as its stylesheets, or its icon."""
    return [name for found, name in _LINK.findall(text) if found == kind]


def _styles(text: str) -> str:
    return "".join(map(_style, _linked(text, "stylesheet")))


def _style(name: str) -> str:
    return _URL.sub(lambda match: f'url("{_data_url(match[1])}")', _file(name))


def _file(name: str) -> str:
    found = page_file(name)
    assert found is not None, name
    return found[0].decode()


def _data_url(name: str) -> str:
    found = page_file(name)
    assert found is not None, name
    return f"data:{found[1]};base64,{base64.b64encode(found[0]).decode()}"


def _policy(script: str, styles: str) -> str:
    """Return a policy by which only this script and these styles are used, and nothing is fetched."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(styles)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
