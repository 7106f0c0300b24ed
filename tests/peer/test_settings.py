"""peer.toml: paths are relative to it, and a misspelt key is named with the right one."""

from __future__ import annotations

from pathlib import Path

import pytest

from surefed.core import ConfigError
from surefed.peer import Settings

TEXT = """
site = "anna"
keys = "keys"
[data]
name = "npz"
path = "data.npz"
[network]
listen = "0.0.0.0:7447"
addresses = { bert = "bert.example:7447" }
"""


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    file = tmp_path / "peer.toml"
    file.write_text(TEXT)
    settings = Settings.read(file)
    assert settings.keys == tmp_path / "keys"
    assert settings.charter == tmp_path / "federation.charter"
    assert settings.folder == tmp_path / "record"
    assert settings.data.options["path"] == str(tmp_path / "data.npz")
    assert settings.network.addresses == {"bert": "bert.example:7447"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("site =", "sight ="), "did you mean 'site'"),
        (('listen = "0.0.0.0:7447"', 'listen = "0.0.0.0"'), "network.listen"),
        (('site = "anna"', 'site = "Anna Smith"'), "a-z"),
        (("[network]", '[network]\ntransport = "pigeon"'), "'zenoh' or 'grpc'"),
        (('listen = "0.0.0.0:7447"', 'transport = "grpc"'), "dial out"),
        (('"0.0.0.0:7447"', "7447"), "network.listen"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, changed: tuple[str, str], said: str) -> None:
    file = tmp_path / "peer.toml"
    assert changed[0] in TEXT
    file.write_text(TEXT.replace(*changed))
    with pytest.raises(ConfigError, match=said):
        Settings.read(file)


def test_no_file_is_an_error_that_says_where_to_begin(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="examples/peer"):
        Settings.read(tmp_path / "peer.toml")
