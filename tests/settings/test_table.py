"""The table of settings is the one description of each: whatever else names a setting agrees with it."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import funcgraph
from funcgraph import _engine, _tracedata, cli
from funcgraph.boot import parameters as boot
from funcgraph.instance.attributes import FileAttributes
from funcgraph.instance.control_files.buffer_files import BUFFER_FILES
from funcgraph.session import config, options
from funcgraph.settings.table import (
    BY_FILE,
    BY_NAME,
    CHOICE,
    EXCLUSIVE,
    FLAG,
    INSTANCE,
    LIVE,
    NAME_BYTES,
    NUMBER,
    OPTIONS,
    PATTERNS,
    RECORDING,
    SETTINGS,
    SIZE,
    TEXT,
    TIME,
    WORDS,
    Setting,
)

pytestmark = pytest.mark.one_python

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"

RECORDED = [setting for setting in SETTINGS if setting.scope in (INSTANCE, RECORDING)]
FLAGGED = [setting for setting in RECORDED if setting.flag]


def rows(page: str) -> list[list[str]]:
    """Return the cells of all rows of a page's tables."""
    text = (DOCS / page).read_text()
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]


def codes(text: str) -> list[str]:
    """Return the texts between backquotes."""
    return re.findall(r"`([^`]+)`", text)


# ---- the table itself


def test_no_name_flag_file_or_parameter_is_used_twice() -> None:
    for attribute in ("name", "flag", "keyword", "file", "boot"):
        values = [getattr(setting, attribute) for setting in SETTINGS if getattr(setting, attribute)]
        assert sorted(set(values)) == sorted(values), attribute


def test_defaults_are_of_their_kinds() -> None:
    kinds = {
        FLAG: bool,
        NUMBER: int,
        SIZE: int,
        TIME: int,
        CHOICE: str,
        PATTERNS: tuple,
        WORDS: tuple,
        TEXT: str,
    }
    for setting in SETTINGS:
        for default in (setting.default, setting.initial):
            if default is not None:
                assert type(default) is kinds.get(setting.kind, tuple), setting
        if setting.kind == NUMBER and setting.access == "rw":
            assert setting.default == 0 or setting.least <= setting.default <= setting.most, setting
            assert setting.initial == 0 or setting.least <= setting.initial <= setting.most, setting


def test_the_help_is_one_sentence() -> None:
    for setting in SETTINGS:
        assert re.fullmatch(r"[a-z].*[^.]", setting.help), setting
        assert setting.metavar or setting.kind == FLAG or not setting.flag, setting


# ---- C


def test_limits_are_the_engines() -> None:
    limits = {
        setting.name: (setting.least, setting.most)
        for setting in RECORDED
        if setting.kind == NUMBER and setting.scope == INSTANCE
    }
    assert limits == _engine.INSTANCE_LIMITS
    assert NAME_BYTES == _engine.INSTANCE_NAME_BYTES


@pytest.mark.parametrize("option", _engine.INSTANCE_LIMITS)
def test_the_engine_refuses_what_is_outside_its_limits(tmp_path: Path, option: str) -> None:
    least, most = _engine.INSTANCE_LIMITS[option]
    for value in (least - 1, most + 1):
        with pytest.raises(ValueError, match=option):
            _engine.start(str(tmp_path), **{option: value})


def test_options_that_are_recorded_are_the_engines() -> None:
    assert {name: option.records for name, option in OPTIONS.items() if option.records} == (
        _engine.INSTANCE_FLAGS
    )
    for option in OPTIONS.values():
        assert option.records is None or BY_NAME[option.records[0]].kind == FLAG
    assert set(EXCLUSIVE) < OPTIONS.keys()


def test_options_of_a_report_are_options_of_an_instance() -> None:
    shown = [name for name, *_ in _tracedata.REPORT_OPTIONS]
    assert [name for name in OPTIONS if name in shown] == shown
    assert {name for name in shown if OPTIONS[name].tracer != "function_graph"} == {"sym-offset"}


def test_choices_are_known_below() -> None:
    tracers = (*_engine.TRACERS, *_engine.LATENCY_TRACERS)
    known = {
        "tracer": tracers,
        "mode": _engine.MODES,
        "clock": _tracedata.CLOCKS,
        "compression": _tracedata.CODECS,
    }
    for setting in RECORDED:
        if setting.kind == CHOICE:
            assert setting.default in ("", *known[setting.name])
            assert set(setting.values) <= set(known[setting.name])


