from postil.machine import limits, measurements


def test_the_rows_are_consistent(monkeypatch):
    monkeypatch.setattr(measurements, "SENTENCES", 30)
    monkeypatch.setattr(measurements, "TREES", 10)
    monkeypatch.setattr(measurements, "REPEATS", 1)
    monkeypatch.setattr(measurements, "PRESETS", ("fast",))
    monkeypatch.setattr(limits, "REPEATS", 1)
    rows = list(measurements.measurements(threads=1, seed=0))
    assert [row.unit for row in rows] == ["tokens", "tokens", "tokens", "sentences", "trees"]
    assert all(abs(row.per_second * row.microseconds - 1e6) < 1 for row in rows)
