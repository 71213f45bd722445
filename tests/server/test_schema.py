"""Requests: what is accepted, and messages that say where and why. Answers are compared with what is described."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.server import api
from postil.server.requests import Refusal

KINDS = {"/api/tag": api.Tag, "/api/explain": api.Explain, "/api/tree": api.TreeAsked, "/api/lattice": api.TextAsked}

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                "text tokens documents options constraints require allow span label nbest threshold".split()
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "the request: expected `object`, got `array`"),
        ({}, "the request: must have text or tokens or documents"),
        ({"text": "a", "tokens": ["a"]}, "the request: must have text or tokens or documents"),
        ({"documents": [{"text": "a"}], "constraints": {}}, "the request: must have text or tokens or documents"),
        ({"documents": [{"text": "a"}, {}]}, "documents[1]: must have text or tokens"),
        ({"text": 3}, "text: expected `str`, got `int`"),
        ({"text": None}, "text: expected `str`, got `null`"),
        ({"tokens": [""]}, "tokens[0]: expected `str` of length >= 1"),
        ({"tokens": "a"}, "tokens: expected `array`, got `str`"),
        ({"text": "a", "options": {"nbest": 0}}, "options.nbest: expected `int` >= 1"),
        ({"text": "a", "options": {"threshold": 1.5}}, "options.threshold: expected `float` <= 1.0"),
        ({"text": "a", "options": {"all_above": 0}}, "options.all_above: expected `float` > 0.0"),
        ({"text": "a", "options": {"tokens": 1}}, "options.tokens: expected `bool`, got `int`"),
        ({"documents": []}, "documents: expected `array` of length >= 1"),
        ({"text": "a", "txt": "b"}, "the request: object contains unknown field `txt`"),
    ],
)
def test_messages_say_where_and_why(value, message):
    with pytest.raises(Refusal) as caught:
        api.decoded(json.dumps(value).encode(), api.Tag)
    assert caught.value.message == message and caught.value.code == "schema"


def test_an_unknown_shape_is_refused():
    with pytest.raises(Refusal, match="shape: invalid enum value 'star'"):
        api.decoded(b'{"text": "a", "shape": "star"}', api.TreeAsked)


@pytest.mark.extra("schemathesis")
@pytest.mark.parametrize("path", KINDS)
@given(value=values)
def test_agrees_with_the_reference_implementation_of_the_description(path, value):
    import jsonschema

    described = api.description()
    schema = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema.Draft202012Validator({**schema, "components": described["components"]})
    try:
        api.decoded(json.dumps(value).encode(), KINDS[path])
    except Refusal:
        assert not validator.is_valid(value)
    else:
        assert validator.is_valid(value)
