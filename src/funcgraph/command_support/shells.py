"""Completion scripts for bash, zsh and fish, from what can follow each command.

All words in a script are our own, and stand in quotes. While a person types only the ids of processes and
the names of functions are asked for. The script takes nothing but digits of the one answer, and names of
ASCII letters, digits, `_` and `.` of the other: nothing that a shell would obey reaches it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping

from funcgraph.command_support.completion import (
    COMMAND,
    FUNCTION,
    OTHER,
    PROCESS,
    SUFFIXES,
    TRACE,
    Flag,
    Value,
    Words,
)

__all__ = ["SCRIPTS"]

#: The options before a command's name -> their help.
_FIRST = {
    "-h": "show the help and exit",
    "--help": "show the help and exit",
    "-V": "print the version and exit",
    "--version": "print the version and exit",
}
_HELP = "say more about a command"
_PIDS = "command funcgraph completion --pids 2>/dev/null"

_BASH = """\
# Completion of funcgraph for bash, written by `funcgraph completion bash`.

_funcgraph_pids() {
    local before=${1%"${1##*,}"} pid
    while read -r pid; do
        [[ $pid =~ ^[0-9]+$ && $before$pid == "$1"* ]] && COMPREPLY+=("$before$pid")
    done < <(@PIDS@)
}

_funcgraph_functions() { # BEGIN OF
    local name
    while read -r name; do
        [[ $name =~ ^[A-Za-z_][A-Za-z0-9_.]*$ && $name == "$1"* ]] && COMPREPLY+=("$name")
    done < <(command funcgraph completion --functions "$1" ${2:+--of "$2"} 2>/dev/null)
    [[ ${COMPREPLY[0]-} == *. ]] && compopt -o nospace 2>/dev/null
}

_funcgraph_complete() { # KIND WORDS CURRENT OF
    local name
    [[ -n $2 ]] && mapfile -t COMPREPLY < <(compgen -W "$2" -- "$3")
    case $1 in
        process) _funcgraph_pids "$3" ;;
        function) _funcgraph_functions "$3" "${4-}" ;;
        trace)
            compopt -o filenames 2>/dev/null
            while IFS= read -r name; do
                [[ -d $name || $name =~ \\.(@SUFFIXES@)$ ]] && COMPREPLY+=("$name")
            done < <(compgen -f -- "$3")
            ;;
        file | command) compopt -o bashdefault -o default 2>/dev/null ;;
    esac
}

_funcgraph() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-}
    local option= flags= valued= kind= words= word i of=
    local names='@NAMES@'
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _funcgraph_complete other "$names @FIRST@" "$current"
        return
    fi
    case $command in
        help) words=$names ;;
@COMMANDS@
    esac
    for ((i = 2; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == '=' ]]; then # of --color=auto, which bash splits
            continue
        elif [[ -n $option ]]; then
            [[ $option == -P || $option == -i || $option == --input ]] && of=$word
            option=
        elif [[ " $valued " == *" $word "* ]]; then
            option=$word
        elif [[ $kind == command && ($word != -?* || $word == -[mc] || $word == --) ]]; then # it begins
            _funcgraph_complete command '' "$current"
            return
        fi
    done
    [[ $current == '=' ]] && current=
    if [[ -n $option ]]; then
        kind=other words=
        case $command,$option in
@VALUES@
        esac
    elif [[ $current == -* ]]; then
        kind=other words=$flags
    fi
    _funcgraph_complete "$kind" "$words" "$current" "$of"
}

complete -F _funcgraph funcgraph
"""

_ZSH = """\
#compdef funcgraph
# Completion of funcgraph for zsh, written by `funcgraph completion zsh`.

