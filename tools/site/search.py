"""What the site's search finds, as its page does: in searchindex.js, which Sphinx wrote."""

from __future__ import annotations

import json
from pathlib import Path

from tools.site.pages import PageError

#: Words that the search must find, and a page of each. Word stems of English do not change them.
MUST_FIND = {
    "loopblock": "docs/guides/latency",
    "ftrace": "docs/reference/kernel-names",
    "memray": "docs/reference/comparison",
}


def pages_with(site: Path, word: str) -> set[str]:
    """Return the pages of a built site that its search finds for a word, by their paths without a suffix.

    Raises:
        PageError: the site has no search.
    """
    index = site / "searchindex.js"
    if not (site / "search.html").is_file() or not index.is_file():
        raise PageError("the site has no search")
    text = index.read_text()
    found = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    numbers: set[int] = set()
    for part in ("terms", "titleterms"):
        hits = found[part].get(word, [])
        numbers.update([hits] if isinstance(hits, int) else hits)
    return {found["docnames"][number] for number in numbers}


def check(site: Path) -> None:
    """Search the site. Raises PageError: it has no search, or it does not find a page of MUST_FIND."""
    for word, page in MUST_FIND.items():
        if page not in pages_with(site, word):
            raise PageError(f"the search for {word!r} does not find {page}")
