from xml.etree import ElementTree

import numpy as np
import pytest

from postil.errors import ConfigurationError
from postil.graph import Input, Parameter, draw, gradients
from postil.network import Linear


def small_graph():
    rng = np.random.default_rng(0)
    x = Input(rng.normal(size=(2, 4)), "word vectors")
    hidden = Linear(4, 3, rng=rng, dtype=np.float64)(x)
    u = Parameter(rng.normal(size=3), "u")
    return x, u, (hidden @ u).sum()


def test_mermaid_names_shapes_and_counts_parameters():
    _, _, score = small_graph()
    text = draw(score)
    assert text.startswith("flowchart TD\n")
    assert '["word vectors 2 × 4"]:::input' in text
    assert '["Linear 2 × 3<br/>15 parameters"]:::result' in text  # W and b are inside the layer's box
    assert '["u 3<br/>3 parameters"]:::parameter' in text
    assert text.count("-->") == 4
    assert "rms" not in text and "gradient" not in text


def test_values_and_gradient_norms_on_request():
    x, u, score = small_graph()
    found = gradients(score)
    text = draw(score, values=True, gradients=found)
    assert f"value {score.value:.4g}" in text
    assert f"rms {np.sqrt(np.mean(u.value**2)):.3g}" in text
    assert f"|gradient| {np.linalg.norm(found[x]):.3g}" in text
    assert "W |gradient|" in text and "b |gradient|" in text


def test_svg_is_well_formed_and_boxes_do_not_overlap():
    x, _, score = small_graph()
    y = score
    for _ in range(4):
        y = y * 1.5 + (x * 2.0).sum()  # long edges that pass several rows
    y.name = 'a <b> & "c"'
    root = ElementTree.fromstring(draw(y, "svg", values=True))
    space = "{http://www.w3.org/2000/svg}"
    boxes = [
        tuple(float(r.get(k)) for k in ("x", "y", "width", "height"))
        for r in root.iter(f"{space}rect")
        if r.get("rx") is not None
    ]
    assert len(boxes) == draw(y).count(":::")
    width, height = float(root.get("width")), float(root.get("height"))
    for i, (x0, y0, w, h) in enumerate(boxes):
        assert x0 >= 0 and y0 >= 0 and x0 + w <= width and y0 + h <= height
        for x1, y1, w1, h1 in boxes[:i]:
            assert x0 + w <= x1 or x1 + w1 <= x0 or y0 + h <= y1 or y1 + h1 <= y0
    assert any(t.text and '<b> & "c"' in t.text for t in root.iter(f"{space}text"))


def test_a_single_leaf_can_be_drawn():
    assert "p 2" in draw(Parameter(np.ones(2), "p"))
    ElementTree.fromstring(draw(Input(np.ones(2)), "svg"))


def test_an_unknown_form_and_a_graph_that_is_too_large():
    x = Input(np.ones(2))
    with pytest.raises(ConfigurationError, match="form of a drawing: expected mermaid or svg, got 'png'"):
        draw(x, "png")
    y = x
    for _ in range(3000):
        y = y + 1.0
    with pytest.raises(ConfigurationError, match="expected at most 2000 nodes, got 3001 nodes"):
        draw(y)


def test_names_with_characters_that_mean_something_to_mermaid():
    text = draw(Input(np.ones(2), 'a"b#c<d>`e`[f](g){h}&\ni'))
    assert '"a#34;b#35;c#60;d#62;#96;e#96;#91;f#93;#40;g#41;#123;h#125;#38; i 2"' in text
    assert text.count('"') == 2  # one label


def test_names_with_line_breaks_and_control_characters_in_svg():
    root = ElementTree.fromstring(draw(Input(np.ones(2), "two\nlines\x00 & <more>"), "svg"))
    (label,) = root.iter("{http://www.w3.org/2000/svg}text")
    assert label.text == "two lines & <more> 2"
