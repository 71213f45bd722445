"""Packages that use python-crfsuite, asked about inputs that are made here.

    python crfsuite_clients.py CLIENT crfsuite|postil COUNT

Prints one JSON object: the answers and the CPU seconds that they took. With ``postil``, ``import pycrfsuite`` means
``postil.crfsuite``. A client is a function that imports its package and returns what answers one input, and the inputs.
"""

import contextlib
import io
import json
import pickle
import random
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Client = tuple[Callable[[Any], Any], list[Any]]
STREETS = "Main Oak Pine Maple Cedar Elm Washington Lake Hill Park Walnut Spring Ridge Church Willow 5th 42nd".split()
KINDS = "St Ave Rd Blvd Ln Dr Ct Way Street Avenue Pkwy".split()
TOWNS = "Springfield,Riverside,Franklin,Clinton,New York,Salem,Madison,St. Louis,Arlington,Ashland".split(",")
STATES = "IL CA NY TX OH PA WA GA MI NC Texas Ohio".split()
FIRST = "James Mary Robert Patricia John Jennifer Michael Linda David Zoë William Barbara José Anne-Marie".split()
LAST = "Smith Johnson Williams Brown Jones García Miller Davis O'Brien Martinez van_Dyke Lee".split()
FOOD = "flour,sugar,butter,olive oil,onions,garlic,chicken thighs,yoghurt,tomatoes,basil leaves,sea salt".split(",")
THAI = "ฉัน รัก ภาษาไทย เขา ไป โรงเรียน วันนี้ อากาศ ดี มาก ที่ กรุงเทพมหานคร นาย สมชาย ทำงาน บริษัท และ กิน ข้าว แล้ว".split()
BURMESE = "မြန်မာ စာ ကို ဖတ် သည် ကျောင်း သို့ သွား နေ့ ကောင်း မြို့ ရန်ကုန် စား ထမင်း ကြီး အိမ် ချစ် လူ များ".split()
VIETNAMESE = "Tôi là sinh viên trường đại học Hà Nội yêu thích đọc sách và học tiếng Việt hôm nay trời đẹp quá".split()
KHMER = "ខ្ញុំ ស្រឡាញ់ ភាសាខ្មែរ គាត់ ទៅ សាលារៀន ថ្ងៃនេះ អាកាសធាតុ ល្អ ណាស់ នៅ ភ្នំពេញ លោក សុខ ធ្វើការ ក្រុមហ៊ុន និង ញ៉ាំ បាយ ហើយ។".split()
PERSIAN = "من به مدرسه می‌روم او کتاب خوب را خواند هوا امروز سرد است تهران شهر بزرگ ایران و دوست دارد".split()


def address(rng: random.Random) -> str:
    number, street = rng.randint(1, 9999), rng.choice(STREETS)
    text = f"{number} {rng.choice(['', 'N ', 'S. ', 'East '])}{street} {rng.choice(KINDS)}"
    text += rng.choice(["", "", f" Apt {rng.randint(1, 99)}", f" #{rng.randint(1, 9)}B", " Suite 200"])
    text = rng.choice([text, text, f"PO Box {number}", f"{street} and {rng.choice(STREETS)}"])
    return f"{text}, {rng.choice(TOWNS)}{rng.choice([', ', ' '])}{rng.choice(STATES)} {rng.randint(10000, 99999)}"


def name(rng: random.Random) -> str:
    person = f"{rng.choice(['', '', 'Mr. ', 'Dr '])}{rng.choice(FIRST)} {rng.choice(['', 'J. '])}{rng.choice(LAST)}"
    company = f"{rng.choice(LAST)} {rng.choice(['& Sons', 'Brothers'])} {rng.choice(['Inc.', 'LLC', 'Ltd'])}"
    two = f"{rng.choice(FIRST)} and {rng.choice(FIRST)} {rng.choice(LAST)}"
    return rng.choice([person, person, f"{person} Jr", two, company]).replace("_", " ")


