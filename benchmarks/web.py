"""A model exported for the web beside the compiled kernels of Python: tokens/s of one thread, and equal labels.

    python -m benchmarks.web MODEL FILE [--repeats 5] [--tokens 200000]

Lists of tokens in, lists of labels out, in Node and in Chromium, with vector instructions and without. CPU time of the
thread; the best run of each counts, after one that does not. Labels and probabilities of every token are compared with
those of Python running the same weights, for every task. MODEL may be the name of an installed model.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import postil
from benchmarks.measuring import Outcome, parser, report
from postil.export import web
from postil.models.storage import located
from postil.text.formats import read

GOAL = 1 / 3
TOLERANCE = 1e-5
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ANSWERS = """
const byTask = (tagger, answers) => (tagger.tasks.length > 1 ? Object.values(answers) : [answers]);
const answers = (tagger, X) => ({
  labels: byTask(tagger, tagger.predict(X)).flat(2),
  probabilities: byTask(tagger, tagger.tagTokens(X)).flatMap((task) => task.flatMap((one) => one.probabilities)),
  megabytes: tagger.memory / 1e6,
});
"""
IN_NODE = """
import fs from "node:fs";
import { load } from "./ner.mjs";
const [X, repeats, simd] = JSON.parse(fs.readFileSync(0, "utf8"));
const clock = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e6; };
const tagger = await load({ simd });
const seconds = [];
for (let i = 0; i <= repeats; i++) {
  const begun = clock();
  tagger.predict(X);
  if (i > 0) seconds.push(clock() - begun);
}
process.stdout.write(JSON.stringify({ seconds, ...answers(tagger, X) }));
"""
IN_PAGE = """async ([X, simd]) => {
  const { load } = await import("./ner.mjs");
  globalThis.X = X;
  globalThis.tagger = await load({ simd });
}"""


def main() -> int:
    options = parser(__doc__)
    options.add_argument("model", help="file or name of a tagger")
    options.add_argument("data", type=Path, help="a file of sentences in any format that Postil reads")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--tokens", type=int, default=200_000, help="at most so many")
    arguments = options.parse_args()
    X: list[list[str]] = []
    for sentence in read(arguments.data):
        X.append(sentence.tokens)
        if sum(map(len, X)) >= arguments.tokens:
            break
    with tempfile.TemporaryDirectory() as folder:
        return report(outcome(located(arguments.model), X, arguments.repeats, Path(folder)))


def outcome(model: Path, X: list[list[str]], repeats: int, folder: Path) -> Outcome:
    N = sum(map(len, X))
    web.write(model, folder / "ner.mjs")
    tagger, _ = web.as_exported(postil.load(model))
    labels, probabilities = in_python(tagger, X)
    seconds = {"Python, compiled kernels": python_seconds(tagger, X, repeats)}
    rows: list[dict[str, Any]] = []
    for name, run in runs(folder, repeats, X).items():
        seconds[name] = min(run["seconds"])
        differences = (abs(a - b) for a, b in zip(probabilities, run["probabilities"], strict=True))
        rows.append(
            {
                "wrong labels": sum(a != b for a, b in zip(labels, run["labels"], strict=True)),
                "largest difference of probabilities": max(differences),
                "memory, MB": run["megabytes"],
            }
        )
    nothing: dict[str, Any] = {"wrong labels": 0, "largest difference of probabilities": 0.0, "memory, MB": 0.0}
    megabytes = (folder / "ner.mjs").stat().st_size / 1e6
    base = seconds["Python, compiled kernels"]
    table = [
        {"where": name, "tokens/s": round(N / value), "of Python's rate": base / value, **row}
        for (name, value), row in zip(seconds.items(), [nothing, *rows], strict=True)
    ]
    passed = all(
        row["of Python's rate"] >= GOAL
        and row["wrong labels"] == 0
        and row["largest difference of probabilities"] <= TOLERANCE
        for row in table
        if "plain" not in row["where"]
    )
    return Outcome(
        name="web",
        compared=f"{model.name}, {N:,} tokens, one thread; the module has {megabytes:.2f} MB",
        rows=table,
        goal="with vector instructions a third of Python's rate, the same labels, probabilities within 1e-5",
        passed=passed,
    )


def in_python(tagger: Any, X: list[list[str]]) -> tuple[list[str], list[float]]:
    """Labels and probabilities of all tokens, task after task."""
    labels: list[str] = []
    probabilities: list[float] = []
    for one in [tagger[task] for task in tagger.tasks] if isinstance(tagger, postil.MultiTaskTagger) else [tagger]:
        for values, out in zip(one.predict_with_probabilities(X), (labels, probabilities), strict=True):
            out.extend(value for sentence in values for value in sentence)
    return labels, probabilities


def python_seconds(tagger: Any, X: list[list[str]], repeats: int) -> float:
    """The best of some runs; words are known after the first, which does not count."""
    found = []
    for _ in range(repeats + 1):
        began = time.process_time()
        tagger.predict(X)
        found.append(time.process_time() - began)
    return min(found[1:])


def runs(folder: Path, repeats: int, X: list[list[str]]) -> dict[str, Any]:
    found = {}
    for simd in (True, False):
        kind = "vector instructions" if simd else "plain"
        found[f"Node, {kind}"] = in_node(folder, [X, repeats, simd])
        found[f"Chromium, {kind}"] = in_chromium(folder, [X, repeats, simd])
    return found


def in_node(folder: Path, request: Any) -> Any:
    path = folder / "run.mjs"
    path.write_text(ANSWERS + IN_NODE, encoding="utf8")
    run = subprocess.run(["node", path], input=json.dumps(request).encode(), capture_output=True, check=True)
    return json.loads(run.stdout)


def in_chromium(folder: Path, request: Any) -> Any:
    """The module in a page; modules are not loaded from disk, so the page's requests are answered here."""
    from playwright.sync_api import sync_playwright

    def answer(route: Any) -> None:
        if route.request.url.endswith("/ner.mjs"):
            route.fulfill(path=folder / "ner.mjs", content_type="text/javascript")
        else:
            route.fulfill(body=f"<script>{ANSWERS}</script>", content_type="text/html")

    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.route("**/*", answer)
        page.goto("http://localhost/")
        X, repeats, simd = request
        page.evaluate(IN_PAGE, [X, simd])
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        begun, seconds = thread_seconds(session), []
        for _ in range(repeats + 1):
            page.evaluate("() => { tagger.predict(X); }")
            now = thread_seconds(session)
            seconds.append(now - begun)
            begun = now
        result = page.evaluate("() => answers(tagger, X)")
        browser.close()
        return {"seconds": seconds[1:], **result}


def thread_seconds(session: Any) -> float:
    """CPU time of the page's thread until now."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "ThreadTime"))


if __name__ == "__main__":
    sys.exit(main())
