"""An interface path is taken apart the same way however it is typed, or refused with its field."""

from __future__ import annotations

import pytest

from reminders.paths import Path, parse
from synth.errors import Invalid

ID = "7b1d3a52-37a5-4a0c-9f34-1d4a3f0f2b11"


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("inbox/pia", Path("inbox", "pia")),
        (" Inbox/pia ", Path("inbox", "pia")),
        ("inbox/pia@example.org/growth", Path("inbox", "pia@example.org", "growth")),
        ("inbox/pia/a/b/", Path("inbox", "pia", "a/b")),
        ("inbox/李明", Path("inbox", "李明")),
        (f"dialogue/{ID.upper()}", Path("dialogue", ID)),
        (f"dialogue/{ID.replace('-', '')}/t", Path("dialogue", ID, "t")),
        ("webhook/https://example.org/a/b?c=d/e", Path("webhook", "https://example.org/a/b?c=d/e")),
        ("WEBHOOK/https://[2001:db8::1]:8443/", Path("webhook", "https://[2001:db8::1]:8443/")),
    ],
)
def test_a_path_is_taken_apart(typed, read):
    assert parse(typed) == read
    assert parse(str(read)) == read


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        (None, "bad_target"),
        (12, "bad_target"),
        ("   ", "bad_target"),
        ("inbox/" + "x" * 500, "bad_target"),
        ("pia", "unknown_channel"),
        ("mailto/pia", "unknown_channel"),
        ("/inbox/pia", "unknown_channel"),
        ("inbox//thread", "bad_target"),
        ("dialogue/", "bad_target"),
        ("dialogue/12", "bad_target"),
        ("webhook/", "bad_target"),
        ("webhook/example.org/hook", "bad_target"),
        ("webhook/https://", "bad_target"),
        ("webhook/https:///hook", "bad_target"),
        ("webhook/file:///etc/passwd", "bad_target"),
        ("webhook/https://user:secret@example.org/", "bad_target"),
        ("webhook/https://example.org/#part", "bad_target"),
        ("webhook/https://example.org:0/", "bad_target"),
        ("webhook/https://example.org:99999/", "bad_target"),
        ("webhook/https://exa mple.org/", "bad_target"),
        ("webhook/https://example.org/\r\nX-A: b", "bad_target"),
        ("webhook/https://bücher.example/", "bad_target"),
        ("webhook/https://[::1/", "bad_target"),
    ],
)
def test_what_leads_nowhere_is_refused(typed, code):
    with pytest.raises(Invalid) as refused:
        parse(typed)
    assert (refused.value.code, refused.value.field) == (code, "interface_path")
    assert "secret" not in refused.value.message
