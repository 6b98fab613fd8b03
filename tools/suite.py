"""A suite of tests: how it is run, what it came to, and how that is printed."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tools.console import CommandFailedError, Stopwatch, print_message, shown
from tools.progress import Progress

__all__ = ["Outcome", "Suite", "print_failures"]

#: Lines of a failed suite's log that are printed; the log has all of them.
_SHOWN_LINES = 400
#: Failed tests of a suite that the last lines name.
_NAMED_FAILURES = 12


@dataclass(frozen=True)
class Outcome:
    """What running one suite came to.

    Args:
        passed, failed, skipped: numbers of tests.
        problem: why it could not be run to its end.
        seconds: how long it took, for people.
        failures: the tests that failed.
        repeats: those that passed at the second try: marked as flaky, with a reason.
        again: the words of a command that runs one test again, which is its last word.
    """

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    problem: str = ""
    seconds: str = ""
    failures: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()
    again: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        return not self.failed and not self.problem


@dataclass(frozen=True)
class Suite:
    """Tests that run one after the other.

    Args:
        name: for people.
        log: the file that they write.
        tests: runs them.
        usual_s: about how long they take on two quiet processors, in seconds; for the estimate of the end.
    """

    name: str
    log: Path
    tests: Callable[[Path], Outcome]
    usual_s: float = 1.0

    def run(self, progress: Progress) -> Outcome:
        """Run it, and print how it ended."""
        watch = Stopwatch()
        self.log.unlink(missing_ok=True)
        with progress.part(self.name, self.log, self.usual_s):
            try:
                outcome = self.tests(self.log)
            except CommandFailedError as error:
                outcome = Outcome(problem=f"could not be built: {error}")
        outcome = replace(outcome, seconds=str(watch))
        self._print(outcome, progress)
        return outcome

    def _print(self, outcome: Outcome, progress: Progress) -> None:
        lines = []
        if not outcome.good and self.log.is_file():
            output = self.log.read_text(errors="replace").splitlines()
            lines = [f"\n== {self.name}: output", *output[-_SHOWN_LINES:]]
        if outcome.problem:
            lines.append(f"{self.name}: {outcome.problem}")
        verdict = "ok" if outcome.good else "FAILED"
        counts = f"{outcome.passed + outcome.failed} run, {outcome.failed} failed, {outcome.skipped} skipped"
        lines.append(f"{verdict}: {self.name}: {counts} ({outcome.seconds}; {shown(self.log)})")
        progress.print_message("\n".join(lines))


def print_failures(suite: Suite, outcome: Outcome) -> None:
    """Name the tests of a suite that failed or needed a second try, each with what runs it again."""
    for test in outcome.repeats:
        print_message(f"passed at the second try: {suite.name}: {test}")
    for test in outcome.failures[:_NAMED_FAILURES]:
        print_message(f"FAILED: {suite.name}: {test}")
        if outcome.again:
            print_message(f"  again: {shlex.join([*outcome.again, test])}")
    more = len(outcome.failures) - _NAMED_FAILURES
    if more > 0:
        print_message(f"FAILED: {suite.name}: {more} more, in {shown(suite.log)}")
    elif not outcome.good and not outcome.failures:
        print_message(f"FAILED: {suite.name}: {outcome.problem or 'its output is in ' + shown(suite.log)}")
