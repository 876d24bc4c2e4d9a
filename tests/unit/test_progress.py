"""A bar on a terminal, now and then a line everywhere else."""

import io
import subprocess
import sys

import pytest

from accord import progress as module
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


def test_a_loop_that_ends_early_is_done(monkeypatch):
    terminal = make_terminal(monkeypatch)
    with Progress(200, "CRF") as progress:
        progress.advance(57)
    assert "57/57" in terminal.getvalue()


def test_of_loops_inside_loops_the_outermost_is_shown(monkeypatch):
    terminal = make_terminal(monkeypatch)
    with Progress(2, "folds") as outer:
        for _ in range(2):
            with Progress(0, "passes") as inner:
                inner.advance(12)
            outer.advance()
    assert "2/2" in terminal.getvalue()
    assert "passes" not in terminal.getvalue()
    assert "12/0" not in terminal.getvalue()
    with Progress(1, "next") as after:
        after.advance()
    assert "next" in terminal.getvalue()


class Clock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


def test_a_line_every_ten_seconds_in_a_pipe(monkeypatch, capsys):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    with Progress(100, "CRF") as progress:
        for _ in range(25):
            clock.now += 1.0
            progress.advance(info="objective 7")
    assert capsys.readouterr().err.splitlines() == [
        "CRF: 10 of 100, 0:10, up to 1:30 left, objective 7",
        "CRF: 20 of 100, 0:20, up to 1:20 left, objective 7",
    ]
    with Progress(None, "messages") as progress:
        clock.now += 3723.0
        progress.advance(1234)
    assert capsys.readouterr().err == "messages: 1,234, 1:02:03\n"
    with Progress(1, "hidden", enabled=False) as progress:
        clock.now += 100.0
        progress.advance()
    assert capsys.readouterr().err == ""


def test_a_long_step_is_not_silent_in_a_pipe():
    code = (
        "import time\nfrom accord import progress\nprogress.INTERVAL = 0.05\n"
        "with progress.Progress(5, 'passes') as p:\n    p.advance(2)\n    time.sleep(1)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stderr.startswith("passes: 2 of 5, 0:00, up to ")


def test_short_loops_are_silent_in_a_pipe_without_importing_rich():
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
