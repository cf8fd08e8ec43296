from collections.abc import Sequence

import pytest

from wigwag.bindings.http_hosts import HostRules


def refused(rules: HostRules, host: bytes | None, origin: bytes | None = None) -> str | None:
    """Return the header that a request is refused for, `None` when it is not."""
    refusal = rules.refusal(host, origin)
    return None if refusal is None else refusal.header


LOOPBACK_HOSTS = [
    b"localhost", b"localhost:8765", b"LOCALHOST:8765", b"localhost.", b"127.0.0.1",
    b"127.0.0.1:8765", b"127.0.0.1:1", b"[::1]", b"[::1]:8765",
]  # fmt: skip

FOREIGN_HOSTS = [
    b"evil.example", b"evil.example:8765", b"localhost.evil.example", b"127.0.0.1.evil.example",
    b"evil-localhost", b"xlocalhost", b"127.0.0.2", b"[::2]", b"::1", b"[::1", b"0.0.0.0",
    b"user@localhost", b"localhost:8765@evil.example", b"localhost/", b"localhost#", b"localhost,x",
    b"localhost:", b"localhost:x", b"localhost:123456", b"local host", b"", b"*", b"[::1]evil",
    b"\xe9.example",
]  # fmt: skip

FOREIGN_ORIGINS = [
    b"http://evil.example", b"https://evil.example", b"http://evil.example:8765", b"null", b"",
    b"http://localhost.evil.example", b"http://localhost@evil.example", b"http://127.0.0.2",
    b"ftp://localhost", b"tauri://localhost", b"localhost", b"//localhost", b"http://",
    b"http://localhost/", b"http://localhost http://evil.example", b"http://localhost, http://x",
    b"*", b"\xff", b"http://localhost:65536x",
]  # fmt: skip


# --- bound to a loopback address


@pytest.mark.parametrize(
    "bound", ["127.0.0.1", "localhost", "LocalHost", "::1", "[::1]", "127.1.2.3"]
)
@pytest.mark.parametrize("host", LOOPBACK_HOSTS)
def test_a_local_server_answers_to_local_names_at_any_port(bound: str, host: bytes) -> None:
    assert refused(HostRules(host=bound), host) is None


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_local_server_answers_to_no_other_name(host: bytes) -> None:
    rules = HostRules(host="127.0.0.1")
    assert refused(rules, host) == "Host"
    assert refused(rules, host, b"http://" + host) == "Host"


def test_a_local_server_answers_to_the_address_it_is_bound_to() -> None:
    rules = HostRules(host="127.1.2.3")
    assert refused(rules, b"127.1.2.3:80", b"http://127.1.2.3") is None
    assert refused(rules, b"127.1.2.4:80") == "Host"


def test_a_local_server_wants_to_know_whom_a_request_is_for() -> None:
    assert refused(HostRules(host="127.0.0.1"), None) == "Host"


@pytest.mark.parametrize(
    "origin",
    [
        b"http://localhost:8765", b"http://localhost:6274", b"https://localhost", b"http://127.0.0.1",
        b"http://[::1]:3000", b"HTTP://LocalHost:1",
    ],
)  # fmt: skip
def test_local_pages_may_use_a_local_server(origin: bytes) -> None:
    assert refused(HostRules(host="127.0.0.1"), b"localhost:8765", origin) is None


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_other_pages_may_not_use_a_local_server(origin: bytes) -> None:
    assert refused(HostRules(host="127.0.0.1"), b"localhost:8765", origin) == "Origin"


def test_a_list_of_hosts_adds_to_the_local_names() -> None:
    rules = HostRules(host="127.0.0.1", allowed_hosts=["mcp.example.com"])
    assert refused(rules, b"mcp.example.com") is None
    assert refused(rules, b"mcp.example.com", b"https://mcp.example.com") is None
    assert refused(rules, b"localhost:8765", b"http://localhost:8765") is None
    assert refused(rules, b"evil.example") == "Host"
    assert refused(rules, b"mcp.example.com", b"https://evil.example") == "Origin"


def test_a_list_of_origins_adds_to_the_local_pages() -> None:
    rules = HostRules(host="127.0.0.1", allowed_origins=["https://app.example.com"])
    assert refused(rules, b"localhost", b"https://app.example.com") is None
    assert refused(rules, b"localhost", b"http://localhost:3000") is None
    assert refused(rules, b"localhost", b"https://evil.example") == "Origin"


# --- bound to another address, or it is not known


@pytest.mark.parametrize("bound", ["0.0.0.0", "::", "", "192.168.1.5", "mcp.example.com", None])
@pytest.mark.parametrize("host", [b"mcp.example.com", b"10.0.0.7:8080", b"localhost", None])
def test_a_public_server_without_a_list_answers_to_any_name(
    bound: str | None, host: bytes | None
) -> None:
    rules = HostRules(host=bound)
    assert rules.any_host
    assert refused(rules, host) is None


