"""funcgraph export: write a trace in the format of another viewer."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import BinaryIO, cast

from funcgraph.command_support.messages import CommandError, os_error_text, print_message
from funcgraph.command_support.settings import add_setting, refusal
from funcgraph.command_support.trace import (
    add_imports_argument,
    add_selection_arguments,
    check_whole,
    default_trace,
    reading_bar,
    selection_of,
    trace_errors,
)
from funcgraph.export.format import ExportError, Format
from funcgraph.export.formats import all_formats, find_format, format_of_file
from funcgraph.export.run import check_extra, write
from funcgraph.export.source import Source
from funcgraph.recorder.progress import bytes_text
from funcgraph.session.check import DAT_SETTINGS, OptionError, check_dat_format
from funcgraph.session.output import check_output
from funcgraph.settings.table import BY_NAME
from funcgraph.steering.output import PrintableStream
from funcgraph.tracedata.dat_format import DatFormat
from funcgraph.tracedata.opened import Trace

NAME = "export"
TRACE_DAT = "trace-dat"
HELP = "write a trace for another viewer: Perfetto, speedscope, CSV, ..."
DESCRIPTION = """\
Write a trace in the format of another viewer. The trace may be one that is still being recorded
(FILE.part), was cut off, or was recorded by trace-cmd on a kernel. What the format cannot hold is said on
standard error."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "words",
        metavar="[FORMAT] FILE",
        nargs="*",
        help="the format, without -F, and the trace, without -i; of trace-dat also the output, without -o",
    )
    parser.add_argument(
        "-F", dest="format", metavar="FORMAT", help="the format (default: by the suffix of the output's name)"
    )
    parser.add_argument(
        "-i",
        "--input",
        metavar="FILE",
        help="the trace (default: trace.fg, or trace.dat if only that is there)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the file to write; - is standard output (default: the trace's name with the format's suffix)",
    )
    add_selection_arguments(parser, events=False)
    for setting in DAT_SETTINGS:
        add_setting(parser, BY_NAME[setting])
    parser.set_defaults(**{setting: BY_NAME[setting].default for setting in DAT_SETTINGS})
    add_imports_argument(parser, default="each import is one box in a picture")
    width = max(len(form.name) for form in all_formats())
    rows = [f"  {form.name:<{width}}  {form.help} ({form.suffixes[0]})" for form in all_formats()]
    parser.epilog = "formats:\n" + "\n".join(rows)


def run(args: argparse.Namespace) -> int:
    """Export one trace; return the exit status."""
    try:
        form, path = _format_and_trace(args)
        check_extra(form)
    except ExportError as error:
        raise CommandError(str(error)) from None
    output = args.output or f"{os.path.splitext(path)[0]}{form.suffixes[0]}"
    _check_dat_settings(form, args)
    _check_output(form, path, output)
    with trace_errors(path):
        try:
            with reading_bar(path, streams=output == "-") as bar, Trace(path, progress=bar) as trace:
                check_whole(trace, args)
                source = Source(
                    trace,
                    select=selection_of(args),
                    dat_format=DatFormat.of(vars(args)),
                    folds_imports=form.is_picture and not args.imports,
                )
                write(form, source, _standard_output() if output == "-" else output)
        except BrokenPipeError:  # whoever reads standard output has enough
            raise
        except OSError as error:
            raise CommandError(os_error_text(error)) from None
        except ExportError as error:
            raise CommandError(f"{path}: {error}") from None
    for note in filter(None, (form.lacks, *source.notes())):
        print_message(f"{form.name}: {note}")
    if output != "-":
        print_message(f"{form.name}: {output} ({bytes_text(os.stat(output).st_size)})")
    return 0 if source.damaged_at is None else 1


def _standard_output() -> BinaryIO:
    """Return where `-o -` writes: byte for byte, but on a terminal, which would obey what the trace holds."""
    return cast(BinaryIO, PrintableStream()) if sys.stdout.isatty() else sys.stdout.buffer


def _check_dat_settings(form: Format, args: argparse.Namespace) -> None:
    """Refuse settings of a trace.dat that are wrong, or are given for another format."""
    try:
        check_dat_format(vars(args))
        for setting in DAT_SETTINGS:
            if form.name != TRACE_DAT and getattr(args, setting):
                raise OptionError(setting, getattr(args, setting), f"only for {TRACE_DAT}")
    except OptionError as error:
        raise refusal(error) from None


def _format_and_trace(args: argparse.Namespace) -> tuple[Format, str]:
    """Return the format and the trace. A first word that names a format is one; so is one before a trace."""
    words: Sequence[str] = args.words
    name = args.format
    if name is None and words and (_is_format(words[0]) or _is_extra_word(args)):
        name, *words = words
    if args.input is not None:
        words = [args.input, *words]
    if len(words) == 2 and name == TRACE_DAT and args.output is None:  # as `funcgraph convert A.fg B.dat`
        *words, args.output = words
    if len(words) > 1:
        raise CommandError(f"one trace at a time, got {' and '.join(map(repr, words))}")
    path = words[0] if words else default_trace()
    if name is not None:
        return find_format(name), path
    if args.output in (None, "-"):
        raise CommandError("which format? Name it, or an output file with its suffix: -o trace.pftrace")
    return format_of_file(args.output), path


def _is_format(word: str) -> bool:
    return any(form.name == word for form in all_formats())


def _is_extra_word(args: argparse.Namespace) -> bool:
    """Return whether the first word can only be meant as a format: it is no file, or there is a trace."""
    if args.input is not None or len(args.words) > 1:
        return True
    return not os.path.exists(args.words[0]) and args.output in (None, "-")


def _check_output(form: Format, path: str, output: str) -> None:
    if output == "-":
        if not form.is_text and sys.stdout.isatty():
            raise CommandError(
                f"{form.name} is not for a terminal: name a file with -o, or redirect the output"
            )
        return
    try:
        target = check_output(output)
    except OSError as error:
        raise CommandError(os_error_text(error)) from None
    if os.path.exists(target) and os.path.exists(path) and os.path.samefile(path, target):
        raise CommandError(f"{path}: is the output too")
