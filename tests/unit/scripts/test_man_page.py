"""The man page has every command and option, and is what its program takes."""

import shutil
import subprocess

import pytest

from scripts.docssupport.reference import commands
from scripts.man_page import man_page


def test_every_command_and_option_is_in_the_page() -> None:
    page = man_page().replace("\\-", "-")
    for name, command in commands().items():
        assert f".SS {name}" in page
        for option in command.params:
            assert option.hidden or option.opts[-1] in page or option.metavar in page, (name, option.name)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_page_is_formatted_without_a_warning() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-Kutf8"],
        input=man_page().encode(),
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    assert "clusters" in done.stdout.decode()
