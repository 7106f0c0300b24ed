"""The datasets that people download: which files they are made of, where those come from, how to know them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class File:
    """A file to download.

    sha256: of the file as it is, or, if `zipped`, of what gzip packed into it, since mirrors pack differently.
    members: files to take out of the archive, which is not kept then.
    """

    name: str
    urls: tuple[str, ...]
    sha256: str
    zipped: bool = False
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset: its files, and the layouts in which it may lie on a disk.

    folders: what its folder is called, below a folder of data.
    layouts: for each, the files that must be there; any may have .gz at its end.
    distinct: the layouts whose files say by their names what they are, and need no folder of their own.
    """

    title: str
    home: str
    files: tuple[File, ...]
    folders: tuple[str, ...]
    layouts: Mapping[str, tuple[str, ...]]
    distinct: frozenset[str]


def _idx(mirrors: tuple[str, ...], digests: tuple[str, str, str, str]) -> tuple[File, ...]:
    names = [f"{part}-{what}-ubyte.gz" for part in ("train", "t10k") for what in ("images-idx3", "labels-idx1")]
    return tuple(
        File(name, tuple(f"{mirror}/{name}" for mirror in mirrors), digest, zipped=True)
        for name, digest in zip(names, digests, strict=True)
    )


_IDX = tuple(f"{part}-{what}-ubyte" for part in ("train", "t10k") for what in ("images?idx3", "labels?idx1"))
_QMNIST = "https://raw.githubusercontent.com/facebookresearch/qmnist/master"
_CIFAR = (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin")

SOURCES: dict[str, Source] = {
    "mnist": Source(
        title="MNIST, 70 000 handwritten digits, and who wrote each (QMNIST's tables)",
        home="http://yann.lecun.com/exdb/mnist and https://github.com/facebookresearch/qmnist",
        files=(
            *_idx(
                (
                    "https://ossci-datasets.s3.amazonaws.com/mnist",
                    "https://storage.googleapis.com/cvdf-datasets/mnist",
                    "http://yann.lecun.com/exdb/mnist",
                ),
                (
                    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                ),
            ),
            File(
                "qmnist-train-labels-idx2-int.gz",
                (f"{_QMNIST}/qmnist-train-labels-idx2-int.gz",),
                "2c05dc77f6b916b38e455e97ab129a42a444f3dbef09b278a366f82904e0dd9f",
            ),
            File(
                "qmnist-test-labels-idx2-int.gz",
                (f"{_QMNIST}/qmnist-test-labels-idx2-int.gz",),
                "9fbcbe594c3766fdf4f0b15c5165dc0d1e57ac604e01422608bb72c906030d06",
            ),
        ),
        folders=("mnist", "MNIST/raw"),
        layouts={"packed": ("mnist.npz",), "idx": _IDX},
        distinct=frozenset({"packed"}),
    ),
    "fashion_mnist": Source(
        title="Fashion-MNIST, 70 000 articles of clothing",
        home="https://github.com/zalandoresearch/fashion-mnist (Debian has it as dataset-fashion-mnist)",
        files=_idx(
            (
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
                "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion",
            ),
            (
                "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            ),
        ),
        folders=("fashion_mnist", "fashion-mnist", "FashionMNIST/raw"),
        layouts={"idx": _IDX},
        distinct=frozenset(),
    ),
    "femnist": Source(
        title="FEMNIST, 62 handwritten characters by writer",
        home="https://github.com/TalwalkarLab/leaf, or as HDF5 from https://www.tensorflow.org/federated",
        files=(
            File(
                "fed_emnist.tar.bz2",
                (
                    "https://storage.googleapis.com/tff-datasets-public/fed_emnist.tar.bz2",
                    "https://fedml.s3-us-west-1.amazonaws.com/fed_emnist.tar.bz2",
                ),
                "fe1ed5a502cea3a952eb105920bff8cffb32836b5173cb18a57a32c3606f3ea0",
                members=("fed_emnist_train.h5", "fed_emnist_test.h5"),
            ),
        ),
        folders=("femnist",),
        layouts={
            "packed": ("femnist.npz",),
            "leaf": ("train/*.json", "test/*.json"),
            "tff": ("fed_emnist_train.h5", "fed_emnist_test.h5"),
        },
        distinct=frozenset({"packed", "tff"}),
    ),
    "cifar10": Source(
        title="CIFAR-10, 60 000 small colour pictures",
        home="https://www.cs.toronto.edu/~kriz/cifar.html",
        files=(
            File(
                "cifar-10-binary.tar.gz",
                ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
                "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            ),
        ),
        folders=("cifar10", "cifar-10-batches-bin"),
        layouts={
            "packed": ("cifar10-train-1.npz", "cifar10-train-2.npz", "cifar10-test.npz"),
            "binary": _CIFAR,
            "archive": ("cifar-10-binary.tar.gz",),
        },
        distinct=frozenset({"packed", "archive"}),
    ),
}
