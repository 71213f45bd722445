"""Cards: what the model file says, what the file beside it says, and mistakes in that."""

import json

import pytest

from postil.errors import DataError
from postil.reports.card import card_of, card_path

WRITTEN = {
    "title": "Names",
    "about": "Finds names.",
    "date": "2026-01-02",
    "licence": "CC BY-SA 4.0",
    "tables": [
        {"title": "Scores", "columns": ["corpus", "F1"], "rows": [["a|b", 61.25], ["c", None]], "note": "a note"}
    ],
    "weaknesses": ["Titles."],
}


@pytest.fixture
def model(names_model, tmp_path):
    path = tmp_path / "m.postil"
    path.write_bytes(names_model.read_bytes())
    return path


def test_without_a_card_file_the_model_speaks(model):
    card = card_of(model)
    assert card.title == "m.postil"
    assert card.facts["classes"] == "LOC PER"
    assert card.facts["training sentences"] == 60
    assert card.facts["size, MB"] == model.stat().st_size / 1e6
    assert "word vectors" not in card.facts
    assert card.tables == [] and "## " not in card.to_markdown()


def test_a_card_file_is_shown_beside_it(model):
    card_path(model).write_text(json.dumps(WRITTEN))
    card = card_of(model, "names")
    page = card.to_markdown()
    assert page.startswith("# Names\n\nFinds names.\n\n| what | value |\n| --- | --- |\n")
    assert "| licence | CC BY-SA 4.0 |" in page and "| date | 2026-01-02 |" in page
    assert "## Scores\n\n| corpus | F1 |\n| --- | --: |\n| a\\|b | 61.25 |\n| c |  |\n\na note\n" in page
    assert page.endswith("## What it is bad at\n\n- Titles.\n")
    content = json.loads(json.dumps(card.to_dict()))
    assert content["name"] == "names" and content["tables"] == WRITTEN["tables"] and content["title"] == "Names"


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"title": 3}',
        '{"tables": [{"title": "x", "columns": ["a"], "rows": [[1, 2]]}]}',
        '{"tables": [{"title": "x", "columns": ["a"], "rows": [[true]]}]}',
        '{"tables": [{"columns": ["a"], "rows": []}]}',
        '{"tables": 1}',
        '{"weaknesses": "x"}',
    ],
)
def test_a_wrong_card_file_is_told(model, content):
    card_path(model).write_text(content)
    with pytest.raises(DataError, match=r"m\.card\.json: (the )?model card"):
        card_of(model)
