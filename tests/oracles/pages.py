"""Reading an HTML page back: is it well formed, what does it say, does it ask anything of anybody?"""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "input", "br"}


@dataclass(eq=False)
class Element:
    tag: str
    attributes: dict[str, str | None]
    children: list = field(default_factory=list)

    @property
    def text(self):
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, tag="", **wanted):
        """Elements below this one with a tag and attributes (``class_`` for class: one of its words)."""
        for child in self.children:
            if isinstance(child, Element):
                if (not tag or child.tag == tag) and child._has(wanted):
                    yield child
                yield from child.all(tag, **wanted)

    def one(self, tag="", **wanted):
        (found,) = self.all(tag, **wanted)
        return found

    def _has(self, wanted):
        for name, value in wanted.items():
            given = self.attributes.get(name.removesuffix("_").replace("_", "-"))
            if given is None or value not in (given.split() if name == "class_" else [given]):
                return False
        return True


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open = [Element("", {})]

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        element = Element(tag, dict(attributes))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> where <{self.open[-1].tag}> is open"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


def read_page(text):
    """The page as a tree; an assertion fails where it is not well formed or could load anything."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.open) == 1, f"never closed: {[element.tag for element in reader.open[1:]]}"
    page = reader.open[0]
    for element in page.all():
        assert element.tag not in {"link", "img", "iframe", "object", "embed", "base"}, element.tag
        for name, value in element.attributes.items():
            assert not name.startswith("on") and name not in {"src", "srcdoc", "action"}, (element.tag, name)
            assert name != "href" or value.startswith("#"), value
    assert "http://" not in text and "https://" not in text and "@import" not in text and "url(" not in text
    return page


def table_rows(element):
    """The cells of a table's rows, as they are shown."""
    return [[cell.text for cell in row.children] for row in element.all("tr")]
