"""`make site`: all pages as one site with a search, in build/site.

The pages are those of the repository (tools/site/pages.py). Their pictures come from tests that look at the
viewer and at a terminal; they run if there are no pictures yet, or a source is newer. A page that no other
leads to, a link without a target, and a search that finds nothing are errors. `--links` also looks up the
addresses of other sites.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.console import CommandFailedError, Stopwatch, print_message, run, shown
from tools.layout import BUILD, LOGS, files, pyproject
from tools.pythons import choose
from tools.site import search
from tools.site.pages import PageError, assemble
from tools.venvs import Environment, test_environment

_HERE = Path(__file__).resolve().parent
_SITE = BUILD / "site"
_SOURCE = BUILD / "site-source"
#: Where tests put what they saw (tests/support/screens.py).
_SCREENS = BUILD / "screens"
#: The tests that make the pictures which pages show.
_PICTURE_TESTS = ("tests/view", "tests/session/test_terminal_pictures.py")
_LOG = LOGS / "site.log"


def are_current(pictures: Path, sources: Iterable[Path]) -> bool:
    """Return whether there are pictures, and none is older than a source of what they show."""
    made = [picture.stat().st_mtime for picture in pictures.glob("*.*")]
    return bool(made) and min(made) >= max(source.stat().st_mtime for source in sources)


def make_pictures() -> None:
    """Run the tests that make pictures. CommandFailedError if one fails."""
    shutil.rmtree(_SCREENS, ignore_errors=True)
    environment = test_environment(choose("3.13"))
    words = ["-m", "pytest", "-p", "no:cacheprovider", "-q", *_PICTURE_TESTS]
    run(environment.command(*words), log=_LOG, env={"PATH": environment.path})


def sphinx(builder: str, target: Path) -> None:
    """Run Sphinx over the source tree; a warning is an error. CommandFailedError if it finds any."""
    environment = Environment("site", choose(""), "site")
    environment.prepare()
    words: list[str | Path] = ["-m", "sphinx", "-b", builder, "-c", _HERE, "-j", "auto", "-W", "--keep-going"]
    version = pyproject()["project"]["version"]
    run(environment.command(*words, _SOURCE, target), log=_LOG, env={"FG_SITE_VERSION": version})


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.site", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--links", action="store_true", help="look up the addresses of other sites, too")
    options = parser.parse_args(argv)
    _LOG.unlink(missing_ok=True)
    watch = Stopwatch()
    try:
        if not are_current(_SCREENS, files("src")):
            print_message("site: the tests make the pictures (two minutes)")
            make_pictures()
        assemble(_SOURCE, _SCREENS)
        shutil.rmtree(_SITE, ignore_errors=True)
        sphinx("html", _SITE)
        search.check(_SITE)
        shutil.copyfile(_SITE / "README.html", _SITE / "index.html")  # what a server shows of a folder
        if options.links:
            sphinx("linkcheck", BUILD / "site-links")
    except (CommandFailedError, LookupError, PageError) as error:
        if isinstance(error, CommandFailedError) and error.log is not None:
            print_message(error.log.read_text(errors="replace")[-4000:])
        print_message(f"site: {error}")
        return 1
    print_message(f"{shown(_SITE / 'index.html')} is the front page ({watch})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
