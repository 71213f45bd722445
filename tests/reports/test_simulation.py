"""The page of a simulation has every curve, its numbers, and what follows from them."""

from postil.curation.simulation import FULL, Round, Run, Simulation
from postil.reports.simulation import curves_table, simulation_page


def simulation():
    runs = [Run(FULL, 0, [Round(9, 1000, 0.8)])]
    for way, scores in {"entropy": [0.5, 0.795], "random": [0.5, 0.7]}.items():
        runs += [Run(way, s, [Round(1, 100, scores[0]), Round(2, 200, scores[1])]) for s in (0, 1)]
    return Simulation(runs, 1000)


def test_the_table_has_a_row_for_each_round_and_one_for_all_data():
    table = curves_table(simulation())
    assert table.columns == ("tokens", "share", "entropy", "random")
    assert table.rows[1] == (200, "20 %", "79.50 ± 0.00", "70.00 ± 0.00")
    assert table.rows[-1] == (1000, "100 %", "80.00", "80.00")


def test_the_page_draws_each_way_and_says_what_it_needs():
    page = simulation_page(simulation(), "a <b> file")
    assert page.count("<polyline") == 2 and page.count("<circle") == 4
    assert "Entropy: 20 % of the tokens reach within one point of the full data." in page
    assert "a &lt;b&gt; file" in page and "a <b>" not in page
