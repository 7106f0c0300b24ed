from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from surefed.core import DataError
from surefed.data import DATASETS
from surefed.data.formats import read_images

GREY = np.uint8([[1, 2, 3], [4, 5, 6]])  # two rows, three columns


def save(path: Path, pixels: np.ndarray, mode: str | None = None, **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.fromarray(pixels)
    (picture if mode is None else picture.convert(mode)).save(path, **options)
    return path


def test_a_folder_per_class(tmp_path: Path) -> None:
    save(tmp_path / "dog" / "2.png", GREY)
    save(tmp_path / "cat" / "1.png", GREY + 10)
    save(tmp_path / "cat" / "0.bmp", GREY + 20)
    (tmp_path / "cat" / "notes.txt").write_text("no picture")
    (tmp_path / ".git").mkdir()
    read = DATASETS["images"](path=str(tmp_path))
    assert np.array_equal(read.inputs, np.stack([GREY + 20, GREY + 10, GREY])[:, None])
    assert (read.labels.tolist(), read.classes, read.owner, read.owners) == ([0, 0, 1], 2, None, ())


def test_a_folder_per_client_with_folders_per_class(tmp_path: Path) -> None:
    save(tmp_path / "ulm" / "dog" / "a.png", GREY)
    save(tmp_path / "aalen" / "cat" / "a.png", GREY)
    save(tmp_path / "aalen" / "dog" / "a.png", GREY)
    read = read_images(tmp_path)
    assert read.owner is not None
    assert (read.labels.tolist(), read.classes) == ([0, 1, 1], 2)  # dog is 1 at ulm too, where there are no cats
    assert (read.owner.tolist(), read.owners) == ([0, 0, 1], ("aalen", "ulm"))


def test_one_picture_with_colour_makes_all_of_them_rgb(tmp_path: Path) -> None:
    colour = np.zeros((2, 3, 3), dtype=np.uint8)
    colour[0, 2] = (200, 100, 50)
    save(tmp_path / "a" / "0.png", GREY)
    save(tmp_path / "b" / "0.png", colour)
    save(tmp_path / "b" / "1.png", colour, "RGBA")
    read = read_images(tmp_path)
    assert read.inputs.shape == (3, 3, 2, 3)
    assert read.inputs[0].tolist() == [GREY.tolist()] * 3
    assert read.inputs[1, :, 0, 2].tolist() == [200, 100, 50]
    assert np.array_equal(read.inputs[1], read.inputs[2])


def test_a_camera_held_sideways(tmp_path: Path) -> None:
    # orientation 6: the camera was turned, so the first row of the scene is the last column of the file, read upwards
    tags = Image.Exif()
    tags[0x0112] = 6
    save(tmp_path / "a" / "0.png", np.rot90(GREY), exif=tags)
    assert read_images(tmp_path).inputs[0, 0].tolist() == GREY.tolist()


def test_a_bad_folder_is_named_with_its_fix(tmp_path: Path) -> None:
    def refused(message: str) -> None:
        with pytest.raises(DataError, match=message):
            read_images(tmp_path)

    refused("holds no folders; put the pictures of each class")
    good = save(tmp_path / "a" / "0.png", GREY)
    (tmp_path / "b").mkdir()
    refused(r"b holds no pictures .* fill the class or remove its folder")
    (tmp_path / "b" / "c").mkdir()
    refused("b holds folders, a does not; all must be classes, or all clients")
    (tmp_path / "b" / "c").rmdir()
    bad = save(tmp_path / "b" / "1.png", GREY[:, :2])
    refused(r"a/0\.png is 3 x 2 pixels, .*b/1\.png 2 x 2; scale all pictures to one size")
    bad.write_bytes(good.read_bytes()[:40])
    refused(r"b/1\.png is missing, truncated or no picture")
    bad.write_text("no picture at all")
    refused(r"b/1\.png is missing, truncated or no picture")
    save(bad, GREY.astype(np.uint16))
    refused(r"b/1\.png has more than 8 bits a pixel")
    with pytest.raises(DataError, match="there is no folder"):
        read_images(tmp_path / "nowhere")
