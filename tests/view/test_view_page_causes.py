"""The page of an exception that another one caused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tracefile import RAISE, Trace, deep, value

from view.servers import Server
from view.test_view_page_views import panel, show

BEGIN = 1_000_000_000


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("starlette", reason="the server of the page needs starlette and uvicorn")
    pytest.importorskip("uvicorn", reason="the server of the page needs starlette and uvicorn")
    cause = deep("KeyError", ("", value("<b>")))
    error = deep("ValueError", ("", value(7)), ("__cause__", cause))
    trace = Trace([("app", "pay", "/app.py", 1, 0, [])])
    task = trace.task(100, "main", pid=100)
    task.enter(BEGIN, 0, 0)
    task.leave(BEGIN + 10, 0, 0, calltime=BEGIN, kind=RAISE, result=error)
    folder = tmp_path_factory.mktemp("causes")
    trace.save(folder / "t.dat")
    server = Server(folder, ("t.dat",))
    yield server.address
    server.end()


def test_the_cause_of_an_exception_is_shown(opened: Callable[..., Any]) -> None:
    """Broken by: a cause that is taken for HTML."""
    view = opened()
    assert "1 exception" in show(view, "exceptions")
    view.page.get_by_role("button", name="ValueError").click()
    assert "Caused by KeyError('<b>')" in panel(view)
