"""Threads that share a model: every public call returns what it returns to a single thread."""

import pytest

import postil
from oracles.golden import QUESTIONS, TINY, TREES, corpus, detector, multi_task_tagger, tagger, tree_classifier
from oracles.sharing import compare_with_threads
from postil.models import storage
from postil.rules import ListRule
from postil.text import Sentence

TEXTS = ["Anna Moss flew to Berlin. Shares of Nimbus Electric fell.", "Zoë lives in Łódź, on 1984-05-07."]
X, Y = corpus(12)
FORCED = postil.Constraints(require=[(0, 2, "PER")])
# Public names that change the model, that are none of its answers, or that only say how it was made.
NO_QUESTIONS = {
    *["KIND", "fit", "fitting", "save", "get_params", "set_params", "settings", "check", "config", "by_task", "model"],
    *["history_", "classes_", "calibrate", "tune", "promise", "pretrain", "pretraining", "decoding"],
    *["tasks", "main_task", "threshold", "groups_", "with_roles"],
}


def sentences():
    return [Sentence(list(tokens)) for tokens in QUESTIONS[:3]]


def of_sentences(model):
    return {
        **{f"predict {i}": lambda i=i: model.predict([X[i], QUESTIONS[i % 3]]) for i in range(len(X))},
        "predict all": lambda: model.predict(X),
        "score": lambda: model.score(X, Y),
        "evaluate": lambda: model.evaluate(X, Y),
        "explain": lambda: model.explain(QUESTIONS[0], 0, 2),
        "annotate": lambda: model.annotate(sentences()),
        **{f"tag {i}": lambda text=text: model.tag(text) for i, text in enumerate(TEXTS)},
        "tag_many": lambda: model.tag_many(TEXTS),
    }


def of_tagger(model):
    if isinstance(model, postil.Tagger):
        model.promise(X * 20, Y * 20, classes=["PER"], miss=0.5)
    return {
        **of_sentences(model),
        "predict constrained": lambda: model.predict(
            QUESTIONS[:1], constraints=[postil.Constraints(require=[(0, 2, "PER")])]
        ),
        "predict threshold": lambda: model.predict(X, threshold=0.9),
        "predict_with_probabilities": lambda: model.predict_with_probabilities(X),
        **{f"marginals {i}": lambda i=i: model.marginals(X[i]) for i in range(4)},
        "nbest": lambda: model.nbest(QUESTIONS[0], 3),
        "probability": lambda: model.probability(X[0], Y[0]),
        "spans_above": lambda: model.spans_above(X[0], 0.01),
        "entities_above": lambda: model.entities_above(sentences(), 0.01),
        "answers": lambda: model.answers(sentences()),
        "with_rules": lambda: model.with_rules([names()]).predict(X),
        "redact": lambda: model.redact(TEXTS[0], check=False),
        "redact_many": lambda: model.redact_many(TEXTS, check=False),
    }


def names():
    return ListRule(name="names", label="PER", phrases=[QUESTIONS[0][0]])


def of_tasks(model):
    tasks = {"names": X, "case": X}
    gold = {"names": Y, "case": [["up" if word[:1].isupper() else "low" for word in words] for words in X]}
    return {
        "predict": lambda: model.predict(X),
        "score": lambda: model.score(tasks, gold),
        "evaluate": lambda: model.evaluate(tasks, gold),
        "explain": lambda: model.explain(QUESTIONS[0], 0, 2, task="names"),
        "annotate": lambda: model.annotate(sentences()),
        "tag": lambda: model.tag(TEXTS[0]),
        "tag_many": lambda: model.tag_many(TEXTS),
        "with_rules": lambda: model.with_rules([names()], task="names").predict(X),
        **{f"{task} {name}": call for task in model.tasks for name, call in of_head(model[task]).items()},
    }


def of_head(head):
    return {"predict": lambda: head.predict(X), "marginals": lambda: head.marginals(X[1])}


def of_detector(model):
    return {
        **of_sentences(model),
        "decision": lambda: model.decision(X),
    }


def of_trees(model):
    labelled = model.trees(TREES, ["good", "bad"])
    return {
        **{f"predict {i}": lambda tree=tree: model.predict([tree]) for i, tree in enumerate(TREES)},
        "predict": lambda: model.predict(TREES),
        "predict_proba": lambda: model.predict_proba(TREES),
        "predict_nodes": lambda: model.predict_nodes(TREES),
        "node_probabilities": lambda: model.node_probabilities(TREES),
        "trees": lambda: model.trees(TREES),
        "score": lambda: model.score(labelled),
        "evaluate": lambda: model.evaluate(labelled),
        "explain": lambda: model.explain(TREES[0]),
    }


def feature_dicts():
    items = [[{"word": word, "near": {"last": word[-2:], "list": [word[:1]]}, "length": 1.5} for word in s] for s in X]
    return postil.Tagger(**TINY, word_key="word").fit(items, Y), items


def of_dicts(model):
    items = [[{"word": word, "near": {"last": word[-2:], "list": [word[:1]]}, "length": 1.5} for word in s] for s in X]
    return {f"predict {i}": lambda i=i: model.predict([items[i]]) for i in range(len(items))}


MODELS = {
    "tagger": (tagger, of_tagger),
    "accurate tagger": (lambda: tagger(preset="accurate"), of_tagger),
    "ensemble": (lambda: tagger(ensemble=2), of_tagger),
    "several tasks": (multi_task_tagger, of_tasks),
    "detector": (detector, of_detector),
    "trees": (tree_classifier, of_trees),
    "trees of a tensor": (lambda: tree_classifier(composition="tensor"), of_trees),
    "feature dicts": (lambda: feature_dicts()[0], of_dicts),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_threads_that_share_a_model_get_the_answers_of_one(name):
    make, calls = MODELS[name]
    content = storage.to_bytes(make())
    alone, shared = storage.from_bytes(content), storage.from_bytes(content)
    compare_with_threads(calls(alone), shared=calls(shared), threads=6, rounds=2)


@pytest.mark.parametrize("kind", ["Tagger", "MultiTaskTagger", "Detector", "TreeClassifier"])
def test_every_public_call_is_among_those_compared(kind):
    public = {name for name in dir(getattr(postil, kind)) if not name.startswith("_")} - NO_QUESTIONS
    asked = {"Tagger": of_tagger, "MultiTaskTagger": of_tasks, "Detector": of_detector, "TreeClassifier": of_trees}
    make = {"MultiTaskTagger": multi_task_tagger, "TreeClassifier": tree_classifier}.get(kind, detector)
    compared = {name.split(" ")[0] for name in asked[kind](make())}
    assert public <= compared
