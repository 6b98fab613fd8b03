"""The site has each page of the repository, in the order of docs/README.md, and pictures where pages ask for
them. `make site` also has Sphinx look for links without a target and pages that nothing leads to."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import sizes

from tools.layout import ROOT
from tools.site import __main__ as site
from tools.site import pages, search

pytestmark = pytest.mark.one_python


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Return a folder with a picture of each name that a page has."""
    folder = tmp_path / "screens"
    folder.mkdir()
    for page in ROOT.rglob("docs/**/*.md"):
        for name in re.findall(r"^<!-- picture: (\S+) ", page.read_text(), re.MULTILINE):
            (folder / name).touch()
    return folder


def test_each_page_is_reached_from_the_front_page(tmp_path: Path, pictures: Path) -> None:
    """Broken by a page that is in no list of docs/README.md and in no toctree."""
    source = tmp_path / "source"
    pages.assemble(source, pictures)
    reached = {Path("README.md")}
    for page in source.rglob("*.md"):
        for tree in re.findall(r"^```\{toctree\}$(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
            for entry in re.findall(r"^([^:\n].*)$", tree, re.MULTILINE):
                name = re.sub(r".*<(.*)>", r"\1", entry)
                found = list(page.parent.glob(f"{name}.md"))
                assert found, f"{page.relative_to(source)}: {entry}"
                reached.update(path.relative_to(source) for path in found)
    assert {page.relative_to(source) for page in source.rglob("*.md")} - reached == set()


def test_a_picture_follows_the_readers_colours(tmp_path: Path) -> None:
    for name in ("a-light.png", "a-dark.png", "b.png"):
        (tmp_path / name).touch()
    text = "before\n<!-- picture: a.png | A & B -->\n<!-- picture: b.png | Other -->\nafter\n"
    shown = pages.with_pictures(text, tmp_path, "../")
    assert re.findall(r"\{image\} (\S+)\n:alt: (.*)\n:class: (.*)", shown) == [
        ("../pictures/a-light.png", "A & B", "screen only-light"),
        ("../pictures/a-dark.png", "A & B", "screen only-dark"),
        ("../pictures/b.png", "Other", "screen"),
    ]
    with pytest.raises(pages.PageError, match=r"gone\.png"):
        pages.with_pictures("<!-- picture: gone.png | x -->", tmp_path, "")


def test_what_a_page_links_to_is_there(tmp_path: Path, pictures: Path) -> None:
    source = tmp_path / "source"
    pages.assemble(source, pictures)
    for page in source.rglob("*.md"):
        for target in pages.links(page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(source)}: {target}"


def test_pictures_are_made_again_when_a_source_is_newer(tmp_path: Path) -> None:
    source, pictures = tmp_path / "view.py", tmp_path / "screens"
    source.touch()
    assert not site.are_current(pictures, [source])
    pictures.mkdir()
    for name in ("a.png", "b.png"):
        (pictures / name).touch()
        os.utime(pictures / name, (2000, 2000))
    os.utime(source, (1000, 1000))
    assert site.are_current(pictures, [source])
    os.utime(pictures / "b.png", (500, 500))
    assert not site.are_current(pictures, [source])


def test_a_search_without_what_it_must_find_is_noticed(tmp_path: Path) -> None:
    """The index is as Sphinx writes it: a number, or a list of them, for each word."""
    with pytest.raises(pages.PageError, match="has no search"):
        search.check(tmp_path)
    (tmp_path / "search.html").touch()
    names = [*search.MUST_FIND.values()]
    terms: dict[str, object] = {word: number for number, word in enumerate(search.MUST_FIND)}
    index = {"docnames": names, "terms": terms, "titleterms": {"ftrac": [0, 1]}}

    def write() -> None:
        (tmp_path / "searchindex.js").write_text(f"Search.setIndex({json.dumps(index)})")

    write()
    search.check(tmp_path)
    assert search.pages_with(tmp_path, "ftrac") == set(names[:2])
    del terms["loopblock"]
    write()
    with pytest.raises(pages.PageError, match="'loopblock' does not find docs/guides/latency"):
        search.check(tmp_path)


@pytest.mark.parametrize("page", search.MUST_FIND.values())
def test_what_the_search_must_find_is_a_page_with_the_word(page: str) -> None:
    words = [word for word, named in search.MUST_FIND.items() if named == page]
    assert all(word in (ROOT / f"{page}.md").read_text().lower() for word in words)


@pytest.mark.skipif(not sizes.NIGHTLY, reason="it installs Sphinx: nightly")
def test_sphinx_finds_nothing_wrong() -> None:
    assert site.main([]) == 0
