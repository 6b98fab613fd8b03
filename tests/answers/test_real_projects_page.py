"""docs/guides/answers.md, "On a real project": what was planted in programs of real projects is found."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

import pytest
from planned import needs_decoder
from sizes import NIGHTLY
from test_answers_page import PAGE, ROOT, form

pytestmark = pytest.mark.skipif(not NIGHTLY, reason="real projects: nightly")

#: Lines with what depends on durations, or on the processor.
_BY_TIME = re.compile(r"^ *TIMES|^ *\[|^(slow|typical) +\[| %  ")


def check(fg: Any, title: str, program: str, package: str) -> None:
    """Run the commands of a section; assert that they print what it shows."""
    if find_spec(package) is None:
        pytest.skip(f"{package} is installed for one CPython")
    shutil.copy(ROOT / "examples" / program, fg.folder)
    section = PAGE.partition(f"## On a real project: {title}\n")[2].partition("\n## ")[0]
    text = "\n".join(line[4:] for line in section.splitlines() if line.startswith("    "))
    commands = re.split(r"^\$ funcgraph (.*)\n", text, flags=re.MULTILINE)[1:]
    assert len(commands) >= 4
    for command, output in zip(commands[::2], commands[1::2], strict=True):
        done = fg.run(*shlex.split(command))
        assert done.returncode == 0, done.stderr
        printed = forms(done.stdout.splitlines())
        expected = forms(line for line in output.splitlines() if not _BY_TIME.search(line))
        assert expected <= printed, (command, sorted(expected - printed), sorted(printed))


def forms(lines: Iterable[str]) -> set[str]:
    """Return lines without what differs between two runs."""
    return {re.sub(r"[-+]N", "N", form(re.sub(r"\bin \S*python-\d+", "in TASK", line))) for line in lines}


def test_the_n_plus_1_of_a_django_program(fg: Any) -> None:
    check(fg, "Django", "django_orders/orders.py", "django")
    fg.record(
        "-q",
        "--args",
        "-l",
        "__main__.*",
        "-l",
        "django.db.backends.utils.CursorWrapper.execute",
        "orders.py",
    )
    found = fg.run("repeat").stdout
    assert "30 times, below __main__.slow_page" in found
    assert "below __main__.page" not in found


def test_the_slow_country_and_the_hidden_exceptions_of_a_celery_worker(fg: Any) -> None:
    check(fg, "Celery", "celery_worker/tasks.py", "celery")
    parts = re.findall(r"^ .* ms +.*  (\S) ", fg.run("why", "__main__.invoice").stdout, re.MULTILINE)
    assert parts[0] == "S"
    fg.record("-q", "--args", "--retval", "-l", "__main__.*", "tasks.py")
    assert re.search(r"\d %  country +'CH': ", fg.run("values", "__main__.invoice").stdout)


@needs_decoder
def test_the_repeated_parsing_and_the_large_array_of_a_pandas_script(fg: Any) -> None:
    check(fg, "pandas", "pandas_report/report.py", "pandas")


def test_the_convoy_of_an_asyncio_service(fg: Any) -> None:
    check(fg, "an asyncio service", "asyncio_service/service.py", "asyncio")
    found = fg.run("why", "__main__.book", "--slowest").stdout.splitlines()
    assert found[3].endswith("A await asyncio.locks.Lock.acquire")
