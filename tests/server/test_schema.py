"""The checker of requests: what it accepts and refuses, beside the reference implementation of JSON Schema."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.server import requests
from postil.server.schema import SchemaError, check

NAMED = {"tag": requests.TAG, "explain": requests.EXPLAIN, "tree": requests.TREE, "lattice": requests.LATTICE}

values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 60) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from("text tokens documents options constraints force allow span label nbest threshold".split()),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "the request must be an object"),
        ({}, "the request must have text or tokens or documents"),
        ({"text": 3}, "the request: text must be a string"),
        ({"tokens": [""]}, "the request: tokens, item 0 must have at least 1 characters"),
        ({"tokens": "a"}, "the request: tokens must be a list"),
        ({"text": "a", "options": {"nbest": 0}}, "the request: options: nbest must be at least 1"),
        ({"text": "a", "options": {"threshold": 1.5}}, "the request: options: threshold must be at most 1"),
        ({"text": "a", "options": {"all_above": 0}}, "the request: options: all_above must be above 0"),
        ({"text": "a", "options": {"tokens": 1}}, "the request: options: tokens must be true or false"),
        ({"documents": []}, "the request: documents must have at least 1 items"),
    ],
)
def test_messages_say_where_and_why(value, message):
    with pytest.raises(SchemaError) as caught:
        check(value, requests.TAG)
    assert str(caught.value) == message


def test_an_unknown_shape_is_refused_with_the_known_ones():
    with pytest.raises(SchemaError, match="shape must be one of balanced, right"):
        check({"text": "a", "shape": "star"}, requests.TREE)


@pytest.mark.extra("schemathesis")
@pytest.mark.parametrize("name", NAMED)
@given(value=values)
def test_agrees_with_the_reference_implementation(name, value):
    import jsonschema

    valid = jsonschema.Draft202012Validator(NAMED[name]).is_valid(value)
    try:
        check(value, NAMED[name])
    except SchemaError:
        assert not valid
    else:
        assert valid
