"""Whether a model exported to C answers what Python answers, on whole files, and how fast.

    python -m benchmarks.export MODEL FILE… [--half]

The files are CoNLL columns (for a tree classifier: trees in brackets). Every sentence is labelled from its tokens; and
the text that tokens make when joined by spaces is tokenised, split and labelled as well, by Python and by the program
that an export contains. No label may differ, probabilities not by more than 1e-5. Rates are tokens a CPU second, labels
and all probabilities, from tokens, after a first run that fills the caches. `cc` must be a C compiler.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import postil
from benchmarks.measuring import Outcome, parser, report
from postil.export.c import export_c
from postil.export.flat import halved
from postil.models.decoding.posteriors import Posteriors, decode
from postil.models.tree_classifier import TreeClassifier
from postil.text.formats import read

CLOSE = 1e-5
TEXT_SENTENCES = 20  # that make one text
REPEATS = 5
# Reads spans of tokens and sentences, labels them several times, writes labels and probabilities of each layer.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "postil.h"
static void *content(const char *path, long *size) {
    FILE *file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    *size = ftell(file);
    rewind(file);
    void *memory = malloc((size_t)*size + 1);
    if (fread(memory, 1, (size_t)*size, file) != (size_t)*size) exit(3);
    fclose(file);
    return memory;
}
int main(int count, char **words) {
    long bytes, spans, edges;
    const char *text = content("text.bin", &bytes);
    const postil_span *tokens = content("tokens.bin", &spans);
    const int32_t *sentences = content("sentences.bin", &edges);
    postil_model *model;
    postil_workspace *workspace;
    postil_result result;
    double best = 1e9;
    if (postil_open("model.bin", &model) || postil_workspace_new(model, 0, &workspace)) return 1;
    for (int turn = 0; turn <= atoi(words[count - 1]); turn++) {
        const clock_t begin = clock();
        if (postil_tag_spans(model, workspace, text, (size_t)bytes, tokens, (int32_t)(spans / 8), sentences,
                             (int32_t)(edges / 4 - 1), &result)) return 2;
        const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        if (turn > 0 && seconds < best) best = seconds;
    }
    FILE *out = fopen("answers.bin", "wb");
    for (int32_t layer = 0; layer < result.layer_count; layer++) {
        fwrite(result.layers[layer].labels, 4, (size_t)result.token_count, out);
        fwrite(result.layers[layer].probabilities, 8, (size_t)result.token_count, out);
    }
    fclose(out);
    printf("%.9f\\n", best);
    return 0;
}
"""


def main() -> int:
    options = parser(__doc__)
    options.add_argument("model")
    options.add_argument("files", nargs="+", type=Path)
    options.add_argument("--half", action="store_true", help="tables of words in half precision")
    arguments = options.parse_args()
    model: Any = postil.load(arguments.model)
    of_file = of_trees if isinstance(model, TreeClassifier) else of_tokens
    rows = [
        {"file": f"{path.parent.name}/{path.name}", **of_file(model, path, arguments.half)} for path in arguments.files
    ]
    return report(
        Outcome(
            name="export",
            compared="Labels and probabilities of a model exported to C, and of Python.",
            rows=rows,
            goal=f"no label differs, probabilities to {CLOSE:g}",
            passed=all(row["equal"] for row in rows),
        )
    )


def of_trees(model: Any, path: Path, half: bool) -> dict[str, Any]:
    texts = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as name:
        export_c(model, Path(name) / "c", half=half, texts=texts)
        shown, code = conformance(Path(name) / "c")
        return {"trees": len(texts), "conformance": shown, "equal": code == 0}


def of_tokens(model: Any, path: Path, half: bool) -> dict[str, Any]:
    X: list[Any] = [list(sentence.tokens) for sentence in read(path, "conll")]  # without further columns
    joined = [" ".join(tokens) for tokens in X]
    texts = ["\n".join(joined[i : i + TEXT_SENTENCES]) for i in range(0, len(joined), TEXT_SENTENCES)]
    compared = halved(model) if half else model
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "c"
        size = export_c(model, folder, half=half, texts=texts).files["model.bin"]
        shown, code = conformance(folder)
        rate, answers = from_tokens(folder, X)
        python_rate, expected = in_python(compared, X)
    N = sum(map(len, X))
    wrong, furthest = 0, 0.0
    for task, (names, probabilities) in enumerate(expected):
        labels, found = answers[task]
        spellings = list(model.model.heads.values())[task].codec.spellings
        wrong += sum(spellings[i] != label for i, label in zip(labels.tolist(), names, strict=True))
        furthest = max(furthest, float(np.abs(found - probabilities).max(initial=0)))
    return {
        "tokens": N,
        "megabytes": size / 1e6,
        "labels differ": wrong,
        "probabilities differ by": furthest,
        "from text": shown,
        "C tokens/s": rate,
        "Python tokens/s": python_rate,
        "equal": wrong == 0 and furthest <= CLOSE and code == 0,
    }


def conformance(folder: Path) -> tuple[str, int]:
    """What the exported program says about the texts."""
    command = ["make", "-s", "conformance", "CFLAGS=-O3"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./conformance", "model.bin", "conformance.txt"], cwd=folder, capture_output=True, text=True)
    return done.stdout.strip().partition("; ")[2].replace(
        "largest difference of probabilities", "probabilities"
    ), done.returncode


def from_tokens(folder: Path, X: list[Any]) -> tuple[float, list[tuple[Any, Any]]]:
    """Tokens a second in C, and labels (N,) and probabilities (N,) of each task."""
    text, spans, edges = bytearray(), [], [0]
    for tokens in X:
        for token in tokens:
            content = token.encode()
            spans.append((len(text), len(text) + len(content)))
            text += content + b" "
        edges.append(len(spans))
    (folder / "text.bin").write_bytes(bytes(text))
    (folder / "tokens.bin").write_bytes(np.array(spans, np.int32).tobytes())
    (folder / "sentences.bin").write_bytes(np.array(edges, np.int32).tobytes())
    (folder / "speed.c").write_text(PROGRAM)
    subprocess.run(["cc", "-std=c99", "-O3", "speed.c", "postil.c", "-o", "speed", "-lm"], cwd=folder, check=True)
    done = subprocess.run(["./speed", str(REPEATS)], cwd=folder, check=True, capture_output=True, text=True)
    content, N = (folder / "answers.bin").read_bytes(), len(spans)
    layers = [content[i : i + 12 * N] for i in range(0, len(content), 12 * N)]
    answers = [(np.frombuffer(one[: 4 * N], np.int32), np.frombuffer(one[4 * N :], np.float64)) for one in layers]
    return N / float(done.stdout), answers


def in_python(model: Any, X: list[Any]) -> tuple[float, list[tuple[list[str], Any]]]:
    """The same by the engine in Python."""
    heads = {task: Posteriors(head) for task, head in model.model.by_task().items()}
    best, found = np.inf, {}
    for turn in range(REPEATS + 1):
        begin = time.process_time()
        found = decode(heads, X, label_probabilities=True)
        seconds = time.process_time() - begin
        best = min(best, seconds) if turn else best
    expected = [
        ([label for labels in decoded.texts() for label in labels], decoded.label_probabilities)
        for decoded in found.values()
    ]
    return sum(map(len, X)) / best, expected


if __name__ == "__main__":
    sys.exit(main())
