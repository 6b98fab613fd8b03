"""`make demo`: records a real program, prints its graph and its summary, and draws them.

The program is the standard library's `python -m http.server`, which answers each request in a thread of its
own. It serves this project's documents to a handful of clients at once, until Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.console import CommandFailedError, Stopwatch, heading, print_message
from tools.layout import BUILD, ROOT
from tools.progress import build_shown
from tools.pythons import choose
from tools.venvs import Environment, installed, wheel_log

_PAGES = ("/", "/reference/api.md", "/man/", "/man/funcgraph-record.md", "/no-such-page", "/README.md")
_SHOWN = "path='/README.md'"  # not the first page: its request also reads the system's list of file types
_FUNCTION = "__main__.SimpleHTTPRequestHandler.do_GET"
_CLIENTS = 4
_PARTS = 5
_ROWS = 24  # rows of the summary
_REQUESTS = "socketserver.ThreadingMixIn.process_request_thread"  # what the flame graph is of
_PICTURE = ROOT / "docs" / "flame-graph.svg"  # in README.md


def fetch(url: str) -> int:
    """Return the status with which a page is answered."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            answer.read()
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def record(environment: Environment, trace: Path) -> None:
    """Record the server while clients fetch every page, then end it as Ctrl-C in a terminal would."""
    command = [
        "funcgraph", "record", "--args", "--retval", "-o", os.path.relpath(trace, ROOT),
        "-m", "http.server", "--bind", "127.0.0.1", "--directory", "docs", "0",
    ]  # fmt: skip
    print_message(f"$ {' '.join(command)}")
    with subprocess.Popen(
        [environment.script(command[0]), *command[1:]],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as server:
        assert server.stdout is not None
        first = server.stdout.readline()
        address = re.search(r"http://[\d.]+:\d+", first)
        if address is None:
            server.kill()
            raise CommandFailedError(command, 1)
        pages = [address[0] + page for page in _PAGES for _ in range(_CLIENTS)]
        with ThreadPoolExecutor(_CLIENTS) as clients:
            statuses = list(clients.map(fetch, pages))
        os.killpg(server.pid, signal.SIGINT)
        output, errors = server.communicate(timeout=60)
    print_message((first + output).strip())
    print_message(errors.strip().splitlines()[-1] if errors.strip() else "")
    answered = ", ".join(f"{statuses.count(status)} x {status}" for status in sorted(set(statuses)))
    print_message(f"({_CLIENTS} clients asked for {len(pages)} pages: {answered})")
    if server.returncode != 0:
        print_message(errors)
        raise CommandFailedError(command, server.returncode)


def output_of(environment: Environment, *words: str | Path) -> list[str]:
    """Run a funcgraph command and return the lines it printed."""
    command = [str(environment.script("funcgraph")), *map(str, words)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if result.returncode != 0:
        print_message(result.stderr)
        raise CommandFailedError(command, result.returncode)
    return result.stdout.splitlines()


def excerpt(lines: Sequence[str], function: str, about: str) -> list[str]:
    """Return the lines of the first call of `function` that contain `about`, from its entry to its end.

    The lines are dedented, because the callers are not shown. LookupError: no such call.
    """
    for start, line in enumerate(lines):
        opening = re.search(rf"\|( +){re.escape(function)}\(.*\{{$", line)
        if opening:
            closing = re.compile(rf"\|{opening[1]}\}}")
            end = next((n for n in range(start, len(lines)) if closing.search(lines[n])), len(lines) - 1)
            call = list(lines[start : end + 1])
            if any(about in part for part in call):
                return [line.replace(f"|{opening[1]}", "|  ", 1) for line in call]
    raise LookupError(f"no call of {function} about {about}")


def one_request(environment: Environment, trace: Path) -> tuple[str, list[str]]:
    """Return the task and the call that served _SHOWN: each request has its own thread."""
    for number in range(1, len(_PAGES) * _CLIENTS + 1):
        task = f"Thread-{number} *"
        lines = output_of(environment, "report", "-i", trace, "--task", task)
        try:
            return task, excerpt(lines, _FUNCTION, _SHOWN)
        except LookupError:
            continue
    raise LookupError(f"no thread served {_SHOWN}")


def draw(environment: Environment, trace: Path) -> list[str]:
    """Export the trace for viewers. Return how to open the files."""
    svg, page, perfetto = (trace.with_name(name) for name in ("flame.svg", "trace.html", "trace.pftrace"))
    for output, words in ((svg, ("-g", _REQUESTS)), (page, ()), (perfetto, ())):
        line = ["export", os.path.relpath(trace, ROOT), "-o", os.path.relpath(output, ROOT), *words]
        print_message(f"$ funcgraph {' '.join(line)}")
        output_of(environment, *line)
    return [
        f"Open {svg.as_uri()} in a browser: a flame graph of the requests; a click zooms.",
        f"Open {page.as_uri()} in a browser: all of the trace, with a table and search.",
        f"Open {os.path.relpath(perfetto, ROOT)} in https://ui.perfetto.dev: every call on a time line.",
    ]


def part(number: int, title: str) -> None:
    """Print the line that begins a part."""
    heading(f"{number} of {_PARTS}: {title}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.demo", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "tag", nargs="?", default="", help="the CPython, as 3.13; the newest here if not given"
    )
    parser.add_argument(
        "--picture", action="store_true", help=f"write the flame graph to {_PICTURE.relative_to(ROOT)} too"
    )
    arguments = parser.parse_args(argv)
    watch = Stopwatch()
    print_message(
        "This takes two minutes of CPU time the first time, most of it for compiling, and then some seconds."
    )
    trace = BUILD / "demo" / "trace.dat"
    trace.parent.mkdir(parents=True, exist_ok=True)
    try:
        python = choose(arguments.tag)
        part(1, f"Building funcgraph for CPython {python.release}")
        with build_shown(wheel_log(python)):
            environment = installed("demo", python)
        part(2, "Recording the standard library's web server, with arguments and results")
        record(environment, trace)
        shown = os.path.relpath(trace, ROOT)
        part(3, "One request in its thread")
        task, call = one_request(environment, trace)
        print_message(f"$ funcgraph report -i {shown} --task '{task}'")
        print_message("\n".join([" ...", *call, " ..."]))
        part(4, "Where the time went, all threads")
        print_message(f"$ funcgraph summary -i {shown} --sort total")
        print_message(
            "\n".join([*output_of(environment, "summary", "-i", trace, "--sort", "total")[:_ROWS], "..."])
        )
        part(5, "Pictures of it")
        opening = draw(environment, trace)
        if arguments.picture:
            shutil.copyfile(trace.with_name("flame.svg"), _PICTURE)
    except (CommandFailedError, LookupError) as error:
        log = getattr(error, "log", None)
        if log is not None:
            print_message("".join(log.read_text(errors="replace").splitlines(keepends=True)[-40:]))
        print_message(f"demo: {error}")
        return 1
    program = os.path.relpath(environment.script("funcgraph"), ROOT)
    print_message("\n".join(["", *opening]))
    print_message(f"\nAll of it: {program} report -i {shown}\n({watch})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
