"""Demo logins are random, written once, and private."""

from synth.stack import logins
from synth.stack.home import Home


def test_passwords_are_written_once_and_kept(tmp_path):
    home = Home(tmp_path)
    first = logins.passwords(["operator", "trainer"], home)
    assert logins.passwords(["operator", "trainer"], home) == first
    assert len(set(first.values())) == 2
    assert logins.read(home) == first
    assert logins.path(home).stat().st_mode & 0o777 == 0o600


def test_a_further_user_is_added_without_changing_the_others(tmp_path):
    home = Home(tmp_path)
    first = logins.passwords(["operator"], home)
    both = logins.passwords(["operator", "ana"], home)
    assert both["operator"] == first["operator"]
    assert logins.read(home) == both
    assert logins.path(home).stat().st_mode & 0o777 == 0o600


def test_no_file_means_no_logins(tmp_path):
    assert logins.read(Home(tmp_path)) == {}
