"""README tells scripts what there is. The kernel's selftests look for these texts before they run."""

from __future__ import annotations

import pytest
from traced import leaf

import funcgraph
from funcgraph.definitions.field import FIELD_TYPES
from funcgraph.events.hist_expression import MODIFIERS
from funcgraph.events.trigger import KINDS
from funcgraph.instance.commands import COMMANDS
from funcgraph.tracefs.tree import Tree

pytestmark = pytest.mark.one_python

#: What `requires:` of tools/testing/selftests/ftrace names, and is here.
FEATURES = (
    "' >> synthetic_events",
    "long[] stack' >> synthetic_events",
    "<argname>",
    "<argname>[->field[->field|.field...]]",
    "<attached-group>.<attached-event> [<args>]",
    "<symbol>[+<offset>]%return",
    "<var1>=<field|var_ref|numeric_literal>",
    "Create/append/",
    "accepts: func_full_name or glob-matching-pattern",
    "can be any field, or the special string 'common_stacktrace'",
    "e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>]",
    "f[:[<group>/][<event>]] <func-name>[%return] [<args>]",
    "imm-value",
    "imm-string",
    "kernel return probes support:",
    "onchange(var)",
    "p[:[<group>/][<event>]] <place> [<args>]",
    "place (kretprobe): [<module>:]<symbol>",
    "place: [<module>:]<symbol>",
    "r[maxactive]",
    "s:[synthetic/]",
    "snapshot()",
    "t[:[<group>/][<event>]] <tracepoint> [<args>]",
    "trace(<synthetic_event>",
    "x8/16/32/64",
    "$arg<N>",
)
#: And is not: nothing here has machine registers, memory, files of programs, or a group.
ABSENT = ("[gid=<gid>]", "%pd/%pD", "uprobe_events", "[u]<offset>", "%<register>", "stack_trace_filter")


@pytest.fixture(scope="module")
def readme() -> str:
    with funcgraph.Instance("readme") as instance:
        return instance.files["README"]


@pytest.mark.parametrize("feature", FEATURES)
def test_it_announces_each_feature_that_is_there(readme: str, feature: str) -> None:
    assert feature in readme


@pytest.mark.parametrize("feature", ABSENT)
def test_it_announces_nothing_else(readme: str, feature: str) -> None:
    assert feature not in readme


def test_it_names_each_file_and_folder_of_the_root(readme: str) -> None:
    words = set(readme.replace("/", " ").replace(",", " ").split())
    assert set(Tree().list("")) - {"README", "per_cpu"} <= words


def test_it_names_each_word_of_the_tables(readme: str) -> None:
    for word in (*KINDS, *COMMANDS, *(f".{name} " for name in MODIFIERS)):
        assert word in readme, word
    for name in FIELD_TYPES:
        letter, size = name[:1], name[1:]
        assert name in readme or (f"{letter}8/16/32/64" in readme and size in ("16", "32", "64")), name


def test_each_announced_definition_is_taken(readme: str) -> None:
    assert leaf.__module__ == "traced"
    for line in (
        "p:readme/a traced.leaf n=$arg1",
        "p:readme/b traced:leaf",
        "p:readme/h traced.leaf n=$arg1:b4@4/32",
        "r10:readme/c traced.leaf $retval",
        "f:readme/d traced.leaf%return n=$arg1",
        "t:readme/e raise",
        "e:readme/f py.raise line=$line if line > 1",
        "s:synthetic/g u64 lat; char name[]; unsigned long[] stack",
    ):
        funcgraph.dynamic_events.define(line)
    funcgraph.dynamic_events.clear()