@pytest.mark.parametrize("bound", ["0.0.0.0", None])
def test_a_public_server_with_a_list_answers_to_that_alone(bound: str | None) -> None:
    rules = HostRules(host=bound, allowed_hosts=["mcp.example.com"])
    assert not rules.any_host
    assert refused(rules, b"mcp.example.com") is None
    assert refused(rules, b"localhost") == "Host"
    assert refused(rules, None) == "Host"
    assert refused(HostRules(host=bound, allowed_hosts=[]), b"mcp.example.com") == "Host"


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (b"mcp.example.com", b"https://mcp.example.com"),
        (b"mcp.example.com", b"http://mcp.example.com"),
        (b"mcp.example.com", b"http://mcp.example.com:80"),
        (b"mcp.example.com:443", b"https://mcp.example.com"),
        (b"MCP.example.com:8443", b"https://mcp.example.com:8443"),
        (b"[2001:db8::1]:80", b"http://[2001:db8::1]"),
    ],
)
def test_pages_of_the_host_that_a_request_is_for_are_allowed(host: bytes, origin: bytes) -> None:
    assert refused(HostRules(), host, origin) is None


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (b"mcp.example.com", b"https://app.example.com"),
        (b"mcp.example.com", b"https://mcp.example.com:8443"),
        (b"mcp.example.com:8080", b"http://mcp.example.com"),
        (b"mcp.example.com:80", b"https://mcp.example.com"),
        (b"mcp.example.com", b"http://mcp.example.com.evil.example"),
        (b"mcp.example.com", b"chrome-extension://mcp.example.com"),
        (b"a b", b"http://a b"),
        (b"mcp.example.com", b"null"),
        (None, b"http://mcp.example.com"),
        (b"localhost", b"http://localhost:3000"),
    ],
)
def test_pages_of_another_host_are_not_allowed(host: bytes | None, origin: bytes) -> None:
    assert refused(HostRules(), host, origin) == "Origin"


# --- what the lists can say


@pytest.mark.parametrize(
    ("entry", "accepted", "not_accepted"),
    [
        ("*", [b"evil.example", b"a b", None], []),
        (
            "Example.com",
            [b"example.com", b"EXAMPLE.com:80", b"example.com:9000"],
            [b"a.example.com"],
        ),
        ("example.com:*", [b"example.com", b"example.com:9000"], [b"example.org:9000"]),
        ("example.com:9000", [b"example.com:9000"], [b"example.com", b"example.com:9001"]),
        (
            "*.example.com",
            [b"a.example.com", b"a.b.example.com:1"],
            [b"example.com", b".example.com", b"aexample.com", b"a.example.com.evil.example"],
        ),
        ("*.example.com:90", [b"a.example.com:90"], [b"a.example.com", b"a.example.com:91"]),
        ("[2001:db8::1]", [b"[2001:db8::1]:80", b"[2001:DB8::1]"], [b"[2001:db8::2]"]),
        ("10.0.0.7", [b"10.0.0.7:8080"], [b"10.0.0.70", b"10.0.0.8"]),
    ],
)
def test_an_entry_of_the_hosts_means_what_it_says(
    entry: str, accepted: Sequence[bytes | None], not_accepted: Sequence[bytes]
) -> None:
    rules = HostRules(allowed_hosts=["other.example", entry])
    assert [host for host in accepted if refused(rules, host)] == []
    assert [host for host in not_accepted if not refused(rules, host)] == []


@pytest.mark.parametrize(
    ("entry", "accepted", "not_accepted"),
    [
        ("*", [b"https://evil.example", b"null", b"file://"], []),
        ("null", [b"null"], [b"https://evil.example", b"NULL"]),
        (
            "https://app.example.com",
            [b"https://app.example.com", b"https://APP.example.com:443"],
            [
                b"http://app.example.com", b"https://app.example.com:8443", b"null",
                b"https://x.app.example.com", b"https://app.example.com.evil.example",
            ],
        ),
        ("http://dev.example:3000", [b"http://dev.example:3000"], [b"http://dev.example"]),
        ("http://dev.example:*", [b"http://dev.example", b"http://dev.example:1"], [b"https://dev.example"]),
        (
            "https://*.example.com",
            [b"https://a.example.com", b"https://a.b.example.com"],
            [b"https://example.com", b"https://a.example.com:8443", b"http://a.example.com"],
        ),
        ("chrome-extension://abcdef", [b"chrome-extension://abcdef"], [b"chrome-extension://abc"]),
        ("vscode-webview://*", [b"vscode-webview://1f2e"], [b"https://1f2e"]),
    ],
)  # fmt: skip
def test_an_entry_of_the_origins_means_what_it_says(
    entry: str, accepted: Sequence[bytes], not_accepted: Sequence[bytes]
) -> None:
    rules = HostRules(allowed_origins=["https://other.example", entry])
    assert [origin for origin in accepted if refused(rules, b"mcp.example.com", origin)] == []
    assert [o for o in not_accepted if not refused(rules, b"mcp.example.com", o)] == []


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("https://mcp.example.com", "write 'mcp.example.com'"),
        ("https://mcp.example.com/", "write 'mcp.example.com'"),
        ("mcp.example.com/mcp", "write one such as 'mcp.example.com'"),
        ("", "write one such as"),
        ("::1", "write one such as"),
    ],
)
def test_a_host_that_cannot_be_read_is_named(entry: str, hint: str) -> None:
    with pytest.raises(ValueError, match=f"^allowed_hosts: '{entry}' is no host; {hint}"):
        HostRules(allowed_hosts=[entry])


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("app.example.com", "'https://app.example.com'"),
        ("app.example.com:8443", "'https://app.example.com:8443'"),
        ("https://app.example.com/", "'https://app.example.com'"),
        ("", "'https://app.example.com'"),
    ],
)
def test_an_origin_that_cannot_be_read_is_named(entry: str, hint: str) -> None:
    with pytest.raises(ValueError, match=f"^allowed_origins: '{entry}' is no origin; .* {hint}$"):
        HostRules(allowed_origins=[entry])


