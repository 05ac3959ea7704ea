"""Listing a result directory: what stands where, without following anything."""

import os
from pathlib import Path

import pytest

from idkmesh_rules.observe.listing import entries


def test_known_directories_are_looked_into_once_and_others_only_named(tmp_path: Path) -> None:
    for name in ("inputs/deep/er", "strange/below", "evidence"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("a.json", "inputs/plan.json", "strange/below/x", "inputs/deep/y"):
        (tmp_path / name).write_text("")
    found = entries(tmp_path, ("inputs", "evidence"), 100)
    assert found == ("a.json", "inputs/deep/", "inputs/plan.json", "strange/")


def test_links_are_named_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("")
    place = tmp_path / "place"
    place.mkdir()
    (place / "inputs").symlink_to(outside)
    (place / "loop").symlink_to(place)
    assert entries(place, ("inputs",), 100) == ("inputs", "loop")
    (tmp_path / "by-link").symlink_to(place)
    assert entries(tmp_path / "by-link", ("inputs",), 100) == ("inputs", "loop")


def test_devices_and_fifos_are_named_and_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert entries(tmp_path, (), 100) == ("fifo",)


def test_the_number_of_entries_is_bounded(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / str(number)).write_text("")
    assert len(entries(tmp_path, (), 10)) == 10


@pytest.mark.parametrize("name", ["missing", "file", "nul\0"])
def test_what_cannot_be_listed_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((OSError, ValueError)):
        entries(tmp_path / name, (), 10)
