"""The settings of a judgment as they hold now, the host it asks, and changing them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import redis
from django.db import transaction

from judgments import options, registry
from judgments.backends import HostConfig
from judgments.models import JudgmentSetting, Mode
from judgments.registry import Declaration
from synth import liveness
from synth.errors import Invalid, NotFound, Refused
from synth.services import audit, fields

if TYPE_CHECKING:
    from synth.models import Person

LOCAL = "local"
_LIMITS = {"host": 300, "model": 150}
MAX_ORDERS = 8


@dataclass(frozen=True)
class Effective:
    """What holds for one judgment: `host` None means nobody to ask."""

    declaration: Declaration
    mode: str
    host: HostConfig | None


def declared(name: str) -> Declaration:
    """The declaration for REST and commands. NotFound `judgment_not_found`, with the nearest name."""
    try:
        return registry.get(name)
    except registry.Undeclared as error:
        raise NotFound(str(error), code="judgment_not_found") from None


def effective(declaration: Declaration, *, local_only: bool = False) -> Effective:
    """What holds now; one query. `local_only` refuses hosts that are not on this machine or network."""
    row = JudgmentSetting.objects.filter(name=declaration.name).first() or JudgmentSetting(
        name=declaration.name
    )
    if row.mode == Mode.OFF:
        return Effective(declaration, row.mode, None)
    return Effective(declaration, row.mode, host_for(row, local_only=local_only))


def mode_of(name: str) -> str:
    """The mode of a judgment, for callers that do something else when it is off."""
    return str(row_of(name).mode)


def start_in(name: str, mode: str) -> None:
    """Give a judgment that nobody has set yet its first mode."""
    JudgmentSetting.objects.get_or_create(name=name, defaults={"mode": mode})


def host_for(row: JudgmentSetting, *, local_only: bool = False) -> HostConfig | None:
    """The host a judgment asks: its own, the one of the environment, else our torch worker while it lives.

    The key of the environment goes to the host of the environment only.
    """
    base = options.read("SYSTEM_ONE_HOST") or ""
    address = row.host or base or (LOCAL if is_local_alive() else "")
    if not address:
        return None
    is_default = _place(address) == _place(base)
    return HostConfig(
        base_url=address,
        model=row.model or options.read("SYSTEM_ONE_MODEL"),
        key=(options.read("SYSTEM_ONE_KEY") or "") if is_default else "",
        local_only=local_only,
        dialect=options.read(options.DIALECT),
        path=options.read(options.PATH),
        auth_header=options.read(options.AUTH_HEADER),
        auth_scheme=_scheme(),
        n_orders=row.n_orders,
    )


def _scheme() -> str:
    typed = str(options.read(options.AUTH_SCHEME))
    return "" if typed.lower() == "none" else typed


def _place(address: str) -> tuple[str, str]:
    try:
        url = urlsplit(address.strip())
        return url.scheme.lower(), url.netloc.lower()
    except ValueError:
        return "", address


def is_local_alive() -> bool:
    """Whether a torch worker shows signs of life."""
    try:
        return bool(liveness.alive("torch"))
    except redis.RedisError:
        return False


def row_of(name: str) -> JudgmentSetting:
    """The settings row, or an unsaved one with the defaults."""
    return JudgmentSetting.objects.filter(name=name).first() or JudgmentSetting(name=name)


def change(name: str, changes: Mapping[str, Any], *, by: Person | None, door: str) -> JudgmentSetting:
    """Set some of the settings. NotFound, Invalid with the field, or Refused for a core judgment's host."""
    declaration = declared(name)
    checked = {field: _checked(declaration, field, value) for field, value in changes.items()}
    with transaction.atomic():
        JudgmentSetting.objects.get_or_create(name=name)
        row = JudgmentSetting.objects.select_for_update().get(name=name)
        before = {field: getattr(row, field) for field in checked}
        for field, value in checked.items():
            setattr(row, field, value)
        if before != checked:
            row.save()
            audit.record(
                by, door=door, action="judgment_settings_change", object=f"judgments.judgmentsetting:{name}",
                before=before, after=checked,
            )  # fmt: skip
    return row


def _checked(declaration: Declaration, field: str, value: Any) -> str | int:
    if field == "mode":
        if value not in Mode.values:
            raise Invalid(f"One of {', '.join(Mode.values)} is needed.", field="mode")
        return str(value)
    if field == "n_orders":
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_ORDERS:
            raise Invalid(f"A whole number from 1 to {MAX_ORDERS} is needed.", field="n_orders")
        return value
    if field not in _LIMITS:
        raise Invalid(f"There is no setting {field}.", field=field, code="unknown_field")
    text = fields.one_line(value, field, max_chars=_LIMITS[field])
    if text and declaration.is_core:
        raise Refused(
            "A judgment of the core takes no host or model of its own; the environment names them.",
            code="core_judgment", field=field,
        )  # fmt: skip
    if field == "host" and text and HostConfig(text).backend == "http":
        _check_address(text)
    return text


def _check_address(text: str) -> None:
    try:
        url = urlsplit(text)
        is_address = url.scheme in ("http", "https") and bool(url.hostname) and "@" not in url.netloc
        _ = url.port
    except ValueError:
        is_address = False
    if not is_address:
        raise Invalid("An http or https address without a user name is needed, or `local`.", field="host")
