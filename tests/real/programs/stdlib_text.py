"""The standard library's text machinery: re, json, ast, tokenize, difflib, argparse and others."""

import argparse
import ast
import configparser
import csv
import difflib
import io
import json
import pprint
import re
import string
import textwrap
import tokenize

SOURCE = textwrap.__file__


def regular_expressions():
    re.purge()
    for pattern in (r"(?P<a>\d+)-(?P<b>[a-z]*?)", r"^(?:x|y{2,3})+$", r"(?i:[^\W\d_])\b", r"(?<=a)b(?!c)"):
        re.compile(pattern)
    assert re.sub(r"\d", lambda match: f"<{match[0]}>", "a1b2") == "a<1>b<2>"


def json_text():
    data = {"list": [1, 2.5, None, True, "\u00e9"], "nested": {"a": [{}] * 3}}
    text = json.dumps(data, indent=2, sort_keys=True)
    assert json.loads(text, object_hook=dict) == data
    assert json.loads(json.dumps([(1, 2), {3: 4}], default=str)) == [[1, 2], {"3": 4}]
    try:
        json.loads("{broken")
    except json.JSONDecodeError:
        pass


class Renamer(ast.NodeTransformer):
    def visit_Name(self, node):
        return ast.copy_location(ast.Name(id=node.id + "_", ctx=node.ctx), node)


def syntax_trees():
    with open(SOURCE, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    text = ast.unparse(Renamer().visit(tree))
    assert ast.dump(ast.parse(text))
    assert sum(1 for _ in ast.walk(tree)) > 500
    assert ast.literal_eval("{'a': (1, [2.5])}") == {"a": (1, [2.5])}


def tokens():
    with open(SOURCE, "rb") as file:
        found = list(tokenize.tokenize(file.readline))
    assert tokenize.untokenize(found)


def options():
    parser = argparse.ArgumentParser(prog="tool", description="words " * 30)
    parser.add_argument("--level", type=int, choices=range(5), default=1)
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("run").add_argument("files", nargs="*")
    assert parser.parse_args(["--level", "3", "run", "a", "b"]).files == ["a", "b"]
    assert parser.format_help()
    configuration = configparser.ConfigParser()
    configuration.read_string("[a]\nx = 1\ny = %(x)s2\n")
    assert configuration["a"]["y"] == "12"


def tables():
    rows = [[str(i), f'"{i}"', "a,b"] for i in range(10)]
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    assert list(csv.reader(out.getvalue().splitlines())) == rows
    left, right = textwrap.wrap("the quick brown fox " * 8, 20), textwrap.wrap("the slow brown dog " * 8, 20)
    assert list(difflib.unified_diff(left, right)) and difflib.ndiff(left, right)
    assert string.Template("$a ${b}").substitute(a=1, b=2) == "1 2"
    assert pprint.pformat({"k" * i: [i] * 10 for i in range(12)})


def main():
    regular_expressions()
    json_text()
    syntax_trees()
    tokens()
    options()
    tables()
    re.purge()
