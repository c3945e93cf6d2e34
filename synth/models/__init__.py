"""Every model of the core. Other apps use services, selectors and schemas instead."""

from synth.models.agents import Agent
from synth.models.approvals import Approval, ApprovalGrant, ApprovalStatus
from synth.models.audit import AuditEntry, Door
from synth.models.cards import CharacterCard
from synth.models.dialogues import Dialogue, Message, MessageRole, MessageStatus, ToolkitOrigin
from synth.models.diary import DiaryEntry, DiarySource
from synth.models.install import IdempotentAnswer, Install, Tick
from synth.models.llm import LlmCall, LlmCallPart, PromptPart
from synth.models.memories import Memory, MemoryTerm, MemoryVector
from synth.models.outbox import EventHandling, HandlingStatus, OutboxEvent
from synth.models.people import ApiKey, Person, Role
from synth.models.turns import ClientThread, Sitting, SittingStatus, TurnState

__all__ = [
    "Agent",
    "ApiKey",
    "Approval",
    "ApprovalGrant",
    "ApprovalStatus",
    "AuditEntry",
    "CharacterCard",
    "ClientThread",
    "Dialogue",
    "DiaryEntry",
    "DiarySource",
    "Door",
    "EventHandling",
    "HandlingStatus",
    "IdempotentAnswer",
    "Install",
    "LlmCall",
    "LlmCallPart",
    "Memory",
    "MemoryTerm",
    "MemoryVector",
    "Message",
    "MessageRole",
    "MessageStatus",
    "OutboxEvent",
    "Person",
    "PromptPart",
    "Role",
    "Sitting",
    "SittingStatus",
    "Tick",
    "ToolkitOrigin",
    "TurnState",
]
