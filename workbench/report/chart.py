"""Place a line chart: points, ticks and marker shapes as numbers for the page's inline SVG.

A chart is 360 units wide, so that its text stays readable on a telephone. Series differ by dash and marker, not only
by colour. The horizontal axis is the budget on a logarithmic scale, each budget a tick.
"""

import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 360, 220, 46, 12, 12, 30
INSET = 8  # so that the first marker does not cover the axis labels
SHAPES = (  # drawn around 0, 0
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", "M-4,-4h8v8h-8z", "M0,-5L5,4L-5,4z", "M0,-5L5,0L0,5L-5,0z",
    "M0,5L5,-4L-5,-4z", "M-4,-4L4,4M-4,4L4,-4", "M-5,0H5M0,-5V5", "M-5,-2h10v4h-10z", "M-2,-5h4v10h-4z")
DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 2", "1 2", "12 4", "6 2 1 2 1 2", "3 6")


def nice_top(value):
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is not below the value; 1 for 0: nice_top(30) -> 50."""
    power = 10 ** math.floor(math.log10(value or 1))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value)


def short(value):
    """A tick's label: short(4096) -> "4,096"; short(2.0) -> "2"."""
    return f"{value:,.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"


def chart(title, budgets, series, top=None):
    """The chart of {name: a value or None for each budget}; a None leaves a gap."""
    values = [value for line in series.values() for value in line if value is not None]
    top, labels = top or nice_top(max(values, default=0)), list(map(short, budgets))
    low, high = math.log(budgets[0]), math.log(budgets[-1])
    width, height, right, bottom = WIDTH - LEFT - RIGHT - INSET, HEIGHT - TOP - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM
    places = [round(LEFT + INSET + (math.log(budget) - low) / ((high - low) or 1) * width, 1) for budget in budgets]
    # quarters of the top, or whole numbers where all values are such
    step = max(1, math.ceil(top / 4)) if all(isinstance(value, int) for value in values) else top / 4

    def y(value):
        return round(TOP + (1 - value / top) * height, 1)

    lines = []
    for number, (name, line) in enumerate(series.items()):
        points = [(x, y(value)) for x, value in zip(places, line) if value is not None]
        lines.append({
            "name": name, "number": number % 8, "shape": SHAPES[number % len(SHAPES)], "points": points,
            "dash": DASHES[number % len(DASHES)], "path": "M" * bool(points) + " L".join(f"{x},{y}" for x, y in points),
            "figures": list(map(figure_text, line))})
    return {"title": title, "width": WIDTH, "height": HEIGHT, "left": LEFT, "right": right, "bottom": bottom,
            "lines": lines, "budgets": labels, "x_ticks": thin(list(zip(places, labels))),
            "y_ticks": [(y(step * part), short(step * part)) for part in range(5) if step * part <= top]}


def thin(ticks):
    """The ticks whose labels do not overlap, the last among them: thin([(0, "1"), (3, "2")]) -> [(3, "2")]."""
    kept = []
    for place, label in reversed(ticks):
        if not kept or kept[-1][0] - place >= 8 * max(len(label), len(kept[-1][1])) * 0.8 + 4:
            kept.append((place, label))
    return kept[::-1]


def figure_text(value):
    """A value as the legend writes it, a share to three places, a mean rounded: figure_text(0.73333) -> "0.733"."""
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if value <= 1 else f"{value:,.0f}"