def ingredient(rng: random.Random) -> str:
    amount = rng.choice(["1", "2 1/2", "½", "250", "3-4", "about 2", "a pinch of"])
    unit = rng.choice(["g ", "cups ", "tbsp ", "oz ", "", "large "])
    return f"{amount} {unit}{rng.choice(FOOD)}{rng.choice(['', ', finely chopped', ' (drained)', ', to taste'])}"


def made(make: Callable[[random.Random], Any], count: int) -> list[Any]:
    return [make(random.Random(number)) for number in range(count)]


def sentence(words: list[str], between: str) -> Callable[[random.Random], str]:
    return lambda rng: between.join(rng.choices(words, k=rng.randint(2, 25)))


def tagged(words: list[str]) -> Callable[[random.Random], list[tuple[str, str]]]:
    """Words with tags that follow from their last letter and the tag before."""

    def make(rng: random.Random) -> list[tuple[str, str]]:
        pairs: list[tuple[str, str]] = []
        for word in rng.choices(words, k=rng.randint(2, 15)):
            noun = ord(word[-1]) % 2 or (pairs and pairs[-1][1] == "ADJ")
            pairs.append((word, "NOUN" if noun else rng.choice(["VERB", "ADJ"])))
        return pairs

    return make


# ------------------------------------------------------------------------------------------------ the clients


def usaddress(count: int) -> Client:
    import usaddress

    def answer(text: str) -> Any:
        try:
            return usaddress.parse(text), usaddress.tag(text)
        except usaddress.RepeatedLabelError as error:
            return error.parsed_string

    return answer, made(address, count)


def probablepeople(count: int) -> Client:
    import probablepeople

    return lambda text: [probablepeople.parse(text, kind) for kind in (None, "person", "company")], made(name, count)


def parserator(count: int) -> Client:
    """usaddress trained again on what it says itself."""
    import pycrfsuite
    import usaddress
    from parserator.training import trainModel

    tagger, path = pycrfsuite.Tagger(), tempfile.mkdtemp() + "/model"

    def answer(text: str | None) -> Any:
        if text is None:
            texts = [address(random.Random(-number - 1)) for number in range(200)]
            trainModel([(text, usaddress.parse(text)) for text in texts], usaddress, path)
            return tagger.open(path) and None
        return tagger.tag(usaddress.tokens2features(usaddress.tokenize(text)))

    return answer, [None, *made(address, count)]


def ingredient_parser(count: int) -> Client:
    """It asks NLTK to download weights of a tagger, which also come with an older package of the same author."""
    import nltk.data

    older = find_spec("textblob_aptagger")
    assert older is not None and older.origin is not None
    with Path(older.origin).with_name("trontagger-0.1.0.pickle").open("rb") as file:
        weights, words, classes = pickle.load(file)
    nltk.data.path.append(tempfile.mkdtemp())
    folder = Path(nltk.data.path[-1], "taggers", "averaged_perceptron_tagger_eng")
    folder.mkdir(parents=True)
    for name, part in (("weights", weights), ("tagdict", words), ("classes", list(classes))):
        (folder / f"{folder.name}.{name}.json").write_text(json.dumps(part), encoding="utf8")
    from ingredient_parser import parse_ingredient

    return lambda text: repr(parse_ingredient(text)), made(ingredient, count)


def pythainlp(count: int) -> Client:
    import pycrfsuite
    from pythainlp.chunk import chunk_parse
    from pythainlp.corpus import get_corpus_path
    from pythainlp.tag.thainer import ThaiNameTagger
    from pythainlp.tokenize import crfcut, han_solo

    names = object.__new__(ThaiNameTagger)  # it would download its model, of which the package has another version
    names.crf, names.pos_tag_name = pycrfsuite.Tagger(), "orchid_ud"
    names.crf.open(get_corpus_path("thainer"))

    def answer(text: str) -> Any:
        words = text.split()
        parts = crfcut.segment("".join(words)), han_solo.segment("".join(words))
        return *parts, chunk_parse([(word, "NN") for word in words]), names.get_ner("".join(words))

    return answer, made(sentence(THAI, " "), count)


