"""Promise: JupyterLab shows the page of a recorded cell, in its theme. If it does not trust the notebook, it
shows the text alone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from sizes import NIGHTLY
from view.pages import SCREENS

from notebooks.cells import page_cells

pytestmark = [
    pytest.mark.one_python,
    pytest.mark.skipif(not NIGHTLY, reason="JupyterLab is started by nightly runs alone"),
    pytest.mark.skipif(find_spec("jupyterlab") is None, reason="needs JupyterLab"),
    pytest.mark.timeout(900),
    pytest.mark.flaky(reruns=1, reason="JupyterLab and its kernel have time limits of their own"),
]

_LIMIT_S = 120


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Return a function that starts JupyterLab with a theme, and returns the address of the notebook."""
    servers: list[subprocess.Popen[bytes]] = []

    def start(theme: str) -> str:
        settings = tmp_path / "settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
        (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
        own = {
            f"JUPYTER{name}_DIR": str(tmp_path / folder)
            for name, folder in (
                ("_CONFIG", "config"),
                ("_DATA", "data"),
                ("_RUNTIME", "runtime"),
                ("LAB_SETTINGS", "settings"),
                ("LAB_WORKSPACES", "workspaces"),
            )
        }
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
        command += ["--port-retries=0", "--IdentityProvider.token=", f"--notebook-dir={tmp_path}"]
        with open(tmp_path / "log", "ab") as log:
            servers.append(
                subprocess.Popen(command, env={**os.environ, **own}, stdout=log, stderr=log, cwd=tmp_path)
            )
        _wait(port)
        return f"http://127.0.0.1:{port}/lab/tree/cells.ipynb"

    yield start
    for server in servers:
        server.terminate()
        server.wait()


def _wait(port: int) -> None:
    end = time.monotonic() + _LIMIT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.1)
        else:
            return


def write_notebook(path: Path) -> None:
    import nbformat

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in page_cells()[:3]])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, path)


def open_notebook(browser: Any, address: str) -> tuple[Any, list[str]]:
    """Return a page with the notebook, and the list of the errors that it will have."""
    page = browser.new_page(viewport={"width": 1200, "height": 1000}, color_scheme="null")
    page.set_default_timeout(_LIMIT_S * 1000)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(address)
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]")  # the kernel has started
    return page, problems


def run_all(page: Any) -> None:
    """Run all cells until one has a frame. JupyterLab drops what is run while it connects to the kernel."""
    for _ in range(5):
        page.click("text=Run >> nth=0")
        page.click("text=Run All Cells")
        for _ in range(60):
            if page.locator(".jp-Notebook iframe").count():
                return
            page.wait_for_timeout(500)


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_a_cell_is_run_saved_and_opened_again(
    browser: Any, lab: Callable[[str], str], tmp_path: Path, theme: str
) -> None:
    file = tmp_path / "cells.ipynb"
    write_notebook(file)
    address = lab(theme)
    page, problems = open_notebook(browser, address)
    run_all(page)
    frame = page.frame_locator(".jp-Notebook iframe")
    frame.locator("body[data-picture=complete]").wait_for()
    assert frame.get_by_role("tab", selected=True).inner_text() == "Flame graph"
    frame.locator("#stage").click(position={"x": 100, "y": 45})
    frame.get_by_role("tab", name="Call", exact=True).click()
    frame.locator(".call-head").wait_for()
    is_dark = frame.locator("body").evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches")
    assert is_dark == (theme == "JupyterLab Dark")
    SCREENS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENS / f"{theme.lower().replace(' ', '-')}.png")
    page.keyboard.press("Control+s")
    page.wait_for_selector(".jp-mod-dirty", state="detached")
    page.close()
    assert problems == []

    page, problems = open_notebook(browser, address)  # it was saved here: it is trusted
    page.frame_locator(".jp-Notebook iframe").locator("body[data-picture=complete]").wait_for()
    page.close()

    file.write_text(file.read_text().replace("SPRING", "AUTUMN"))  # it has changed: it is not
    page, problems = open_notebook(browser, address)
    page.get_by_text("__main__.checkout.<locals>.<genexpr>").wait_for()
    assert page.locator(".jp-Notebook iframe").count() == 0
    page.close()
