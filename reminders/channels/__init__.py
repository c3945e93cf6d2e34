"""The ways to reach a person, one file each; `of(path)` gives the one a path names."""

from __future__ import annotations

from reminders.channels import dialogue, inbox, webhook
from reminders.channels.base import Channel, Local, Parcel, Remote, Undelivered
from reminders.paths import Path

CHANNELS: dict[str, Channel] = {
    channel.name: channel for channel in (inbox.CHANNEL, dialogue.CHANNEL, webhook.CHANNEL)
}

__all__ = ["CHANNELS", "Channel", "Local", "Parcel", "Remote", "Undelivered", "of"]


def of(path: Path) -> Channel:
    """The channel of a parsed path."""
    return CHANNELS[path.channel]
