"""Every capture of zot and pi that there is, of four programs."""

import tarfile
from functools import cache
from pathlib import Path

import pytest

from linnet.capture.record import Capture, load

ARCHIVE = Path(__file__).parent / "transcripts.tar.xz"


@cache
def _captures() -> dict[str, Capture]:
    """By name, such as `zot/ping`. The archive holds the transcripts as they were made, one file a run."""
    with tarfile.open(ARCHIVE) as archive:
        files = {member.name: archive.extractfile(member) for member in archive if member.isfile()}
        return {
            name.removesuffix(".jsonl"): load(file.read().decode("utf-8", "surrogateescape"), name)
            for name, file in sorted(files.items())
            if file
        }


@pytest.fixture(scope="session")
def captures() -> dict[str, Capture]:
    return _captures()
