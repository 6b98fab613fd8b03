"""jinja2 compiles and renders templates: code made at run time, generators, recursion."""

import jinja2

TEMPLATES = {
    "base": "<{% block title %}none{% endblock %}>{% block body %}{% endblock %}",
    "macros": "{% macro item(n, depth=0) %}"
    "{{ n }}{% if depth %}({{ item(n, depth - 1) }}){% endif %}{% endmacro %}",
    "page": """{% extends "base" %}{% from "macros" import item %}
        {% block title %}{{ title | upper | replace("A", "4") }}{% endblock %}
        {% block body %}{% for row in rows if row % 2 recursive %}{{ loop.index }}:{{ item(row, 2) }}
        {% else %}nothing{% endfor %}{{ super() }}{% endblock %}""",
}


def main():
    environment = jinja2.Environment(loader=jinja2.DictLoader(TEMPLATES), cache_size=0)
    for n in range(3):
        text = environment.get_template("page").render(title="a title", rows=range(n * 5))
        assert "4 TITLE" in text
    assert "".join(environment.get_template("page").generate(title="x", rows=[1])).strip()
    try:
        environment.from_string("{{ 1 / zero }}").render(zero=0)
    except ZeroDivisionError:
        pass
