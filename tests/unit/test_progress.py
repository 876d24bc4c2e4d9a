"""A bar on a terminal, silence everywhere else."""

import io
import subprocess
import sys

import pytest

from accord.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def make_terminal(monkeypatch):
    """To be called by the test itself: pytest puts its own streams in place after fixtures have run."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return stream


def test_bar_on_a_terminal(monkeypatch, capsys):
    terminal = make_terminal(monkeypatch)
    with Progress(3, "training [x]", enabled=True) as progress:
        progress.advance()
        sys.stdout.write("a result")
        progress.advance(2, info="gap [0.5]")
    shown = terminal.getvalue()
    assert "training [x]" in shown
    assert "3/3" in shown
    assert "gap [0.5]" in shown
    assert "a result" not in shown
    assert capsys.readouterr().out == "a result"


def test_unknown_total(monkeypatch):
    terminal = make_terminal(monkeypatch)
    with Progress(None, "reading") as progress:
        progress.advance(7)
    assert "7/?" in terminal.getvalue()


def test_disabled_is_silent_on_a_terminal(monkeypatch):
    terminal = make_terminal(monkeypatch)
    with Progress(3, "training", enabled=False) as progress:
        progress.advance(3)
    assert terminal.getvalue() == ""


def test_silent_in_a_pipe_without_importing_rich():
    code = (
        "import sys\nfrom accord.progress import Progress\n"
        "with Progress(2, 'x') as p:\n    p.advance(info='y')\n"
        "sys.exit('rich' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_no_console_at_all(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with Progress(1, "x") as progress:
        progress.advance()
    assert progress._bar is None


def test_an_error_passes_through_and_stops_the_bar(monkeypatch):
    terminal = make_terminal(monkeypatch)
    with pytest.raises(KeyError), Progress(2, "halfway") as progress:
        raise KeyError
    assert progress._bar is None
    assert terminal.getvalue().endswith("\x1b[?25h")  # the cursor is back
