from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from surefed.core import ConfigError, DataError, StorageError
from surefed.data import store
from surefed.data.store import download, places
from surefed.data.store.sources import SOURCES, File

from .formats.files import cifar, leaf, mnist_like

CONTENT = bytes(range(256)) * 4000


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and nothing elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUREFED_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(places, "SHARED", tmp_path / "shared")
    monkeypatch.setattr(places, "SYSTEM", tmp_path / "system")
    return tmp_path / "cache" / "surefed" / "data"


def test_folders_are_looked_through_in_order(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mnist_like(tmp_path / "system" / "fashion-mnist")
    assert store.find("fashion_mnist").folder == tmp_path / "system" / "fashion-mnist"
    mnist_like(tmp_path / "shared" / "fashion_mnist", suffix="")
    assert store.find("fashion_mnist").folder == tmp_path / "shared" / "fashion_mnist"
    mnist_like(cache / "FashionMNIST" / "raw", suffix="")
    assert store.find("fashion_mnist").folder == cache / "FashionMNIST" / "raw"
    mnist_like(tmp_path / "b" / "fashion_mnist")
    monkeypatch.setenv("SUREFED_DATA", f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    found = store.find("fashion_mnist")
    assert found.folder == tmp_path / "b" / "fashion_mnist"
    assert [file.name for file in found.files] == [
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
    ]
    assert store.home() == tmp_path / "a"


def test_the_default_is_the_cache_then_shared_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUREFED_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")
    wanted = ["/home/somebody/.cache/surefed/data", "../shared/data", "/usr/share/datasets"]
    assert [str(folder) for folder in store.folders()] == wanted


def test_layouts_are_told_apart(cache: Path) -> None:
    (cache / "femnist").mkdir(parents=True)
    (cache / "fed_emnist_train.h5").touch()
    with pytest.raises(DataError, match="there is no femnist"):
        store.find("femnist")  # the test part is missing
    (cache / "fed_emnist_test.h5").touch()
    assert store.find("femnist").layout == "tff"
    leaf(cache / "femnist" / "train" / "b.json", {})
    leaf(cache / "femnist" / "train" / "a.json", {})
    leaf(cache / "femnist" / "test" / "a.json", {})
    found = store.find("femnist")
    assert (found.layout, [file.name for file in found.files]) == ("leaf", ["a.json", "b.json", "a.json"])
    (cache / "femnist.npz").touch()
    assert store.find("femnist").layout == "leaf"  # a folder of its own comes first
    cifar(cache / "cifar-10-batches-bin")
    assert store.find("cifar10").layout == "binary"


def test_idx_files_in_the_open_could_be_anybodys(cache: Path) -> None:
    mnist_like(cache)
    with pytest.raises(DataError, match="there is no mnist"):
        store.find("mnist")


def test_a_missing_dataset_says_what_to_bring_and_where_to_put_it(cache: Path) -> None:
    with pytest.raises(DataError) as error:
        store.find("cifar10")
    for words in ("surefed data get cifar10", "cifar-10-binary.tar.gz", "www.cs.toronto.edu", str(cache / "cifar10")):
        assert words in str(error.value)
    with pytest.raises(ConfigError, match=r"no dataset 'cifar'.* did you mean 'cifar10'"):
        store.find("cifar")


def test_a_copy_that_was_added_comes_first(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mnist_like(cache / "mnist")
    mnist_like(tmp_path / "mine")
    assert store.register("mnist", Path("mine")).folder == tmp_path / "mine"
    monkeypatch.chdir("/")
    assert store.find("mnist").folder == tmp_path / "mine"
    store.register("cifar10", _touched(tmp_path / "elsewhere" / "c.tar.gz"))
    assert json.loads((cache / "registered.json").read_text()) == {
        "mnist": str(tmp_path / "mine"),
        "cifar10": str(tmp_path / "elsewhere" / "c.tar.gz"),
    }
    assert store.find("cifar10").files == (tmp_path / "elsewhere" / "c.tar.gz",)
    (tmp_path / "mine" / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(
        DataError, match=r"mine does not hold mnist; expected in that folder: mnist\.npz; or train-images"
    ):
        store.find("mnist")


def _touched(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_what_cannot_be_added(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere is not there"):
        store.register("mnist", tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"notes\.txt does not hold mnist"):
        store.register("mnist", _touched(tmp_path / "notes.txt"))
    assert not cache.exists()
    mnist_like(tmp_path / "mine")
    _touched(cache.parent)  # a file where the folder should be
    with pytest.raises(StorageError, match="cannot write"):
        store.register("mnist", tmp_path / "mine")


def test_a_damaged_register(cache: Path) -> None:
    _touched(cache / "registered.json").write_text('["mnist"')
    with pytest.raises(DataError, match=r"registered\.json is damaged .* remove it"):
        store.find("mnist")


@dataclass
class Server:
    """A web server on this machine that behaves as badly as it is told to."""

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    breaks_after: list[int] = field(default_factory=list)  # bytes of the body, answer by answer; then no more
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # path and Range
    url: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    told = Server()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            told.asked.append((self.path, wanted))
            body = told.files.get(self.path.lstrip("/"))
            if body is None:
                self.send_error(404)
                return
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and told.ranges else 0
            if start and start >= len(body):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            self.wfile.write(body[start : start + told.breaks_after.pop(0)] if told.breaks_after else body[start:])

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{serving.server_port}"
    thread = Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield told
    serving.shutdown()
    serving.server_close()
    thread.join()


def file_on(server: Server, content: bytes = CONTENT, name: str = "data.bin") -> File:
    server.files[name] = content
    return File(name, (f"{server.url}/{name}",), hashlib.sha256(content).hexdigest())


def test_a_file_arrives_whole_and_is_watched(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    download.fetch(file_on(server), tmp_path / "new", lambda *told: seen.append(told))
    assert (tmp_path / "new" / "data.bin").read_bytes() == CONTENT
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["data.bin"]
    assert seen[-1] == ("data.bin", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_a_broken_connection_goes_on_where_it_broke(server: Server, tmp_path: Path) -> None:
    server.breaks_after = [300_000, 500_000]
    download.fetch(file_on(server), tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == [None, "bytes=300000-", "bytes=800000-"]


def test_an_interrupted_download_is_resumed_by_the_next(server: Server, tmp_path: Path) -> None:
    def stop(name: str, done: int, total: int | None) -> None:
        if done > 500_000:
            raise KeyboardInterrupt

    file = file_on(server)
    with pytest.raises(KeyboardInterrupt):
        download.fetch(file, tmp_path, stop)
    here = (tmp_path / ".data.bin.part").stat().st_size
    assert 500_000 < here < len(CONTENT)
    assert not (tmp_path / "data.bin").exists()
    download.fetch(file, tmp_path)
    assert server.asked[-1][1] == f"bytes={here}-"
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


def test_a_server_without_ranges_sends_all_again(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    (tmp_path / ".data.bin.part").write_bytes(CONTENT[:1000])
    download.fetch(file_on(server), tmp_path)
    assert server.asked == [("/data.bin", "bytes=1000-")]
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("part", [b"x" * 1000, CONTENT + b"x", CONTENT])
def test_a_part_of_something_else_is_thrown_away(server: Server, tmp_path: Path, part: bytes) -> None:
    (tmp_path / ".data.bin.part").write_bytes(part)
    download.fetch(file_on(server), tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    assert len(server.asked) == (1 if part == CONTENT else 2)


def test_a_wrong_digest_keeps_nothing(server: Server, tmp_path: Path) -> None:
    file = replace(file_on(server), sha256="0" * 64)
    with pytest.raises(DataError, match=rf"data\.bin.*its sha256 is {hashlib.sha256(CONTENT).hexdigest()}, not 0000"):
        download.fetch(file, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_mirrors_are_tried_in_turn(server: Server, tmp_path: Path) -> None:
    file = file_on(server)
    server.files["damaged"] = CONTENT[:-1] + b"!"
    mirrors = ("http://127.0.0.1:1/data.bin", f"{server.url}/gone", f"{server.url}/damaged", *file.urls)
    download.fetch(replace(file, urls=mirrors), tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    with pytest.raises(DataError) as error:
        download.fetch(replace(file, urls=mirrors[:3]), tmp_path / "again")
    for words in ("no network, or the server does not answer", "the server says 404", "its sha256 is"):
        assert words in str(error.value)


def test_mirrors_may_compress_differently(server: Server, tmp_path: Path) -> None:
    packed = gzip.compress(CONTENT, 9, mtime=1)
    file = replace(file_on(server, packed), sha256=hashlib.sha256(CONTENT).hexdigest(), zipped=True)
    download.fetch(file, tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == packed
    server.files["data.bin"] = packed[:-9]
    with pytest.raises(DataError, match="that of a damaged archive"):
        download.fetch(file, tmp_path / "again")


def test_get_takes_members_out_of_an_archive(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:bz2") as tar:
        for name in ("../fed_emnist_train.h5", "fed_emnist_test.h5", "readme"):
            member = tarfile.TarInfo(name)
            member.size = len(name)
            tar.addfile(member, io.BytesIO(name.encode()))
    (old,) = SOURCES["femnist"].files
    file = replace(file_on(server, archive.getvalue(), old.name), members=old.members)
    monkeypatch.setitem(SOURCES, "femnist", replace(SOURCES["femnist"], files=(file,)))
    assert store.get("femnist") == cache / "femnist"
    assert sorted(path.name for path in (cache / "femnist").iterdir()) == ["fed_emnist_test.h5", "fed_emnist_train.h5"]
    assert (cache / "femnist" / "fed_emnist_train.h5").read_text() == "../fed_emnist_train.h5"
    assert store.find("femnist").layout == "tff"
    store.get("femnist")
    assert len(server.asked) == 1  # what is there is not fetched again


def test_without_a_network_get_says_what_to_bring(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = replace(SOURCES["cifar10"].files[0], urls=("http://127.0.0.1:1/cifar-10-binary.tar.gz",))
    monkeypatch.setitem(SOURCES, "cifar10", replace(SOURCES["cifar10"], files=(file,)))
    with pytest.raises(DataError) as error:
        store.get("cifar10")
    for words in ("no network", "bring cifar-10-binary.tar.gz", "cs.toronto.edu", str(cache / "cifar10")):
        assert words in str(error.value)


def test_a_disk_that_refuses(server: Server, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(StorageError, match=r"cannot write .*taken"):
        download.fetch(file_on(server), tmp_path / "taken")


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_well_formed(name: str) -> None:
    source = SOURCES[name]
    assert name in source.folders
    assert source.distinct <= set(source.layouts)
    for file in source.files:
        assert len(bytes.fromhex(file.sha256)) == 32
        assert all(url.startswith("http") and url.endswith(f"/{file.name}") for url in file.urls)
