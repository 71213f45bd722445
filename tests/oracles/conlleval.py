"""The rules of the CoNLL evaluation script, token by token, as slow and literal as the script itself.

Gold and predicted columns are walked side by side. Two tables say between which neighbouring tags a chunk ends and
begins; a change of class does both. A predicted chunk is right if it began with the gold chunk, ended with it and had
its class. The script's tables know B, I, O and (in part) E; the pairs with E and S that it lacks are added so that a
valid IOBES file means what it says. A prefix that no scheme knows is read as I.
"""

from collections import Counter
from collections.abc import Sequence

ENDS = {"BB", "BO", "IB", "IO", "EE", "EI", "EO"} | {"EB", "BS", "IS", "ES", "SB", "SI", "SE", "SS", "SO"}
BEGINS = {"BB", "IB", "OB", "OI", "EE", "EI", "OE"} | {"EB", "BS", "IS", "OS", "ES", "SB", "SI", "SE", "SS"}


def split(label: str) -> tuple[str, str]:
    tag, _, name = label.partition("-")
    if tag == "O":
        return "O", ""
    return tag if tag in tuple("BIES") else "I", name


def chunk_ends(previous: tuple[str, str], current: tuple[str, str]) -> bool:
    if previous[0] != "O" and previous[1] != current[1]:
        return True
    return previous[0] + current[0] in ENDS


def chunk_begins(previous: tuple[str, str], current: tuple[str, str]) -> bool:
    if current[0] != "O" and previous[1] != current[1]:
        return True
    return previous[0] + current[0] in BEGINS


def conlleval(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Correct, predicted and gold chunks of every class."""
    correct: Counter[str] = Counter()
    found_predicted: Counter[str] = Counter()
    found_gold: Counter[str] = Counter()
    last_gold = last_predicted = ("O", "")
    inside_correct = ""
    is_inside = False
    for gold_labels, predicted_labels in zip(gold, predicted, strict=True):
        # A blank line between sentences counts as O in both columns.
        for one, other in zip([*gold_labels, "O"], [*predicted_labels, "O"], strict=True):
            now_gold, now_predicted = split(one), split(other)
            gold_ends, predicted_ends = chunk_ends(last_gold, now_gold), chunk_ends(last_predicted, now_predicted)
            if is_inside:
                if gold_ends and predicted_ends and last_gold[1] == last_predicted[1]:
                    is_inside = False
                    correct[inside_correct] += 1
                elif gold_ends != predicted_ends or now_gold[1] != now_predicted[1]:
                    is_inside = False
            gold_begins = chunk_begins(last_gold, now_gold)
            predicted_begins = chunk_begins(last_predicted, now_predicted)
            if gold_begins and predicted_begins and now_gold[1] == now_predicted[1]:
                is_inside, inside_correct = True, now_gold[1]
            found_gold[now_gold[1]] += gold_begins
            found_predicted[now_predicted[1]] += predicted_begins
            last_gold, last_predicted = now_gold, now_predicted
    return +correct, +found_predicted, +found_gold


def percentages(correct: int, predicted: int, gold: int) -> tuple[float, float, float]:
    """Precision, recall and F1 as the script prints them: 0 where nothing was found or nothing is there."""
    precision = 100 * correct / predicted if predicted else 0.0
    recall = 100 * correct / gold if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return precision, recall, f1