def test_the_engine_takes_each_setting_of_an_instance(tmp_path: Path) -> None:
    """Also, the engine has no setting that the table lacks."""
    settings = options.from_config({})
    keywords = options.engine_keywords(settings, settings["instances"][0])
    _engine.stop(_engine.start(str(tmp_path), **keywords))
    with pytest.raises(TypeError, match="unknown_setting"):
        _engine.start(str(tmp_path), **keywords, unknown_setting=1)
    engine = _engine.Instance("table")
    try:
        assert engine.settings.keys() - BY_NAME.keys() == set()
    finally:
        engine.close()


def test_the_engines_defaults_are_the_tables(tmp_path: Path) -> None:
    """In the stub; and the ring buffers have the size that the table says."""
    stub = ast.parse((DOCS.parent / "src" / "funcgraph" / "_engine.pyi").read_text())
    (start,) = [node for node in stub.body if isinstance(node, ast.FunctionDef) and node.name == "start"]
    defaults = {
        argument.arg: ast.literal_eval(default)
        for argument, default in zip(start.args.kwonlyargs, start.args.kw_defaults, strict=True)
        if default is not None
    }
    own = {"after_site", "instance", "notrace_tids"}
    recorded = {setting.name: setting.default for setting in RECORDED if setting.name in defaults}
    assert recorded.keys() | own == defaults.keys()
    assert {name: defaults[name] for name in recorded} == recorded
    sizes = []
    for keywords in ({}, {"buffer_kb": BY_NAME["buffer_kb"].default}):
        handle = _engine.start(str(tmp_path), **keywords)
        (ring,) = tmp_path.glob("*.ring")
        sizes.append(ring.stat().st_size)
        _engine.stop(handle)
        ring.unlink()
    # Rings begin at different offsets from a page boundary (ring_file.c, colour): one may need a page more.
    assert abs(sizes[0] - sizes[1]) <= 4096
    engine = _engine.Instance("table")
    assert engine.buffer_kb == BY_NAME["buffer_kb"].initial
    engine.close()


# ---- Python


def test_keywords_of_record() -> None:
    parameters = inspect.signature(funcgraph.record).parameters
    keywords = {name: parameter.default for name, parameter in parameters.items() if name != "output"}
    assert keywords == {setting.name: setting.default for setting in RECORDED} | {"instances": None}


def test_record_documents_each_keyword() -> None:
    text = inspect.getdoc(funcgraph.record) or ""
    documented = re.findall(r"^    (\w+): ", text, re.MULTILINE)
    assert [name for name in documented if name in BY_NAME] == [setting.name for setting in RECORDED]


def test_keywords_of_an_instance() -> None:
    parameters = inspect.signature(funcgraph.Instance).parameters
    keywords = {name: parameter.default for name, parameter in parameters.items() if name != "name"}
    assert keywords == {setting.keyword: setting.initial for setting in SETTINGS if setting.keyword}


def test_an_instance_has_the_files_as_attributes() -> None:
    properties = {name: value for name, value in vars(FileAttributes).items() if isinstance(value, property)}
    assert properties.keys() == BY_FILE.keys()
    for file, setting in BY_FILE.items():
        assert (properties[file].fset is not None) == ("w" in setting.access), file
        assert properties[file].__doc__, file
    with funcgraph.Instance("table") as instance:
        for file in BY_FILE:
            getattr(instance, file)
        for row in BUFFER_FILES.rows():
            assert hasattr(instance, row.name.partition("/")[0])


def test_an_instance_begins_with_its_defaults() -> None:
    with funcgraph.Instance("table") as instance:
        for setting in SETTINGS:
            if setting.file and setting.keyword and setting.kind != WORDS:
                assert getattr(instance, setting.file) == setting.initial, setting
        assert dict(instance.options) == {name: option.initial for name, option in OPTIONS.items()}


def test_keys_of_the_config_file() -> None:
    values = options.to_config(options.from_config({}))
    assert list(values) == [
        *(setting.name for setting in SETTINGS if setting.scope == RECORDING),
        "instances",
        *(f"0.{setting.name}" for setting in SETTINGS if setting.scope == INSTANCE),
    ]
    assert options.from_config(config.parse(config.dump(values))) == options.from_config({})


