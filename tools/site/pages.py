"""The source tree of the site: the repository's Markdown pages, with what they link to, in the same folders.

Nothing is written for the site alone. Its order is that of docs/README.md, whose lists become the navigation.
A comment such as `<!-- picture: call.png | A call -->` in a page shows a picture that tests made.
Where there are no pictures, as in the repository, nobody sees it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from tools.layout import ROOT

__all__ = ["PageError", "assemble", "links", "navigation", "with_pictures"]

#: Of the repository's own pages, those that readers come for, in this order. The first is the front page.
FRONT = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
_INDEX = "docs/README.md"
_MANUAL = "docs/man/funcgraph.md"

_LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
_ENTRY = re.compile(r"^- \[([^\]]+)\]\(([^)#]+)\)", re.MULTILINE)
_SECTION = re.compile(r"^## (\w+).*$", re.MULTILINE)
_PICTURE = re.compile(r"^<!-- picture: (\S+) \| (.+?) -->$", re.MULTILINE)


class PageError(Exception):
    """A page names what is not there."""


def links(text: str) -> Iterator[str]:
    """Yield the paths that a page links to, as it has them; no addresses."""
    for target in _LINK.findall(text):
        if not re.match(r"[a-z]+:", target):
            yield target


def navigation(index: str) -> dict[str, list[tuple[str, str]]]:
    """Return the entries of docs/README.md by section.

    Args:
        index: its text.

    Returns:
        For each section, as "guides", the titles and paths of its pages; a path begins at docs/.

    Example:
        >>> navigation("## start: learn\\n\\n- [A guide](start/guide.md): what it is.\\n")
        {'start': [('A guide', 'start/guide.md')]}
    """
    parts = _SECTION.split(index)
    return {name: _ENTRY.findall(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def with_pictures(text: str, pictures: Path, up: str) -> str:
    """Put pictures where a page asks for them.

    A picture NAME-light.png is shown where the reader's colours are light, and NAME-dark.png where they are
    dark. The page names NAME.png for both.

    Args:
        text: the page.
        pictures: the folder of the pictures that the tests made.
        up: leads from the page's folder to the site's.

    Raises:
        PageError: there is no such picture.
    """

    def shown(match: re.Match[str]) -> str:
        name, words = Path(match[1]), match[2]
        modes = {mode: f"{name.stem}-{mode}{name.suffix}" for mode in ("light", "dark")}
        found = {mode: file for mode, file in modes.items() if (pictures / file).is_file()}
        if not found and not (pictures / name).is_file():
            raise PageError(f"no test made the picture {name}")
        images = found or {"": str(name)}
        return "\n\n".join(_image(f"{up}pictures/{file}", words, mode) for mode, file in images.items())

    return _PICTURE.sub(shown, text)


def _image(path: str, words: str, mode: str) -> str:
    classes = f"screen only-{mode}" if mode else "screen"
    return f"```{{image}} {path}\n:alt: {words}\n:class: {classes}\n```"


def assemble(folder: Path, pictures: Path) -> None:
    """Make the source tree of the site.

    Args:
        folder: for the tree; it is made empty.
        pictures: the folder of the pictures that the tests made.

    Raises:
        PageError: a page names a picture that is not there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    index = (ROOT / _INDEX).read_text()
    for page in _pages():
        name = page.relative_to(ROOT)
        text = page.read_text()
        for target in links(text):
            path = (page.parent / target).resolve()
            if path.is_dir():  # a folder of the repository is no page
                text = re.sub(rf"\[([^\]]+)\]\({re.escape(target)}\)", r"\1", text)
            else:
                _bring(folder, path)
        text = with_pictures(text, pictures, "../" * (len(name.parts) - 1))
        if str(name) == FRONT[0]:
            text += _contents(index)
        elif str(name) == _MANUAL:
            text += _tree("", ["funcgraph-*"], glob=True)
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
    shutil.copytree(pictures, folder / "pictures", dirs_exist_ok=True)


def _pages() -> list[Path]:
    """Return the repository's pages: its own, and those of docs/, examples and editors."""
    patterns = ("*.md", "docs/**/*.md", "examples/**/*.md", "editors/*/*.md")
    return [path for pattern in patterns for path in ROOT.glob(pattern)]


def _bring(folder: Path, target: Path) -> None:
    """Copy a file that a page links to, as a program of an example. Pages come by themselves."""
    if target.suffix != ".md":
        copy = folder / target.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(target, copy)


def _contents(index: str) -> str:
    """Return the navigation of the whole site, for its front page."""
    trees = [_tree("", [f"All pages <{_INDEX.removesuffix('.md')}>"])]
    for section, entries in navigation(index).items():
        pages = [(title, (Path("docs") / path).as_posix()) for title, path in entries]
        pages = [(title, path.replace("docs/../", "")) for title, path in pages]
        trees.append(_tree(section, [f"{title} <{path.removesuffix('.md')}>" for title, path in pages]))
    names = [page.relative_to(ROOT).as_posix() for page in _pages()]
    others = [name for name in names if name.startswith(("examples/", "editors/"))]
    trees.append(_tree("project", [name.removesuffix(".md") for name in (*FRONT[1:], *others)]))
    return "".join(trees)


def _tree(caption: str, entries: list[str], *, glob: bool = False) -> str:
    words = ["", "", "```{toctree}", ":hidden:"]
    words += [f":caption: {caption}"] if caption else []
    words += [":glob:"] if glob else []
    return "\n".join([*words, "", *entries, "```", ""])
