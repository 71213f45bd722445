"""Settings: safe by default, and impossible ones are refused."""

import pytest

from postil.errors import ConfigurationError
from postil.server.settings import ServerSettings, is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost", "LOCALHOST"])
def test_this_machine_needs_no_token(host):
    assert is_loopback(host) and ServerSettings(host=host).token is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org", ""])
def test_other_machines_need_a_token(host):
    with pytest.raises(ConfigurationError, match="needs a token"):
        ServerSettings(host=host)
    assert not ServerSettings(host=host, token="0123456789abcdef").is_local


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_body": 0},
        {"max_tokens": 0},
        {"queue": 0},
        {"seconds": 0},
        {"wait": -1},
        {"port": 65536},
        {"token": "short"},
        {"token": "é" * 20},
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        ServerSettings(**wrong)
