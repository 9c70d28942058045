"""What a chart could show wrongly: points where nothing was measured, labels that run into each other."""

import unittest

from workbench.report.chart import chart


class Charts(unittest.TestCase):
    def test_points_follow_the_values_and_a_missing_one_leaves_no_point(self):
        made = chart("t", [64, 256, 1024], {"a": [0.0, None, 1.0]}, top=1.0)
        (first, last), line = made["lines"][0]["points"], made["lines"][0]
        self.assertEqual((first[0], last[0], first[1] > last[1]), (made["left"] + 8, made["right"], True))
        self.assertEqual(line["figures"], ["0.000", "none", "1.000"])

    def test_labels_of_close_budgets_do_not_run_into_each_other(self):
        made = chart("t", list(range(1000, 1400, 10)), {"a": [1] * 40})
        places = [place for place, _ in made["x_ticks"]]
        self.assertTrue(all(after - before >= 30 for before, after in zip(places, places[1:])))
        self.assertEqual(made["x_ticks"][-1][1], "1,390")

    def test_one_series_of_nothing_and_one_budget_can_be_drawn(self):
        self.assertEqual(chart("t", [5], {"a": [0]})["lines"][0]["points"][0][0], chart("t", [5], {})["left"] + 8)

    def test_whole_numbers_get_whole_ticks(self):
        self.assertEqual([label for _, label in chart("t", [1, 2], {"a": [1, 2]})["y_ticks"]], ["0", "1", "2"])


if __name__ == "__main__":
    unittest.main()
