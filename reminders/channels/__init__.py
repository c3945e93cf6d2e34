"""The ways to reach a person, one file each; `of(path)` gives the one a path names."""

from __future__ import annotations

from reminders.channels import dialogue as _dialogue
from reminders.channels import inbox as _inbox
from reminders.channels import webhook as _webhook
from reminders.channels.base import Channel, Local, Parcel, Remote, Undelivered
from reminders.paths import Path

CHANNELS: dict[str, Channel] = {
    channel.name: channel for channel in (_inbox.CHANNEL, _dialogue.CHANNEL, _webhook.CHANNEL)
}

__all__ = ["CHANNELS", "Channel", "Local", "Parcel", "Remote", "Undelivered", "of"]


def of(path: Path) -> Channel:
    """The channel of a parsed path."""
    return CHANNELS[path.channel]