_funcgraph_pids() {
    local -a pids
    pids=(${(M)${(f)"$(@PIDS@)"}:#<->})
    compadd -a pids
}

_funcgraph_functions() {
    local -a names of
    local -i i
    for ((i = 2; i < CURRENT; i++)); do
        [[ $words[i] == (-P|-i|--input) ]] && of=(--of "$words[i+1]")
    done
    names=(${(M)${(f)"$(command funcgraph completion --functions "$PREFIX" $of 2>/dev/null)"}:#[A-Za-z_]*})
    names=(${names:#*[^A-Za-z0-9_.]*})
    compadd -S '' -a names
}

_funcgraph_traces() {
    _files -g '*.(@SUFFIXES@)'
}

_funcgraph() {
    local curcontext=$curcontext ret=1
    local -a names first
    names=(
@NAMES@
    )
    first=(
@FIRST@
    )
    if ((CURRENT == 2)); then
        _describe -o option first && ret=0
        _describe command names && ret=0
        return ret
    fi
    shift words
    ((CURRENT--))
    case $words[1] in
        (help) _describe command names ;;
@COMMANDS@
    esac
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _funcgraph "$@"
else
    compdef _funcgraph funcgraph
fi
"""

_FISH = """\
# Completion of funcgraph for fish, written by `funcgraph completion fish`.

function __funcgraph_first
    test (count (commandline -opc)) -eq 1
end

function __funcgraph_of
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test "$words[2]" = $argv[1]
end

function __funcgraph_options_of # COMMAND: and the program that it runs has not begun, which has its own
    __funcgraph_of $argv[1]; or return 1
    set -l valued __funcgraph_valued_$argv[1]
    set -l is_value 0
    for word in (commandline -opc)[3..]
        if test $is_value -eq 1
            set is_value 0
        else if contains -- $word $$valued
            set is_value 1
        else if not string match -qr -- '^-.' $word; or contains -- $word -m -c --
            return 1
        end
    end
end

function __funcgraph_pids
    @PIDS@ | string match -r '^[0-9]+$'
end

function __funcgraph_functions
    set -l words (commandline -opc)
    set -l of
    for place in (seq (count $words))
        if contains -- $words[$place] -P -i --input
            set of --of $words[(math $place + 1)]
        end
    end
    set -l begin (commandline -ct)
    command funcgraph completion --functions "$begin" $of 2>/dev/null |
        string match -r '^[A-Za-z_][A-Za-z0-9_.]*$'
end

function __funcgraph_traces
    set -l begin (commandline -ct)
    set -l names @GLOBS@
    printf '%s\\n' $names
    __fish_complete_directories "$begin"
end

@VALUED@
complete -c funcgraph -f
@COMMANDS@
"""


def _filled(template: str, **texts: str) -> str:
    return re.sub("@([A-Z]+)@", lambda found: texts[found[1]], template)


def _bash(commands: Mapping[str, Words], helps: Mapping[str, str]) -> str:
    rows = []
    values: dict[tuple[str, str], str] = {}
    for name, words in commands.items():
        rows.append(
            f"        {name}) flags={_joined(words.flag_names())} "
            f"valued={_joined(words.valued_names())} {_bash_value(words.rest)} ;;"
        )
        for flag in words.valued():
            if flag.value and flag.value != Value(OTHER):
                pattern = "|".join(f"{name},{each}" for each in flag.names)
                values[name, pattern] = f"            {pattern}) {_bash_value(flag.value)} ;;"
    return _filled(
        _BASH,
        PIDS=_PIDS,
        SUFFIXES="|".join(SUFFIXES),
        NAMES=" ".join([*commands, "help"]),
        FIRST=" ".join(_FIRST),
        COMMANDS="\n".join(rows),
        VALUES="\n".join(values.values()),
    )


def _bash_value(value: Value) -> str:
    return f"kind={value.kind} words={_joined(value.words)}"


def _joined(words: Iterable[str]) -> str:
    return shlex.quote(" ".join(words))


def _zsh(commands: Mapping[str, Words], helps: Mapping[str, str]) -> str:
    rows = []
    for name, words in commands.items():
        specs = [_zsh_flag(flag, each) for flag in words.flags for each in flag.names]
        specs += _zsh_rest(words.rest)
        listed = " \\\n".join(f"            {shlex.quote(spec)}" for spec in specs)
        rows.append(f"        ({name}) _arguments \\\n{listed} ;;")
    described = {**helps, "help": _HELP}
    return _filled(
        _ZSH,
        PIDS=_PIDS,
        SUFFIXES="|".join(SUFFIXES),
        NAMES=_zsh_described(described),
        FIRST=_zsh_described(_FIRST),
        COMMANDS="\n".join(rows),
    )


def _zsh_described(texts: Mapping[str, str]) -> str:
    return "\n".join(f"        {shlex.quote(f'{name}:{_zsh_escaped(text)}')}" for name, text in texts.items())


def _zsh_escaped(text: str) -> str:
    return re.sub(r"([\\:\[\]])", r"\\\1", text)


def _zsh_flag(flag: Flag, name: str) -> str:
    equals = "=" if flag.value and name.startswith("--") else ""
    value = f"{':' if flag.must else '::'}value:{_zsh_value(flag.value)}" if flag.value else ""
    return f"*{name}{equals}[{_zsh_escaped(flag.help)}]{value}"


def _zsh_rest(value: Value) -> list[str]:
    if value.kind == COMMAND:
        return ["(-):command:_command_names -e", "*::arguments:_normal"]
    return [f"*:argument:{_zsh_value(value)}"]


def _zsh_value(value: Value) -> str:
    of_kind = {
        PROCESS: "_funcgraph_pids",
        TRACE: "_funcgraph_traces",
        FUNCTION: "_funcgraph_functions",
        OTHER: " ",
    }
    action = of_kind.get(value.kind, "_files")
    if not value.words:
        return action
    words = f"({' '.join(value.words)})"
    return words if action == " " else f' _alternative "words:word:{words}" "others:other:{action}"'


def _fish(commands: Mapping[str, Words], helps: Mapping[str, str]) -> str:
    lines = [
        f"complete -c funcgraph -n __funcgraph_first -a {name} -d {_fish_quoted(text)}"
        for name, text in {**helps, "help": _HELP}.items()
    ]
    lines += [
        f"complete -c funcgraph -n __funcgraph_first {_fish_name(name)} -d {_fish_quoted(text)}"
        for name, text in _FIRST.items()
    ]
    lines.append(f"complete -c funcgraph -n '__funcgraph_of help' -a {_fish_quoted(' '.join(commands))}")
    valued = []
    for name, words in commands.items():
        begin = f"complete -c funcgraph -n '__funcgraph_of {name}'"
        if rest := _fish_value(words.rest).removeprefix("-x "):
            lines.append(f"{begin} {rest.removeprefix('-r ')}")
        if words.rest.kind == COMMAND:
            valued.append(f"set -g __funcgraph_valued_{name} {' '.join(words.valued_names())}")
            begin = f"complete -c funcgraph -n '__funcgraph_options_of {name}'"
        for flag in words.flags:
            names = " ".join(map(_fish_name, flag.names))
            value = f" {_fish_value(flag.value) or '-x'}" if flag.value and flag.must else ""
            lines.append(f"{begin} {names}{value} -d {_fish_quoted(flag.help)}")
    globs = " ".join(f"$begin*.{suffix}" for suffix in SUFFIXES)
    return _filled(_FISH, PIDS=_PIDS, GLOBS=globs, VALUED="\n".join(valued), COMMANDS="\n".join(lines))


def _fish_name(name: str) -> str:
    return f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"


def _fish_value(value: Value) -> str:
    """Return the options of `complete` for a value; "": nothing is known of it."""
    of_kind = {
        PROCESS: "(__funcgraph_pids)",
        TRACE: "(__funcgraph_traces)",
        FUNCTION: "(__funcgraph_functions)",
    }
    words = " ".join([*value.words, *filter(None, [of_kind.get(value.kind)])])
    if words:
        return f"-x -a {_fish_quoted(words)}"
    return "" if value.kind == OTHER else "-r -F"


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


#: A shell -> what writes its script: from what can follow each command, and each command's help.
SCRIPTS: dict[str, Callable[[Mapping[str, Words], Mapping[str, str]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
