"""Fixtures for the page of `funcgraph view` in a real browser: Debian's chromium, driven by playwright."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parent / "programs"
SCREENS = Path(__file__).parents[2] / "build" / "screens"
#: No sandbox: tests run as root. SwiftShader is WebGL2 without a GPU.
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--mute-audio",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
#: The hash of a style, "body {}", that playwright puts into firefox's pages before screenshots. Our policy
#: refuses it, and firefox says so.
_OF_PLAYWRIGHT = "sha256-YjaKGiklmzC6wjXA513HAMmzus8VE61XCOT+SmwNZWA="
#: Only a page that hangs reaches it.
_LIMIT_S = 20
_SIZE = {"width": 1100, "height": 720}


def _record(folder: Path, name: str, *words: str) -> Path:
    trace = folder / f"{name}.fg"
    command = [sys.executable, "-m", "funcgraph", "record", "-q", "-o", str(trace), *words]
    subprocess.run([*command, str(PROGRAMS / f"{name}.py")], check=True, timeout=60, cwd=folder)
    return trace


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server for the traces of `programs`, in the order of their names here."""
    pytest.importorskip("starlette", reason="the server of the page needs starlette and uvicorn")
    pytest.importorskip("uvicorn", reason="the server of the page needs starlette and uvicorn")
    folder = tmp_path_factory.mktemp("view")
    values = ("-l", "__main__.*", "--args", "--retval")
    traces = [
        _record(folder, "shop", *values),
        _record(folder, "hostile", *values),
        _record(folder, "large", *values[:2]),
        Path(__file__).parents[1] / "tracedata" / "data" / "two_instances.dat",  # of a kernel
    ]
    command = [sys.executable, "-m", "funcgraph", "view", "--no-browser", *map(str, traces)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


@contextmanager
def launched(kind: str, program: Path | None, **settings: Any) -> Iterator[Any]:
    """Start a browser; the test is skipped without it, or without playwright.

    Args:
        kind: playwright's name for it.
        program: its path; None: it is not installed.
        settings: as of playwright's `launch`.
    """
    api = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright, which is installed for one CPython"
    )
    if program is None:
        pytest.skip(f"needs {kind}, as Debian has it")
    with api.sync_playwright() as playwright:
        browser = getattr(playwright, kind).launch(executable_path=program, **settings)
        yield browser
        browser.close()


def installed(name: str) -> Path | None:
    """Return the path of a program."""
    path = shutil.which(name)
    return Path(path) if path else None


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return a browser; the test is skipped where there is none."""
    with launched("chromium", installed("chromium"), args=_ARGUMENTS) as browser:
        yield browser


def _frames(condition: str, first: int = 0) -> str:
    """Return code that waits for some frames, and then until a condition holds: what never does is told."""
    return f"""() => new Promise((done, fail) => {{
        const end = performance.now() + {_LIMIT_S * 1000};
        let left = {first};
        const look = () => {{
            if (left-- <= 0 && ({condition})) done();
            else if (performance.now() > end) fail(new Error({json.dumps(condition)}));
            else requestAnimationFrame(look);
        }};
        look();
    }})"""


class ViewPage:
    """A page of the viewer, as a person uses it.

    Args:
        page: playwright's page.
        address: of the server.
    """

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.address = address
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("console", lambda message: message.type == "error" and self._note(message.text))

    def _note(self, problem: str) -> None:
        if _OF_PLAYWRIGHT not in problem:
            self.problems.append(problem)

    def open(self, fragment: str = "", query: str = "") -> ViewPage:
        """Load the page, until its first picture is drawn."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}{query}#{fragment}")
        self.page.wait_for_selector("body[data-ready]")
        self.settle()
        return self

    def settle(self) -> None:
        """Wait until the picture shows what was done last, completely."""
        self.page.evaluate(_frames("document.body.dataset.picture === 'complete'", 2))

    def until(self, condition: str) -> None:
        """Wait until a condition of the page holds. Our policy refuses playwright's own way."""
        self.page.evaluate(_frames(condition))

    def loaded(self) -> None:
        """Wait until nothing is asked of the server any more, and what came is shown."""
        self.page.evaluate(_frames("document.body.dataset.waiting === undefined", 2))
        self.settle()

    def press(self, *keys: str) -> None:
        """Press keys while the time line has the focus."""
        self.page.focus("#stage")
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def state(self) -> dict[str, str]:
        """Return what the address says is shown."""
        self.page.evaluate("window.dispatchEvent(new Event('pagehide'))")
        words = "Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"
        state: dict[str, str] = self.page.evaluate(words)
        return state

    def part(self) -> tuple[float, float]:
        """Return the part of time that is drawn."""
        begin, end = self.page.evaluate("[document.body.dataset.begin, document.body.dataset.end]")
        return float(begin), float(end)

    def colour(self, x: float, y: float, selector: str = "#stage") -> tuple[int, int, int]:
        """Return the colour of a pixel of an element, as it is on the screen."""
        box = self.page.locator(selector).bounding_box()
        clip = {"x": box["x"] + x, "y": box["y"] + y, "width": 1, "height": 1}
        return self.pixels(clip)[0]

    def pixels(self, clip: dict[str, float]) -> list[tuple[int, int, int]]:
        """Return the colours of a part of the screen. The browser decodes its own picture."""
        picture = base64.b64encode(self.page.screenshot(clip=clip)).decode()
        flat = self.page.evaluate(
            "async (data) => { const image = new Image(); image.src = `data:image/png;base64,${data}`;"
            "await image.decode(); const canvas = new OffscreenCanvas(image.width, image.height);"
            "const pen = canvas.getContext('2d'); pen.drawImage(image, 0, 0);"
            "return [...pen.getImageData(0, 0, image.width, image.height).data]; }",
            picture,
        )
        return [tuple(flat[i : i + 3]) for i in range(0, len(flat), 4)]

    def screenshot(self, name: str) -> None:
        """Keep a picture of the page in build/screens/."""
        SCREENS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENS / f"{name}.png")

    def module(self, name: str, code: str) -> Any:
        """Return what an expression of a module of the page is: its names are the module's."""
        return self.page.evaluate(
            f"async () => {{ const m = await import('/page/{name}.js'); return {code}; }}"
        )

    def find(self, function: str, nth: int = 0) -> None:
        """Choose a call of a function: the hit of a search."""
        self.page.fill("#search-text", function)
        self.until("/hit/.test(document.getElementById('search-count').textContent)")
        for _ in range(nth + 1):
            self.page.click("#search-next")
        self.page.wait_for_selector(".call-head")
        self.settle()


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Callable[..., ViewPage]]:
    """Return a function that opens a page. No page may have had an error in the end."""
    pages: list[ViewPage] = []

    def open_page(fragment: str = "", *, query: str = "", **settings: Any) -> ViewPage:
        context = browser.new_context(**{"viewport": _SIZE, "reduced_motion": "reduce", **settings})
        pages.append(ViewPage(context.new_page(), address))
        return pages[-1].open(fragment, query)

    yield open_page
    problems = [problem for page in pages for problem in page.problems]
    for page in pages:
        page.page.context.close()
    assert not problems, problems
