"""Readers of the formats in which people have data: a path in, arrays out, and errors that name the file."""

from surefed.data.formats.cifar import read_cifar
from surefed.data.formats.huggingface import read_huggingface
from surefed.data.formats.idx import read_idx, read_idx_pairs
from surefed.data.formats.images import read_images
from surefed.data.formats.leaf import read_leaf
from surefed.data.formats.npz import read_npz
from surefed.data.formats.packed import read_packed_cifar, read_packed_femnist, read_packed_mnist
from surefed.data.formats.table import read_table
from surefed.data.formats.tff import read_tff

__all__ = [
    "read_cifar",
    "read_huggingface",
    "read_idx",
    "read_idx_pairs",
    "read_images",
    "read_leaf",
    "read_npz",
    "read_packed_cifar",
    "read_packed_femnist",
    "read_packed_mnist",
    "read_table",
    "read_tff",
]
