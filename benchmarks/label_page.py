"""How fast the labeling page is: from an answer to the next question, how far the model is behind, and memory.

    python benchmarks/label_page.py sentences.conll --answers 200 --annotators 1 --pause 0.5

Every annotator is a thread that answers with the labels of the file, after a pause. All requests go over loopback.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import psutil

from accord.labeling.sources import Reading, read_project

_SERVER = [sys.executable, "-c", "from accord.cli import main; main(prog_name='accord')", "label"]


class Annotator(threading.Thread):
    """Answers right, and takes times."""

    def __init__(self, link: str, name: str, truth: dict, n: int, pause: float) -> None:
        super().__init__()
        self.client = httpx.Client(base_url=link.split("/?")[0], timeout=60)
        self.client.get("/", params={"token": link.split("token=")[1]})
        self.mine, self.truth, self.n, self.pause = {"window": name, "annotator": name}, truth, n, pause
        self.latency, self.behind = [], []
        self.answered, self.learned = [], []  # (time, number of the answer), (time, number up to which all are learned)

    def run(self) -> None:
        found = self.client.post("/api/next", json=self.mine).json()
        for _ in range(self.n):
            time.sleep(self.pause)
            body = {**self.mine, "key": found["key"], "value": self.truth[found["key"]]}
            began = time.perf_counter()
            reply = self.client.post("/api/answer", json=body).json()
            found = reply["next"]
            self.latency.append(time.perf_counter() - began)
            self.behind.append(found["behind"])
            self.answered.append((began, reply["done"]))
            self.learned.append((began + self.latency[-1], reply["done"] - found["behind"]))

    def lags(self) -> list[float]:
        """Seconds from answers until a later reply told that they were learned; pauses count."""
        return [
            next((at - began for at, upto in self.learned if upto >= number), np.nan)
            for began, number in self.answered[:-20]
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--answers", type=int, default=200, help="by each annotator")
    parser.add_argument("--annotators", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.5, help="seconds before each answer")
    args = parser.parse_args()
    project = read_project(args.files, Reading())
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder, "raw.conll")
        raw.write_text("".join("".join(f"{i['text'][a:b]}\t_\n" for a, b in i["places"]) + "\n" for i in project.items))
        bare = read_project([str(raw)], Reading(labels=project.labels))
        truth = dict(zip(bare.keys, (project.given[key] for key in project.keys)))
        command = [*_SERVER, str(raw), "--labels", ",".join(project.labels), "--store", f"{folder}/s.sqlite"]
        server = subprocess.Popen(
            [*command, "--no-browser", "--port", "0", "--overlap", "0"], stderr=subprocess.PIPE, text=True
        )
        link = next(found.group() for line in server.stderr if (found := re.search(r"http://\S+", line)))
        people = [Annotator(link, "a0", truth, args.answers, args.pause)]
        for k in range(1, args.annotators):
            token = people[0].client.post("/api/invite", json={}).json()["token"]
            people.append(Annotator(f"{link.split('=')[0]}={token}", f"a{k}", truth, args.answers, args.pause))
        memory = psutil.Process(server.pid).memory_info
        for one in people:
            one.start()
        sizes = []
        while any(one.is_alive() for one in people):
            time.sleep(2)
            sizes.append(memory().rss / 2**20)
        last = time.perf_counter()
        while people[0].client.get("/api/state").json()["behind"]:
            time.sleep(0.02)
        caught_up = time.perf_counter() - last
        state = people[0].client.get("/api/state").json()
        server.terminate()
        latency = 1000 * np.concatenate([one.latency for one in people])
        behind = np.concatenate([one.behind for one in people])
        print(f"{len(project.items):,} sentences, {args.annotators} annotators, {latency.size} answers")
        print(f"answer to next question: median {np.median(latency):.0f} ms, p95 {np.quantile(latency, 0.95):.0f} ms, "
              f"worst {latency.max():.0f} ms")  # fmt: skip
        print(f"answers behind at the next question: median {np.median(behind):.0f}, worst {behind.max()}; "
              f"the last one was learned after {caught_up:.2f} s, training took {state['seconds']:.2f} s")  # fmt: skip
        lags = np.concatenate([one.lags() for one in people])
        print(f"from an answer until a reply told that it was learned: median {np.nanmedian(lags):.1f} s, "
              f"p95 {np.nanquantile(lags, 0.95):.1f} s, worst {np.nanmax(lags):.1f} s")  # fmt: skip
        quarter = max(len(sizes) // 4, 1)
        print(f"memory: {np.median(sizes[:quarter]):.0f} MiB at first, {np.median(sizes[-quarter:]):.0f} at "
              f"last, {max(sizes):.0f} at most")  # fmt: skip


if __name__ == "__main__":
    main()
