"""Who may ask: hosts, origins, tokens, content types."""

import pytest

pytestmark = pytest.mark.extra("starlette")
TOKEN = "0123456789abcdef"


def client_of(registry, base="http://127.0.0.1:8000", **settings):
    from starlette.testclient import TestClient

    from postil.server.app import create_app
    from postil.server.settings import ServerSettings

    return TestClient(create_app(registry, ServerSettings(**settings)), base_url=base)


def code(answer):
    return answer.json()["error"]["code"] if answer.status_code >= 400 else answer.status_code


@pytest.mark.parametrize(
    ("host", "passes"),
    [
        ("127.0.0.1:8000", True),
        ("localhost:8000", True),
        ("LOCALHOST", True),
        ("[::1]:8000", True),
        ("127.3.2.1", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("192.168.0.1", False),
        ("", False),
        ("a b", False),
        ("127.0.0.1:8000, evil.example", False),
        ("127.0.0.1, evil.example", False),
        ("evil.example@127.0.0.1", False),
        ("127.0.0.1:8000/evil.example", False),
        ("127.0.0.1:port", False),
        ("127.0.0.1:", False),
        ("[::1", False),
        ("known.example:80", True),
    ],
)
def test_hosts_on_this_machine(registry, host, passes):
    with client_of(registry, hosts=("known.example",)) as client:
        answer = client.get("/api/models", headers={"host": host})
    assert code(answer) == (200 if passes else "host")


def test_elsewhere_addresses_pass_and_unknown_names_do_not(registry):
    with client_of(registry, host="0.0.0.0", token=TOKEN) as client:
        for host, expected in (("10.0.0.4:80", 200), ("[2001:db8::1]", 200), ("evil.example", "host")):
            headers = {"host": host, "authorization": f"Bearer {TOKEN}"}
            assert code(client.get("/api/models", headers=headers)) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, "token"),
        ("Bearer wrong", "token"),
        (f"Bearer {TOKEN}x", "token"),
        (f"Basic {TOKEN}", "token"),
        (TOKEN, "token"),
        (f"Bearer {TOKEN}", 200),
    ],
)
def test_the_token_opens_the_api_and_the_counters(registry, header, expected):
    with client_of(registry, token=TOKEN) as client:
        headers = {} if header is None else {"authorization": header}
        for path in ("/api/models", "/metrics"):
            answer = client.get(path, headers=headers)
            assert code(answer) == expected
            assert (answer.headers.get("www-authenticate") == "Bearer") == (expected == "token")
        assert client.get("/health").status_code == client.get("/").status_code == 200


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 200),
        ({"origin": "http://127.0.0.1:8000"}, 200),
        ({"origin": "http://127.0.0.1:9000"}, "origin"),
        ({"origin": "https://evil.example"}, "origin"),
        ({"origin": "null"}, "origin"),
        ({"sec-fetch-site": "cross-site"}, "origin"),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"content-type": "text/plain"}, "type"),
        ({"content-type": "application/x-www-form-urlencoded"}, "type"),
        ({"content-type": "application/json; charset=utf-8"}, 200),
    ],
)
def test_pages_of_other_sites_cannot_post(registry, headers, expected):
    with client_of(registry) as client:
        headers = {"content-type": "application/json", **headers}
        assert code(client.post("/api/tag", content=b'{"text": "a"}', headers=headers)) == expected


def test_an_origin_can_be_opened(registry):
    with client_of(registry, token=TOKEN, origins=("https://friend.example",)) as client:
        headers = {"origin": "https://friend.example", "access-control-request-method": "POST"}
        asked = client.options("/api/tag", headers=headers)
        assert asked.status_code == 204
        assert asked.headers["access-control-allow-origin"] == "https://friend.example"
        answer = client.post("/api/tag", json={"text": "a"}, headers={**headers, "authorization": f"Bearer {TOKEN}"})
        assert answer.headers["access-control-allow-origin"] == "https://friend.example"
        assert code(client.post("/api/tag", json={"text": "a"}, headers=headers)) == "token"
        assert code(client.options("/api/tag", headers={"origin": "https://evil.example"})) == "origin"
    with client_of(registry) as client:
        assert "access-control-allow-origin" not in client.post("/api/tag", json={"text": "a"}).headers


def test_every_answer_has_the_headers_of_safety(registry):
    with client_of(registry) as client:
        for path in ("/", "/api/models", "/no"):
            headers = client.get(path).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
