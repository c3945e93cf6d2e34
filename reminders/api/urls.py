"""The REST addresses of reminders; each answers with and without its last slash."""

from __future__ import annotations

from reminders.api import inbox
from reminders.api.stream import RemindersStreamView
from synth.api.urls import both

SEQ = r"(?P<seq>[0-9]+)"

urlpatterns = [
    both("inbox", inbox.InboxView.as_view(), "inbox"),
    both(rf"inbox/{SEQ}/seen", inbox.SeenView.as_view(), "inbox-seen"),
    both(rf"inbox/{SEQ}/dismiss", inbox.DismissView.as_view(), "inbox-dismiss"),
    both(rf"inbox/{SEQ}/act", inbox.ActView.as_view(), "inbox-act"),
    both("reminders/stream", RemindersStreamView.as_view(), "reminders-stream"),
]
