"""Dialogues and messages in the admin site, read-only, for operators; bodies are folded until clicked."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from synth.admin.base import AgentFilter, ReadOnly, ValueFilter
from synth.models import Dialogue, Message, MessageRole, MessageStatus

FOLDED = "<details><summary>Show</summary><pre>{}</pre></details>"


class RoleFilter(ValueFilter):
    """Who speaks."""

    title = "role"
    parameter_name = "role"
    values = tuple(MessageRole.values)


class StatusFilter(ValueFilter):
    """How it ended."""

    title = "status"
    parameter_name = "status"
    values = tuple(MessageStatus.values)


@admin.register(Dialogue)
class DialogueAdmin(ReadOnly):
    """Who talks with whom, and when last. What is said is private and stands with the messages, folded."""

    list_display = ("id", "at", "agent", "person", "is_scratch", "archived_at")
    list_select_related = ("agent", "person")
    list_filter = (AgentFilter,)
    search_fields = ("=id", "=person__username")
    ordering = ("-at", "-id")
    fields = (
        "id", "agent", "person", "is_scratch", "toolkit", "toolkit_origin", "at", "created_at", "archived_at",
        "unarchived_at", "last_message", "folded_title",
    )  # fmt: skip
    readonly_fields = fields

    @admin.display(description="title")
    def folded_title(self, row: Dialogue) -> SafeString:
        return format_html(FOLDED, row.title)

    @admin.display(description="end of the branch shown")
    def last_message(self, row: Dialogue) -> Any:
        return row.active_leaf_id


@admin.register(Message)
class MessageAdmin(ReadOnly):
    """Nodes of the trees with their status; content only after a click."""

    list_display = ("id", "at", "dialogue_id", "role", "status", "parent_id")
    list_filter = (RoleFilter, StatusFilter)
    search_fields = ("=dialogue__id",)
    ordering = ("-id",)
    fields = (
        "dialogue_id", "parent_id", "role", "author", "status", "at", "attempt", "lease_until", "fingerprint",
        "folded_content", "folded_metadata",
    )  # fmt: skip
    readonly_fields = fields

    @admin.display(description="content")
    def folded_content(self, row: Message) -> SafeString:
        return format_html(FOLDED, row.content)

    @admin.display(description="metadata")
    def folded_metadata(self, row: Message) -> SafeString:
        return format_html(FOLDED, json.dumps(row.metadata, ensure_ascii=False, indent=1))
