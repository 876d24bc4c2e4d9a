"""Words of generated mail: choices and slots of ``generator_texts.json``, filled by chance."""

from __future__ import annotations

import json
import random
import re
from functools import lru_cache
from importlib.resources import files
from typing import Any

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"<(\w+)>")


@lru_cache(maxsize=1)
def _texts() -> dict[str, Any]:
    return json.loads(files("accord.mail").joinpath("generator_texts.json").read_text(encoding="utf-8"))


class Words:
    """Draws words from the texts; `chance` is shared with whoever else draws, so that one seed gives one stream."""

    def __init__(self, chance: random.Random) -> None:
        self.texts = _texts()
        self.random = chance

    def settle(self, text: str, share: float) -> str:
        """Decide some of the choices for good, and narrow down the others to two."""

        def decide(match: re.Match[str]) -> str:
            options = match[1].split("|")
            if len(options) == 1 or self.random.random() < share:
                return self.random.choice(options)
            return "\x01" + "|".join(self.random.sample(options, min(2, len(options)))) + "\x02"

        while _CHOICE.search(text):
            text = _CHOICE.sub(decide, text)
        return text.replace("\x01", "[").replace("\x02", "]")

    def fill(self, text: str, slots: dict[str, str] | None = None) -> str:
        """Decide all choices and fill the slots, as given or by chance."""
        while _CHOICE.search(text):
            text = _CHOICE.sub(lambda match: self.random.choice(match[1].split("|")), text)
        return _SLOT.sub(lambda match: (slots or {}).get(match[1]) or self._slot(match[1]), text)

    def _slot(self, name: str) -> str:
        r = self.random
        if name in ("name", "person", "agent"):
            return self.person()
        if name == "company":
            return self.company()
        if name == "odd":
            return r.choice(self.texts["odd_words"])
        if name == "amount":
            return f"${r.randint(100, 900)},{r.randint(0, 999):03d}"
        if name == "small":
            return f"${r.randint(19, 399)}.{r.choice(['00', '95', '99'])}"
        if name == "percent":
            return f"{r.randint(2, 90)}%"
        if name == "digit":
            return str(r.randint(2, 40))
        return "".join(r.choices("0123456789", k=r.randint(3, 6)))  # count, code, ticker

    def person(self) -> str:
        """A first and a last name."""
        return f"{self.random.choice(self.texts['first_names'])} {self.random.choice(self.texts['last_names'])}"

    def company(self) -> str:
        """A company."""
        return f"{self.random.choice(self.texts['companies'])} {self.random.choice(self.texts['company_kinds'])}"

    def domain(self) -> str:
        """A domain."""
        r = self.random
        words = self.texts["domain_words"]
        return f"{r.choice(words)}{r.choice(words)}{r.randrange(100)}.{r.choice(self.texts['tlds'])}"
