"""Take pictures of the labeling page: ``python docs/label_pictures.py [tokens] [pairs] [trees]``.

It takes playwright and Chromium. The page is the real one, at work on sentences and records that are made up here.
"""

import itertools
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from accord.datasets.people import people

IMAGES = Path(__file__).resolve().parent / "images"
COMMAND = [sys.executable, "-c", "from accord.cli import main; main(prog_name='accord')", "label"]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
NAMES = {
    "PER": ["Mikel Arteta", "Ana Ruiz", "Jordan Lee", "Carla Jones", "Paris Hart", "Victoria Marsh", "Sydney Cole"],
    "LOC": ["San Sebastian", "Jordan", "Paris", "Victoria", "Sydney", "Lake Como", "Chad"],
    "ORG": ["Real Sociedad", "Paris Saint-Germain", "Victoria Bank", "Sydney Ferries", "Reuters", "the Red Cross"],
}
PATTERNS = [
    "{PER} made a first appearance for {ORG} in {LOC} on Sunday, {ORG} reported.",
    "Officials of {ORG} in {LOC} met {PER} yesterday.",
    "{LOC} was calm after the speech of {PER}.",
    "{ORG} opens an office in {LOC}; {PER} will lead it.",
    "It rained in {LOC}, and {PER} stayed at home.",
]


def sentences(n: int) -> list[tuple[list[str], list[str]]]:
    """Tokens and labels of sentences."""
    rng = random.Random(3)
    found = []
    for k in range(n):
        tokens: list[str] = []
        labels: list[str] = []
        for piece in re.findall(r"\{\w+\}|[\w-]+|[^\s\w]", PATTERNS[k % len(PATTERNS)]):
            words = rng.choice(NAMES[piece[1:-1]]).split() if piece[0] == "{" else [piece]
            tokens += words
            marks = ["B", *"I" * (len(words) - 1)]
            labels += [f"{mark}-{piece[1:-1]}" for mark in marks] if piece[0] == "{" else ["O"]
        found.append((tokens, labels))
    return found


def write_files(folder: Path) -> dict[str, list[str]]:
    """Files of three kinds, and the commands for them."""
    rows = sentences(240)
    lines = [
        "".join(f"{token}\t{label if k < 12 else '_'}\n" for token, label in zip(*row)) for k, row in enumerate(rows)
    ]
    (folder / "news.conll").write_text("\n".join(lines))
    records, _ = people(80, random_state=0)
    names = list(records[0])
    table = [",".join(names), *(",".join(f'"{record[name] or ""}"' for name in names) for record in records)]
    (folder / "people.csv").write_text("\n".join(table) + "\n")
    nouns = [f"(NP (D {d}) (N {n}))" for d, n in itertools.product(("the", "a"), ("dog", "cat", "telescope"))]
    trees = [
        f"(S {a} (VP (V saw) {b} (PP (P with) {c})))" for a, b, c in itertools.product(nouns[:3], nouns[:3], nouns[2:4])
    ]
    trees += [
        f"(S {a} (VP (V saw) (NP {b} (PP (P near) {c}))))"
        for a, b, c in itertools.product(nouns[:3], nouns[:2], nouns[:2])
    ]
    (folder / "bank.mrg").write_text("\n".join(trees) + "\n")
    (folder / "raw.txt").write_text("the cat saw a dog with the telescope\na telescope saw the dog near a cat\n")
    return {
        "tokens": ["news.conll"],
        "pairs": ["people.csv", "--pairs"],
        "trees": ["bank.mrg", "raw.txt", "--task", "trees"],
    }


def answer(page: Page) -> str:
    """Whether the two records that are shown are of the same person."""
    records, ids = people(80, random_state=0)
    names = list(records[0])
    known = {tuple(" ".join((r.get(n) or "–").split()) for n in names): one for r, one in zip(records, ids)}
    cells = [" ".join(text.split()) for text in page.locator(".pair > div").all_text_contents()[3:]]
    return "y" if known[tuple(cells[1::3])] == known[tuple(cells[2::3])] else "n"


def main() -> None:
    wanted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place)
        commands = write_files(folder)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for kind, command in commands.items():
            if wanted and kind not in wanted:
                continue
            server = subprocess.Popen(
                [*COMMAND, *command, "--store", f"{kind}.sqlite", "--no-browser", "--port", "0"],
                cwd=folder, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            link = next(found.group() for line in server.stderr if (found := re.search(r"http://\S+", line)))
            try:
                page = browser.new_page(viewport={"width": 1240, "height": 720})
                page.goto(link)
                page.wait_for_selector("#question > *")
                page.wait_for_timeout(4000)  # for a first model
                for _ in range({"pairs": 12, "tokens": 2, "trees": 0}[kind]):
                    page.keyboard.press(answer(page) if kind == "pairs" else "s")
                    page.wait_for_timeout(700)
                page.wait_for_timeout(9000)
                page.screenshot(path=IMAGES / f"label-{kind}.png")
                if kind == "tokens":
                    page.emulate_media(color_scheme="dark")
                    page.set_viewport_size({"width": 390, "height": 760})
                    page.screenshot(path=IMAGES / "label-phone.png")
                page.close()
            finally:
                server.terminate()
        browser.close()


if __name__ == "__main__":
    main()
