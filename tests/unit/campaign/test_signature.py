"""Keys of signatures: what is no public key is named as such, not handed on."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.campaign.signature import check
from ironbird.errors import StoreError


@pytest.mark.parametrize(
    "text", ["", "ssh-ed25519", "dear friend, this is a letter", "-----BEGIN OPENSSH PRIVATE KEY-----"]
)
def test_a_file_that_is_no_public_key_is_refused_by_its_name(tmp_path: Path, text: str) -> None:
    key = tmp_path / "key.pub"
    key.write_text(text)
    with pytest.raises(StoreError, match=r"key\.pub is no public SSH key: give the \.pub file of who signed"):
        check(b"data", b"signature", key)
