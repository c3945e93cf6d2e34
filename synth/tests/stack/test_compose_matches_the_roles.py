"""docker-compose.yml runs the same roles as the supervisor, reads as valid compose, and ships no secret."""

import os
import re
import subprocess
import sys

import pytest
import yaml

from synth.stack.home import CHECKOUT
from synth.stack.roles import COMMON_ENV, ROLES

SECRETS = {"POSTGRES_PASSWORD", "SECRET_KEY", "GIFT_CODE_KEY", "FIELD_KEY"}


def read_by_podman_compose(tmp_path, **env: str) -> subprocess.CompletedProcess[str]:
    """Let a compose reader resolve the file; a stand-in answers for the container engine it looks for."""
    engine = tmp_path / "podman"
    engine.write_text("#!/bin/sh\necho podman version 5.4.0\n")
    engine.chmod(0o755)
    base = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "podman_compose", "-f", str(CHECKOUT / "docker-compose.yml")]
    return subprocess.run(
        [*command, "--profile", "gpu", "config"], env={**base, **env}, capture_output=True, text=True
    )


@pytest.fixture
def services(tmp_path):
    done = read_by_podman_compose(tmp_path, **dict.fromkeys(SECRETS, "x"))
    assert done.returncode == 0, done.stderr
    return yaml.safe_load(done.stdout)["services"]


def test_every_role_is_a_service_and_nothing_else_is_but_stores_and_migrate(services):
    assert set(services) == set(ROLES) | {"postgres", "valkey", "migrate"}


@pytest.mark.parametrize("name", ROLES)
def test_a_service_has_the_command_environment_grace_and_healthcheck_of_its_role(services, name):
    role, service = ROLES[name], services[name]
    assert service["command"] == role.filled(bind="0.0.0.0", port=8000)
    assert dict(role.env).items() <= service["environment"].items()
    assert service["stop_grace_period"] == f"{role.grace_s:.0f}s"
    assert service["healthcheck"]["test"] == ["CMD", *role.healthcheck]


def test_every_long_running_service_has_a_healthcheck_and_a_grace_period(services):
    for name, service in services.items():
        if name != "migrate":
            assert {"healthcheck", "stop_grace_period"} <= set(service), name


def test_roles_wait_for_migrations_and_healthy_stores(services):
    for name in ROLES:
        conditions = {key: value["condition"] for key, value in services[name]["depends_on"].items()}
        assert conditions == {
            "migrate": "service_completed_successfully",
            "postgres": "service_healthy",
            "valkey": "service_healthy",
        }


def test_only_the_torch_worker_is_in_the_gpu_profile_and_reserves_a_device(services):
    plain = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())["services"]
    assert {name for name, service in plain.items() if "profiles" in service} == {"torch"}
    devices = services["torch"]["deploy"]["resources"]["reservations"]["devices"]
    assert devices[0]["capabilities"] == ["gpu"]


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_a_missing_secret_is_refused(tmp_path, name):
    done = read_by_podman_compose(tmp_path, **dict.fromkeys(SECRETS - {name}, "x"))
    assert done.returncode != 0
    assert f"set {name}" in done.stderr


@pytest.mark.parametrize("name", ROLES)
def test_any_setting_may_stand_in_the_file_of_variables(services, name):
    assert services[name]["env_file"] == [{"path": ".env", "required": False}]


def test_data_lies_on_named_volumes(services):
    named = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())["volumes"]
    used = {mount.partition(":")[0] for service in services.values() for mount in service.get("volumes", [])}
    assert used == set(named)


def test_the_image_runs_as_an_ordinary_user_and_with_the_common_environment():
    lines = (CHECKOUT / "Dockerfile").read_text().replace("\\\n", " ")
    assert re.search(r"^USER synth$", lines, re.MULTILINE)
    assert lines.rindex("USER synth") < lines.rindex("CMD ")
    for name, value in COMMON_ENV.items():
        assert f"{name}={value}" in lines
    for app in ("synth", "judgments", "reminders", "gifts", "growth", "decider"):
        assert f"COPY {app} {app}" in lines