def pyidaungsu(count: int) -> Client:
    """It opens its model on every call."""
    import pyidaungsu

    return lambda text: pyidaungsu.tokenize(text, form="word"), made(sentence(BURMESE, ""), count)


def pyvi(count: int) -> Client:
    from pyvi import ViPosTagger, ViTokenizer, ViUtils

    def answer(text: str) -> Any:
        words = ViTokenizer.tokenize(text)
        tokens, tags = ViPosTagger.postagging(words)
        return tokens, list(tags), ViUtils.add_accents(ViUtils.remove_accents(text).decode())

    return answer, made(sentence(VIETNAMESE, " "), count)


def khmernltk(count: int) -> Client:
    from khmernltk import pos_tag, sentence_tokenize, word_tokenize

    def answer(text: str) -> Any:
        return sentence_tokenize(text), word_tokenize(text), pos_tag(text)

    return answer, made(sentence(KHMER, ""), count)


def nltk(count: int) -> Client:
    from nltk.tag import CRFTagger

    tagger, path = CRFTagger(training_opt={"max_iterations": 100}), tempfile.mkdtemp() + "/model"

    def answer(words: list[str] | None) -> Any:
        return tagger.train(made(tagged(VIETNAMESE), 300), path) if words is None else tagger.tag(words)

    return answer, [None, *(text.split() for text in made(sentence(VIETNAMESE, " "), count))]


def hazm(count: int) -> Client:
    from hazm import SequenceTagger

    tagger = SequenceTagger()

    def answer(words: list[str] | None) -> Any:
        if words is None:
            return tagger.train(made(tagged(PERSIAN), 300), verbose=False, file_name=tempfile.mkdtemp() + "/model")
        return tagger.tag(words)

    return answer, [None, *(text.split() for text in made(sentence(PERSIAN, " "), count))]


def sklearn_crfsuite(count: int) -> Client:
    """With eli5's table of the weights, and marginals."""
    import eli5
    import sklearn_crfsuite

    crf = sklearn_crfsuite.CRF(c1=0.1, c2=0.1, max_iterations=300, all_possible_transitions=True)

    def features(words: list[str]) -> list[dict[str, Any]]:
        padded = ["", *words, ""]
        return [
            {
                "word": word,
                "last": word[-1],
                "long": len(word) > 3,
                "around": {"before": padded[i], "after": padded[i + 2]},
            }
            for i, word in enumerate(words)
        ]

    def answer(words: list[str] | None) -> Any:
        if words is None:
            data = made(tagged(VIETNAMESE), 300)
            crf.fit(
                [features([word for word, _ in pairs]) for pairs in data], [[tag for _, tag in pairs] for pairs in data]
            )
            weights = eli5.explain_weights(crf, top=5)
            return [target.target for target in weights.targets]
        rows = crf.predict_marginals_single(features(words))
        return crf.predict_single(features(words)), [max(row, key=row.__getitem__) for row in rows]

    return answer, [None, *(text.split() for text in made(sentence(VIETNAMESE, " "), count))]


def main() -> None:
    client, library, count = sys.argv[1:]
    if library == "postil":
        from postil import crfsuite

        crfsuite.install()
    with contextlib.redirect_stdout(io.StringIO()):  # some print what they do
        answer, inputs = globals()[client](int(count))
        answer(inputs[0])  # imports and models that are loaded when first used
        begin = time.process_time()
        answers = [answer(given) for given in inputs]
        seconds = time.process_time() - begin
    print(json.dumps({"answers": answers, "seconds": seconds}, ensure_ascii=False))


if __name__ == "__main__":
    main()
