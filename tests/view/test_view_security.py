"""Promise: only a page of the server that knows its token gets anything. Other sites, other names of this
machine, other methods and wrong parameters get a refusal; a hostile trace is text in each answer."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from view.servers import HOSTILE, Answer, Server

pytestmark = pytest.mark.one_python

QUESTIONS = (
    "traces", "lanes", "functions", "spans", "marks", "call", "step", "longest", "histogram", "source",
    "search", "text", "tree", "table", "diff", "butterfly", "expect", "expectation", "events",
)  # fmt: skip


def refused(answer: Answer) -> bool:
    """Whether nothing but a status came back."""
    assert "content-security-policy" in answer.headers
    return answer.status in (403, 405, 421) and answer.body == b""


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_needs_the_token(server: Server, question: str) -> None:
    for token in (None, "", "Bearer", "Bearer ", "Bearer x", "Basic x", "Bearer TOKENx", "TOKEN"):
        sent = token and token.replace("TOKEN", server.token)
        assert refused(server.request(f"/api/{question}?token={server.token}", authorization=sent)), token


def test_the_page_needs_the_token(server: Server) -> None:
    assert server.request(f"/?token={server.token}", authorization=None).status == 200
    for query in ("", "?", "?token=", "?token=x", f"?token={server.token}x", "?token=%ff"):
        assert refused(server.request(f"/{query}")), query
    assert refused(server.request(f"/?token={server.token}&token=x"))
    assert refused(server.request("/?" + "&".join(f"a{n}=1" for n in range(200)) + f"&token={server.token}"))


HOSTS = (
    "evil.example", "evil.example:PORT", "localhost.evil.example:PORT", "127.0.0.1.evil.example",
    "0.0.0.0:PORT", "[::1]:PORT", "127.0.0.1:PORT@evil", "localhost:PORT:PORT", "127.1",
    "2130706433", "localhost:",
)  # fmt: skip


@pytest.mark.parametrize("path", ["/?token=TOKEN", "/page/index.html", "/api/traces"])
def test_another_name_of_this_machine_gets_nothing(server: Server, path: str) -> None:
    """DNS rebinding: a site makes its own name lead to 127.0.0.1. Broken by letting any Host in."""
    for host in HOSTS:
        sent = host.replace("PORT", str(server.port))
        answer = server.request(path.replace("TOKEN", server.token), host=sent)
        assert refused(answer) and answer.status == 421, host


def test_a_forwarded_port_is_let_in(server: Server) -> None:
    for host in ("localhost:9000", "127.0.0.1:9000", "localhost", "LOCALHOST:1"):
        assert server.request("/api/traces", host=host, origin=f"http://{host}").status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://127.0.0.1:PORT",
        "http://localhost:PORT",
        "http://127.0.0.1:1",
        "",
    ],
)
def test_another_origin_gets_nothing(server: Server, origin: str) -> None:
    for path in ("/api/traces", "/page/index.html", f"/?token={server.token}"):
        assert refused(server.request(path, origin=origin.replace("PORT", str(server.port))))


def test_sites_beside_get_nothing(server: Server) -> None:
    """A link from another port of this machine may lead to the page; what is in it may not be asked for."""
    page = f"/?token={server.token}"
    for site, is_let_in in (
        ("none", (1, 1)),
        ("same-origin", (1, 1)),
        ("same-site", (0, 1)),
        ("cross-site", (0, 0)),
    ):
        for path, let_in in zip(("/api/traces", page), is_let_in, strict=True):
            answer = server.request(path, sec_fetch_site=site)
            assert answer.status == 200 if let_in else refused(answer), (site, path)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT"])
def test_only_get_is_answered(server: Server, method: str) -> None:
    assert refused(server.request("/api/traces", method=method))


def test_a_websocket_is_refused(server: Server) -> None:
    answer = server.request(
        "/api/events",
        authorization=None,
        connection="Upgrade",
        upgrade="websocket",
        sec_websocket_version="13",
        sec_websocket_key="dGhlIHNhbXBsZSBub25jZQ==",
    )
    assert refused(answer)


@pytest.mark.parametrize(
    "path",
    ["/page/../__init__.py", "/page/..%2f__init__.py", "/page/%2e%2e/server.py", "/page//etc/passwd",
     "/page/%2fetc%2fpasswd", "/page/", "/page", "/etc/passwd", "/page/index.html/", "/page/index.html%00.js",
     "/page/base", "/page/base/", "/page/base/../../server.py", "/page/base%2f..%2f..%2fserver.py",
     "//page/index.html", "/api", "/api/", "/api/nothing", "/index.html"],
)  # fmt: skip
def test_no_other_file_is_served(server: Server, path: str) -> None:
    answer = server.request(path)
    assert answer.status == 404
    assert set(answer.json()) == {"error"}


def test_each_answer_has_the_headers(server: Server) -> None:
    for path in ("/?token=" + server.token, "/page/index.html", "/api/traces", "/api/nothing", "/api/spans"):
        headers = server.request(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "set-cookie" not in headers and "access-control-allow-origin" not in headers


SPANS = {"lane": "0", "begin": "0", "end": "1000", "pixels": "10"}


WRONG = ("", "-1", "NaN", "inf", "1e999", "9" * 400, "0x10", "1_0", "\u0661", " 1", "1;2", "true", "2" * 20)


@pytest.mark.parametrize("name", SPANS)
def test_a_wrong_number_gets_one_sentence(server: Server, name: str) -> None:
    own = {
        "lane": ("1.5",),
        "begin": ("4611686018427387905",),
        "end": ("0",),
        "pixels": ("0", "16385", "1.5"),
    }
    for value in (*WRONG, *own[name]):
        check_sentence(server.get("spans", **{**SPANS, name: value}), name)


def test_other_wrong_parameters_get_one_sentence(server: Server) -> None:
    for name, value in (("first", "-1"), ("trace", "x"), ("nothing", "1"), ("x" * 5000, "1")):
        check_sentence(server.get("spans", **{**SPANS, name: value}), name[:40])


def check_sentence(answer: Answer, name: str) -> None:
    assert answer.status == 400, answer
    error = answer.json()["error"]
    assert name in error and len(error) < 250 and "\n" not in error


def test_numbers_out_of_the_trace_are_404(server: Server) -> None:
    server.ask("lanes")
    assert server.get("spans", **{**SPANS, "lane": 2}).status == 404
    assert server.get("longest", function=4).status == 404
    assert server.get("lanes", trace=1).status == 404


@pytest.mark.parametrize(
    ("question", "parameters"),
    [
        ("spans", {}),
        ("search", {}),
        ("search", {"text": ""}),
        ("search", {"text": "x" * 1001}),
        ("search", {"text": "[" * 1000}),
        ("step", {"function": 0, "time": 0, "direction": "up"}),
        ("tree", {"waiting": "2"}),
        ("tree", {"lanes": "1,x"}),
        ("tree", {"lanes": ",".join(["1"] * 1001)}),
        ("tree", {"hide": ""}),
        ("tree", {"merge": "all"}),
        ("tree", {"begin": 5, "end": 5}),
        ("text", {"lane": 0, "begin": 0, "end": 9, "most": 10_001}),
    ],
)
def test_wrong_parameters_get_one_sentence(
    server: Server, question: str, parameters: dict[str, object]
) -> None:
    server.ask("lanes")
    answer = server.get(question, **parameters)
    assert answer.status == 400 or (answer.status == 200 and "[" in str(parameters)), answer
    assert answer.status == 200 or set(answer.json()) == {"error"}


def test_a_parameter_twice_and_a_huge_one_are_refused(server: Server) -> None:
    assert server.request("/api/lanes?trace=0&trace=0").status == 400
    assert server.request("/api/lanes?trace=" + "1" * 20_000).status == 414
    assert server.get("traces").status == 200


def test_what_is_no_http_harms_nothing(server: Server) -> None:
    for data in (b"\0" * 100_000, b"GET /\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000, b""):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
            except ConnectionError:
                pass
    assert server.get("traces").status == 200


def test_hostile_names_and_values_are_text(server: Server) -> None:
    """They come as JSON strings in ASCII, byte for byte what the trace has, and never as markup."""
    name = f"app.{HOSTILE}"
    functions = server.ask("functions")["functions"]
    evil = next(row for row in functions if row["name"] == name)
    assert [lane["name"] for lane in server.ask("lanes")["lanes"]] == ["main", HOSTILE]
    call = server.ask("longest", function=evil["number"], most=1)["calls"][0]
    detail = server.ask("call", lane=call["lane"], time=call["begin_ns"])["call"]
    assert detail["arguments"][0][0] == "value" and "<script>" in detail["arguments"][0][1]
    for question, parameters in (
        ("functions", {}),
        ("text", {"lane": 0, "begin": 0, "end": 10**6}),
        ("call", {"lane": call["lane"], "time": call["begin_ns"]}),
        ("search", {"text": "<script>"}),
    ):
        answer = server.get(question, **parameters)
        assert answer.headers["content-type"] == "application/json"
        assert answer.body.isascii() and not any(byte < 32 or byte == 127 for byte in answer.body)


def test_the_server_listens_at_this_machine_alone(server: Server) -> None:
    """Broken by binding 0.0.0.0."""
    listening = [
        line.split()[1]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{server.port:04X}")
    ]
    assert listening == [f"0100007F:{server.port:04X}"]


def test_tokens_differ_and_are_long(server: Server) -> None:
    from funcgraph.view.access import new_token

    assert len({new_token() for _ in range(100)} | {server.token}) == 101
    assert len(server.token) >= 43  # 256 bits in base 64
