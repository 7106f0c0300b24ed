"""The datasets of the registry, on small generated files everywhere, and on the real ones where they are."""

from __future__ import annotations

import hashlib
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefed.core import ConfigError, DataError
from surefed.core.registry import build, find
from surefed.data import DATASETS, Dataset, store
from surefed.data.store.sources import SOURCES

from .formats.files import cifar, idx, leaf, mnist_like


def made(name: str, **options: Any) -> Dataset:
    """As an experiment makes it, options checked."""
    return build(find(name, DATASETS, "dataset"), "dataset", name, options, gives=Dataset)


def write_writers(folder: Path, writers: list[int], train: int = 20) -> None:
    lines = [
        f"{'train' if at < train else 'test'},{at if at < train else at - train},{of}" for at, of in enumerate(writers)
    ]
    (folder / "writers.csv").write_text("\n".join(["part,index,writer", *reversed(lines)]) + "\n")


WRITERS = [5] * 12 + [1000] * 8 + [7] * 10  # 7 wrote nothing but test digits


@pytest.mark.parametrize("table", ["writers.csv", "qmnist"])
def test_mnist_with_writers(tmp_path: Path, table: str) -> None:
    images, labels = mnist_like(tmp_path)
    if table == "writers.csv":
        write_writers(tmp_path, WRITERS)
    else:  # QMNIST: eight int32 columns, the third is the writer; its test table is longer than MNIST's test part
        for part, of in (("train", WRITERS[:20]), ("test", WRITERS[20:] + [99] * 5)):
            rows = np.zeros((len(of), 8))
            rows[:, 2] = of
            idx(tmp_path / f"qmnist-{part}-labels-idx2-int.gz", rows, 0x0C, ">i4")
    read = made("mnist", path=str(tmp_path))
    assert np.array_equal(read.inputs[:, 0], images)
    assert read.labels.tolist() == labels.tolist()
    assert (read.classes, read.background, read.mean, read.std) == (10, 0.0, (0.1307,), (0.3081,))
    assert read.owner is not None
    assert [int(read.owners[at]) for at in read.owner] == WRITERS
    assert read.test is not None
    assert read.test.tolist() == [False] * 20 + [True] * 10


def test_mnist_without_writers(tmp_path: Path) -> None:
    images, _ = mnist_like(tmp_path, suffix="")
    read = made("mnist", path=str(tmp_path))
    assert (read.owner, read.owners) == (None, ())
    assert np.array_equal(read.inputs[:, 0], images)


def test_a_table_of_writers_that_does_not_fit(tmp_path: Path) -> None:
    mnist_like(tmp_path)
    write_writers(tmp_path, WRITERS[:-1])
    with pytest.raises(DataError, match=r"writers\.csv does not name the writer of each of 20 \+ 10 digits"):
        made("mnist", path=str(tmp_path))
    (tmp_path / "writers.csv").write_text("part,index\ntrain,0\n")
    with pytest.raises(DataError, match=r"writers\.csv does not name the writer"):
        made("mnist", path=str(tmp_path))
    (tmp_path / "writers.csv").unlink()
    for part in ("train", "test"):
        idx(tmp_path / f"qmnist-{part}-labels-idx2-int", np.zeros((3, 8)), 0x0C, ">i4")
    with pytest.raises(DataError, match=r"qmnist-train-labels-idx2-int holds an array of shape \(3, 8\)"):
        made("mnist", path=str(tmp_path))


def test_fashion_mnist(tmp_path: Path) -> None:
    images, labels = mnist_like(tmp_path)
    read = made("fashion_mnist", path=str(tmp_path))
    assert np.array_equal(read.inputs[:, 0], images)
    assert (read.labels.tolist(), read.owner, read.background) == (labels.tolist(), None, 0.0)


