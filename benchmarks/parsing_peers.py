"""Parsers of other libraries on one grammar: prints one line of JSON. See ``parsing.py``.

Runs in environments without Accord, one of them with Python 3.6: it imports nothing but the standard library and the
measured one, and has no syntax that is newer.

A task is a JSON file: rules ``[parent, left, right, log probability]`` over numbered symbols of which the first are
leaves, the tag of each leaf, log probabilities of symbols at the top, and sentences (lists of tags) by group.
"""

import json
import math
import os
import signal
import sys
import time
from typing import Any

N_BEST = 10


class OutOfTime(Exception):
    """A contestant has used up its processor time."""


class Limit:
    """Raises `OutOfTime` in the main thread some processor seconds from now.

    A timer of the clock looks at the processor time: while a timer of the latter runs, Linux counts it in ticks of
    4 ms, and what takes less would seem to take nothing.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        self.end = time.process_time() + self.seconds
        signal.signal(signal.SIGALRM, self.look)
        signal.setitimer(signal.ITIMER_REAL, 0.5, 0.5)

    def look(self, *_: Any) -> None:
        """Handler of the timer."""
        if time.process_time() > self.end:
            raise OutOfTime

    def __exit__(self, *_: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)


# -- contestants: from a task to a function from tags to log probabilities, best first ------------------------------
def nltk_grammar(task: Any) -> Any:
    """The grammar as NLTK takes it."""
    from nltk.grammar import PCFG, Nonterminal, ProbabilisticProduction

    symbol = [Nonterminal("S%d" % i) for i in range(task["n_symbols"])]  # noqa: UP031
    top = Nonterminal("TOP")
    rules = [
        ProbabilisticProduction(symbol[p], (symbol[a], symbol[b]), prob=math.exp(w)) for p, a, b, w in task["rules"]
    ]
    rules += [ProbabilisticProduction(symbol[i], (tag,), prob=1.0) for i, tag in enumerate(task["leaves"])]
    rules += [ProbabilisticProduction(top, (symbol[a],), prob=math.exp(w)) for a, w in task["start"]]
    return PCFG(top, rules)


def nltk_viterbi(task: Any) -> Any:
    """CKY in Python, over all productions at every span."""
    from nltk.parse import ViterbiParser

    parser = ViterbiParser(nltk_grammar(task), max_time=None)  # it would give up after five seconds
    return lambda tags: [next(iter(parser.parse(tags))).logprob() * math.log(2)]


def nltk_inside(task: Any) -> Any:
    """Bottom-up chart parser, the most probable edges first; no beam, so that it is exact."""
    from nltk.parse.pchart import InsideChartParser

    parser = InsideChartParser(nltk_grammar(task))
    return lambda tags: [next(iter(parser.parse(tags))).logprob() * math.log(2)]


def lark_cyk(task: Any) -> Any:
    """Weighted CYK in Python. Its grammar files have whole numbers as weights, so the module is used as it is."""
    from lark.grammar import NonTerminal, Terminal
    from lark.lexer import Token
    from lark.parsers import cyk

    symbol = [NonTerminal("S%d" % i) for i in range(task["n_symbols"])]  # noqa: UP031
    top = NonTerminal("TOP")
    rules = [cyk.Rule(symbol[p], [symbol[a], symbol[b]], -w, str(i)) for i, (p, a, b, w) in enumerate(task["rules"])]
    rules += [cyk.Rule(symbol[i], [Terminal(tag)], 0.0, "leaf") for i, tag in enumerate(task["leaves"])]
    rules += [cyk.Rule(top, [symbol[a]], -w, "top") for a, w in task["start"]]
    grammar = cyk.to_cnf(cyk.Grammar(rules))

    def parse(tags: Any) -> Any:
        _, trees = cyk._parse([Token(tag, tag) for tag in tags], grammar)
        return [-trees[0, len(tags) - 1][top].weight]

    return parse


def genlm_cky(task: Any) -> Any:
    """CKY in Python over a semiring: the value of the best tree, not the tree."""
    from genlm.grammar import CFG
    from genlm.grammar.parse.cky import IncrementalCKY
    from genlm.grammar.semiring import MaxTimes

    grammar = CFG(R=MaxTimes, S="TOP", V=set(task["leaves"]))
    name = ["S%d" % i for i in range(task["n_symbols"])]  # noqa: UP031
    for p, a, b, w in task["rules"]:
        grammar.add(MaxTimes(math.exp(w)), name[p], name[a], name[b])
    for i, tag in enumerate(task["leaves"]):
        grammar.add(MaxTimes(1.0), name[i], tag)
    for a, w in task["start"]:
        grammar.add(MaxTimes(math.exp(w)), "TOP", name[a])
    parser = IncrementalCKY(grammar.cnf)

    def parse(tags: Any) -> Any:
        parser.clear_cache()
        return [math.log(parser(tuple(tags)).score)]

    return parse


def torch_struct_cky(task: Any) -> Any:
    """CKY over a dense table of all possible rules, in double precision: the value of the best tree, not the tree."""
    import warnings

    import torch
    from torch_struct import MaxSemiring
    from torch_struct.cky import CKY

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    n, n_leaves = task["n_symbols"], len(task["leaves"])
    n_phrases = n - n_leaves
    # its leaves come last
    number = [n_phrases + i for i in range(n_leaves)] + list(range(n_phrases))
    never = -1e5
    rules = torch.full((1, n_phrases, n, n), never, dtype=torch.float64)
    roots = torch.full((1, n_phrases), never, dtype=torch.float64)
    for p, a, b, w in task["rules"]:
        rules[0, number[p], number[a], number[b]] = w
    for a, w in task["start"]:
        if a >= n_leaves:
            roots[0, number[a]] = w
    of_tag = {
        tag: torch.tensor([0.0 if leaf == tag else never for leaf in task["leaves"]], dtype=torch.float64)
        for tag in set(task["leaves"])
    }

    def parse(tags: Any) -> Any:
        terms = torch.stack([of_tag[tag] for tag in tags])[None]
        return [float(CKY(MaxSemiring).logpartition((terms, rules, roots))[0].detach())]

    return parse


def disco_dop(task: Any, k: int = 1) -> Any:
    """The Cython chart parser, and its k best derivations."""
    from discodop import containers, kbest, pcfg

    # weights as hexadecimal numbers, which lose no digit
    lines = ["S%d\tS%d\tS%d\t01\t%s" % (p, a, b, math.exp(w).hex()) for p, a, b, w in task["rules"]]  # noqa: UP031
    lines += ["TOP\tS%d\t0\t%s" % (a, math.exp(w).hex()) for a, w in task["start"]]  # noqa: UP031
    words: Any = {}
    for i, tag in enumerate(task["leaves"]):
        words.setdefault(tag, []).append("S%d %s" % (i, (1.0).hex()))  # noqa: UP031
    lexicon = "".join("\t".join([tag] + leaves) + "\n" for tag, leaves in words.items())
    grammar = containers.Grammar("\n".join(lines) + "\n", lexicon, start="TOP")

    def parse(tags: Any) -> Any:
        chart, message = pcfg.parse(tags, grammar)
        if not chart:
            raise ValueError(message)
        derivations, _ = kbest.lazykbest(chart, k)
        return [-score for _, score in derivations]

    return parse


PEERS = {
    "NLTK ViterbiParser": nltk_viterbi,
    "NLTK InsideChartParser": nltk_inside,
    "lark CYK": lark_cyk,
    "genlm-grammar CKY": genlm_cky,
    "torch-struct CKY": torch_struct_cky,
    "disco-dop": disco_dop,
    "disco-dop, 10 best": lambda task: disco_dop(task, N_BEST),
}


# -- measuring, also for Accord's side ------------------------------------------------------------------------------
def peak_mb() -> float:
    """Largest resident memory of this process so far (Linux)."""
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1]) / 1024


def timed(parse: Any, sentences: Any, repeat: int, limit: float) -> Any:
    """Parse as many sentences as processor time allows: the best seconds and the log probabilities of each.

    A parser that returns something else has an attribute ``check``, which makes log probabilities of it, off the clock.
    """
    check = getattr(parse, "check", list)
    found: Any = {"cpu": [], "wall": [], "log_probability": [], "peak_mb": 0.0, "out_of_time": False}
    try:
        with Limit(limit):
            for tags in sentences:
                cpu = wall = float("inf")
                for _ in range(repeat):
                    start, begin = time.perf_counter(), time.process_time()
                    result = parse(tags)
                    cpu, wall = min(cpu, time.process_time() - begin), min(wall, time.perf_counter() - start)
                log_probability = check(result)
                found["cpu"].append(cpu)
                found["wall"].append(wall)
                found["log_probability"].append(log_probability)
    except OutOfTime:
        found["out_of_time"] = True
    found["peak_mb"] = peak_mb()
    return found


def run_child(contestants: Any, arguments: Any) -> None:
    """Measure one contestant on the groups it was given: name → (how many sentences, limit in seconds)."""
    os.sched_setaffinity(0, {arguments["core"]})
    with open(arguments["task"]) as file:
        task = json.load(file)
    task["folder"] = os.path.dirname(arguments["task"])
    try:
        with Limit(arguments["setup_limit"]):
            parse = contestants[arguments["name"]](task)
            parse(task["warm_up"])
    except OutOfTime:
        limit = arguments["setup_limit"]
        print(json.dumps({"failed": "no end of preparing the grammar after {:.0f} s".format(limit)}))  # noqa: UP032
        return
    out: Any = {"before_mb": peak_mb(), "groups": {}}
    for group, (n, limit) in arguments["groups"].items():
        out["groups"][group] = timed(parse, task["sentences"][group][:n], arguments["repeat"], limit)
    print(json.dumps(out))


if __name__ == "__main__":
    run_child(PEERS, json.loads(sys.argv[2]))