def test_parameters_at_the_start_of_a_program() -> None:
    assert {setting.name for setting in boot.PARAMETERS.values()} == {
        setting.name for setting in SETTINGS if setting.boot
    }
    for setting in boot.PARAMETERS.values():
        assert setting.keyword or hasattr(boot.BootInstance("x"), setting.name), setting


def test_flags_of_the_command() -> None:
    actions: dict[str, argparse.Action] = {}
    for action in cli.parser_of(cli.load("record"))._actions:
        actions |= dict.fromkeys(action.option_strings, action)
    for setting in FLAGGED:
        action = actions.pop(setting.flag)
        assert (action.dest, action.metavar or "") == (setting.name, setting.metavar)
        assert (action.help or "").startswith(setting.help)
    for setting in RECORDED:
        for value in setting.values:
            assert actions.pop(f"--{value}").dest == setting.name
    # Those of the command itself.
    assert actions.keys() == {
        "-h",
        "--help",
        "--help-all",
        "-P",
        "--children",
        "-o",
        "-B",
        "-f",
        "-R",
        "-q",
        "--isolated",
        "--or-untraced",
    }


def test_the_table_is_quick_to_import() -> None:
    """Every traced process loads it. Fails if it imports more than its own room."""
    code = (
        "import sys; before = set(sys.modules); import funcgraph.settings.check;"
        " print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "funcgraph",
        "funcgraph.settings",
        "funcgraph.settings.check",
        "funcgraph.settings.table",
    ]


# ---- the documents


def test_the_page_on_instances_has_each_file() -> None:
    listed = [code for cells in rows("guides/instances.md") for code in codes(cells[0])]
    for file in (*BY_FILE, *(row.name for row in BUFFER_FILES.rows())):
        assert listed.count(file) == 1, file


def test_the_page_on_instances_has_the_options_that_are_on_at_first() -> None:
    text = (DOCS / "guides" / "instances.md").read_text()
    sentence = re.search(r"In a new instance these options are on.*?:(.*?)\.\n", text, re.DOTALL)
    assert sentence
    assert codes(sentence[1]) == [name for name, option in OPTIONS.items() if option.initial]


def test_the_page_on_the_start_of_a_program_has_each_parameter() -> None:
    listed = {codes(cells[0])[0]: cells[1] for cells in rows("guides/boot.md") if codes(cells[0])}
    for setting in boot.PARAMETERS.values():
        value = "" if setting.kind == FLAG else f"={setting.boot_value}"
        meaning = listed.pop(f"{setting.boot}{value}")
        assert not setting.file or setting.file in codes(meaning) or setting.keyword in codes(meaning)
    variables = [name for name in listed if name.startswith("FUNCGRAPH")]
    assert list(listed) == ["trace_instance=NAME,...", "control", *variables]


@pytest.mark.parametrize("setting", FLAGGED, ids=lambda setting: setting.flag)
def test_the_manual_page_has_the_flag_with_its_default(setting: Setting) -> None:
    page = (DOCS / "man" / "funcgraph-record.md").read_text()
    term = " ".join(filter(None, [setting.flag, setting.metavar]))
    entry = re.search(rf"^`{re.escape(term)}`\n: (.*?)\n\n", page, re.MULTILINE | re.DOTALL)
    assert entry, term
    default: Any = setting.default
    if setting.kind == NUMBER and setting.default < setting.least:
        default = ""  # 0 stands for the value that the page names
    if setting.kind in (CHOICE, NUMBER):
        assert re.search(rf"Default: `?{default}`?\b", entry[1]), f"{term}: Default: {default}"
    elif setting.kind == PATTERNS:
        assert "May be given several times" in entry[1]


def test_a_live_setting_with_a_flag_is_one_of_a_file_and_not_of_a_recording() -> None:
    """Its flag is one of `funcgraph start` and the like, which write the file."""
    parser = cli.parser_of(cli.load("record"))
    recorded = {flag for action in parser._actions for flag in action.option_strings}
    for setting in SETTINGS:
        if setting.scope == LIVE and setting.flag:
            assert setting.file and "w" in setting.access and setting.flag not in recorded, setting