def test_femnist_and_its_digits(tmp_path: Path) -> None:
    def pictures(*labels: int) -> tuple[list[list[float]], list[int]]:
        return [[label / 255] * 783 + [1.0] for label in labels], list(labels)

    leaf(tmp_path / "train" / "a.json", {"f1": pictures(9, 10), "f2": pictures(61)})
    leaf(tmp_path / "test" / "a.json", {"f1": pictures(3), "f2": pictures(36), "f0": pictures(0)})
    read = made("femnist", path=str(tmp_path))
    assert (read.inputs.shape, read.classes, read.background, read.mean) == ((6, 1, 28, 28), 62, 1.0, None)
    assert read.inputs[:, 0, 0, 0].tolist() == read.labels.tolist()
    digits = made("femnist", path=str(tmp_path), digits_only=True)
    assert (digits.labels.tolist(), digits.classes, digits.owners) == ([9, 3, 0], 10, ("f0", "f1"))  # f2 wrote none
    assert digits.owner is not None
    assert digits.test is not None
    assert (digits.owner.tolist(), digits.test.tolist()) == ([1, 1, 0], [False, True, True])
    assert digits.inputs[:, 0, 0, 0].tolist() == [9, 3, 0]
    assert digits.background == 1.0


def test_cifar10_from_a_folder_and_from_the_archive(tmp_path: Path) -> None:
    pictures, labels = cifar(tmp_path / "cifar-10-batches-bin")
    with tarfile.open(tmp_path / "my.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "cifar-10-batches-bin", "cifar-10-batches-bin")
    for path in (tmp_path, tmp_path / "cifar-10-batches-bin", tmp_path / "my.tar.gz"):
        read = made("cifar10", path=str(path))
        assert np.array_equal(read.inputs, pictures)
        assert read.labels.tolist() == labels.tolist()
        assert read.mean == (0.4914, 0.4822, 0.4465)
        assert read.std == (0.2023, 0.1994, 0.2010)


def test_a_path_that_holds_something_else(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"does not hold cifar10; expected in that folder: .*data_batch_1\.bin"):
        made("cifar10", path=str(tmp_path))
    with pytest.raises(DataError, match=r"nowhere is not there"):
        made("femnist", path=str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="there is no dataset 'femnits'; did you mean 'femnist'"):
        made("femnits")


def real(name: str, **options: Any) -> Dataset:
    """The real dataset, or a skip that says what is missing."""
    try:
        store.find(name)
    except DataError as error:
        pytest.skip(str(error))
    return made(name, **options)


def idx_digest(array: np.ndarray) -> str:
    header = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    return hashlib.sha256(header + array.astype(np.uint8).tobytes()).hexdigest()


def mean_and_std(pixels: np.ndarray) -> tuple[float, float]:
    """Of bytes read as 0 .. 1; squares of bytes fit into 16 bits."""
    mean = float(pixels.mean())
    return mean / 255, float(np.square(pixels, dtype=np.uint16).mean() - mean**2) ** 0.5 / 255


def sizes(dataset: Dataset, kept: np.ndarray | None = None) -> np.ndarray:
    """Samples of each owner."""
    assert dataset.owner is not None
    return np.bincount(dataset.owner if kept is None else dataset.owner[kept], minlength=len(dataset.owners))


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_the_real_idx_files_are_those_that_were_published(name: str) -> None:
    read = real(name)
    assert read.test is not None
    parts = [array[part] for part in (~read.test, read.test) for array in (read.inputs[:, 0], read.labels)]
    assert [idx_digest(array) for array in parts] == [file.sha256 for file in SOURCES[name].files[:4]]
    assert read.mean is not None
    assert read.std is not None
    assert (read.mean[0], read.std[0]) == pytest.approx(mean_and_std(read.inputs[~read.test]), abs=1e-4)
    assert np.median(read.inputs[:, 0, 0, 0]) == 0 == read.background


def test_the_real_writers_of_mnist() -> None:
    read = real("mnist")
    if read.owner is None:
        pytest.skip("MNIST is here without the table of its writers")
    assert read.test is not None
    assert np.bincount(read.labels[~read.test]).tolist() == [
        5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949,
    ]  # fmt: skip
    train, test = sizes(read, ~read.test), sizes(read, read.test)
    assert not ((train > 0) & (test > 0)).any()  # no writer is in both parts
    written = train[train > 0]
    assert len(written) == 539
    assert (written.mean().round(1), written.std().round(1)) == (111.3, 15.6)
    assert (written.min(), np.median(written), written.max()) == (19, 116, 131)
    written = test[test > 0]
    assert (len(written), written.mean().round(1), written.min(), written.max()) == (297, 33.7, 8, 130)


def test_the_real_femnist() -> None:
    read = real("femnist")
    found = store.find("femnist")
    if found.layout != "packed":
        pytest.skip(f"the numbers are those of femnist.npz; here is another sample of writers, in {found.folder}")
    packed = hashlib.sha256(found.files[0].read_bytes()).hexdigest()
    assert packed == "aac7eb15596302247e9c6d3bd5d898abf460ccf47b582c24fd454c8fc44938a1"
    assert read.test is not None
    assert (read.inputs.shape, read.classes) == ((44643, 1, 28, 28), 62)
    of = sizes(read)
    assert (len(of), of.mean().round(1), of.std().round(1), of.min(), of.max()) == (272, 164.1, 22.7, 102, 355)
    assert np.percentile(of, [25, 50, 75]).round().tolist() == [156, 168, 175]
    train, test = sizes(read, ~read.test), sizes(read, read.test)
    assert (train.sum(), train.min(), train.max()) == (40077, 91, 319)
    assert (test.sum(), test.min(), test.max()) == (4566, 11, 36)
    letters = np.bincount(read.labels, minlength=62)
    assert (letters[:10].min(), letters[:10].max(), letters[10:].min(), letters[10:].max()) == (3008, 3453, 155, 394)
    assert np.median(read.inputs[:, 0, 0, 0]) == 255
    assert read.background == 1.0
    digits = sizes(made("femnist", digits_only=True))
    assert (digits.sum(), digits.mean().round(1), digits.std().round(1)) == (31769, 116.8, 12.7)
    assert (digits.min(), digits.max(), (digits >= 100).sum()) == (59, 131, 248)


def test_real_writers_read_alike_from_leafs_json(tmp_path: Path) -> None:
    whole = real("femnist")
    assert whole.owner is not None
    assert whole.test is not None
    chosen = whole.owner < 3
    for part, held in (("train", False), ("test", True)):
        users = {}
        for writer in range(3):
            rows = (whole.owner == writer) & (whole.test == held)
            users[whole.owners[writer]] = (
                (whole.inputs[rows].reshape(-1, 784) / 255).tolist(),
                whole.labels[rows].tolist(),
            )
        leaf(tmp_path / part / "all_data.json", users)
    read = made("femnist", path=str(tmp_path))
    assert read.owner is not None
    assert read.test is not None
    order = np.lexsort((read.test, read.owner))  # the files keep the parts apart, the packed ones the writers
    wanted = np.lexsort((whole.test[chosen], whole.owner[chosen]))
    assert np.array_equal(read.inputs[order], whole.inputs[chosen][wanted])
    assert np.array_equal(read.labels[order], whole.labels[chosen][wanted])
    assert read.owners == whole.owners[:3]


@pytest.mark.slow
def test_the_real_cifar10() -> None:
    read = real("cifar10")
    assert read.test is not None
    assert np.bincount(read.labels[~read.test]).tolist() == [5000] * 10
    assert np.bincount(read.labels[read.test]).tolist() == [1000] * 10
    train = read.inputs[~read.test]
    for channel, known in enumerate(((0.4914, 0.2470), (0.4822, 0.2435), (0.4465, 0.2616))):
        assert mean_and_std(train[:, channel]) == pytest.approx(known, abs=1e-4)
    # the order of the pictures differs between copies; the sorted digests of pictures and labels do not
    for part, digest in ((~read.test, TRAIN_PICTURES), (read.test, TEST_PICTURES)):
        rows = zip(read.inputs[part], read.labels[part], strict=True)
        each = sorted(hashlib.sha256(bytes([label]) + picture.tobytes()).digest() for picture, label in rows)
        assert hashlib.sha256(b"".join(each)).hexdigest() == digest


TRAIN_PICTURES = "55a61f79a40ece2ceda9fb5f9f7078f6ea2fc4952489cef56682bcf92cfcc260"
TEST_PICTURES = "325704b01eb92e1e2a6215ae6a916bb7db7de054af0c496be1c7be2e0fcfbf5f"
