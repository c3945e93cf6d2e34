"""Growth on record: the settings of an agent, every cycle, every self it had, what waits for a trainer."""

from growth.models.proposals import DeliveryState, Proposal, ProposalKind, ProposalStatus, Revision
from growth.models.runs import OPEN_STATUSES, GrowthRun, RunStatus, Trigger
from growth.models.settings import GrowthSettings, Mode
from growth.models.states import GrowthState, StateSource

__all__ = [
    "OPEN_STATUSES",
    "DeliveryState",
    "GrowthRun",
    "GrowthSettings",
    "GrowthState",
    "Mode",
    "Proposal",
    "ProposalKind",
    "ProposalStatus",
    "Revision",
    "RunStatus",
    "StateSource",
    "Trigger",
]