def test_a_mere_string_is_no_list() -> None:
    with pytest.raises(TypeError, match=r"^allowed_hosts is a list; write \['\*'\]$"):
        HostRules(allowed_hosts="*")
    with pytest.raises(TypeError, match=r"^allowed_origins is a list; write \['\*'\]$"):
        HostRules(allowed_origins="*")


# --- what is said


def reason(rules: HostRules, host: bytes | None, origin: bytes | None = None) -> str:
    refusal = rules.refusal(host, origin)
    assert refusal is not None
    return refusal.reason


def test_a_refusal_says_what_was_refused_and_what_would_allow_it() -> None:
    rules = HostRules(host="127.0.0.1")
    assert reason(rules, b"mcp.example.com:8443") == (
        "refused Host 'mcp.example.com:8443': this server does not answer to that name;"
        " if it should, add 'mcp.example.com' to allowed_hosts"
    )
    assert reason(rules, b"localhost", b"https://app.example.com") == (
        "refused Origin 'https://app.example.com': web pages of that origin may not use this"
        " server; if they may, add 'https://app.example.com' to allowed_origins"
    )
    assert reason(rules, b"localhost", b"null").endswith("add 'null' to allowed_origins")
    assert reason(rules, None) == (
        "refused a request without Host: this server answers to certain names only"
    )


@pytest.mark.parametrize("value", [b"mcp.example.com:8443", b"[2001:db8::1]"])
def test_what_a_refusal_advises_helps(value: bytes) -> None:
    host = reason(HostRules(host="127.0.0.1"), value).split("'")[3]
    assert refused(HostRules(host="127.0.0.1", allowed_hosts=[host]), value) is None
    page = reason(HostRules(), b"x", b"https://" + value).split("'")[3]
    assert refused(HostRules(allowed_origins=[page]), b"x", b"https://" + value) is None


def test_a_refusal_is_safe_to_log() -> None:
    text = reason(HostRules(host="::1"), b"a\x1b[31m\r\n" + b"x" * 9000)
    assert text.isprintable()
    assert len(text) < 400
    assert "allowed_hosts" not in text  # no setting would help
    text = reason(HostRules(host="::1"), b"localhost", b"http://\x1b[31m\r\n" + b"x" * 9000)
    assert text.isprintable()
    assert len(text) < 400
    assert "allowed_origins" not in text


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        (
            HostRules(host="127.0.0.1"),
            "accepts Host localhost, 127.0.0.1, [::1], and web pages of the same host, localhost,"
            " 127.0.0.1, [::1]",
        ),
        (
            HostRules(host="0.0.0.0"),
            "accepts any Host (set allowed_hosts to the names that this server has), and web pages"
            " of the same host",
        ),
        (HostRules(allowed_hosts=["*"]), "accepts any Host, and web pages of the same host"),
        (
            HostRules(allowed_hosts=["a.example", "*.b.example"], allowed_origins=["*"]),
            "accepts Host a.example, *.b.example, and any Origin",
        ),
        (
            HostRules(allowed_hosts=[], allowed_origins=["https://c.example"]),
            "accepts no Host, and web pages of the same host, https://c.example",
        ),
    ],
)
def test_the_rules_describe_themselves(rules: HostRules, sentence: str) -> None:
    assert rules.describe() == sentence


# --- what is remembered


def test_what_was_accepted_is_accepted_again_and_what_was_refused_is_refused_again() -> None:
    rules = HostRules(host="127.0.0.1")
    for _ in range(3):
        assert refused(rules, b"localhost:1", b"http://localhost:2") is None
        assert refused(rules, b"localhost:1", b"http://evil.example") == "Origin"
        assert refused(rules, b"evil.example", b"http://localhost:2") == "Host"


def test_hostile_requests_do_not_fill_the_memory() -> None:
    rules = HostRules()
    for number in range(2000):
        assert refused(rules, b"host-%d" % number) is None
        assert refused(rules, b"host-%d" % number + b"x" * 9000) is None
    remembered = rules._accepted
    assert 0 < len(remembered) <= 256
    assert sum(len(host or b"") for host, _ in remembered) < 256 * 512
