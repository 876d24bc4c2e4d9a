"""``python -m accord``: the command line, where its program is not on the path."""

from accord.cli import main

if __name__ == "__main__":
    main(prog_name="python -m accord")
