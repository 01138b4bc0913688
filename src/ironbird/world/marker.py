"""Square markers that cameras find: a black frame of one cell around 4 by 4 cells of data, white around it.

Number 0 to 4095 in 12 bits; the corners of the data (one black, three white) give its orientation. The form is that of
AprilTags, with another code that corrects no wrong bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CELLS = 8  # cells along a side: white rim, black frame, 4 cells of data, frame, rim
DATA = [(row, column) for row in range(2, 6) for column in range(2, 6)]
CORNERS = ((2, 2), (2, 5), (5, 5), (5, 2))  # the first is black, the others white
BITS = [place for place in DATA if place not in CORNERS]


def marker_cells(number: int) -> list[list[int]]:
    """White (1) and black (0) cells of a marker, row by row, the first row ahead."""
    cells = [[1 if row in (0, CELLS - 1) or column in (0, CELLS - 1) else 0 for column in range(CELLS)]
             for row in range(CELLS)]  # fmt: skip
    for row, column in CORNERS[1:]:
        cells[row][column] = 1
    for bit, (row, column) in enumerate(BITS):
        cells[row][column] = number >> bit & 1
    return cells


def marker_bits(number: int) -> int:
    """The cells as one number, the first cell in the lowest bit."""
    return sum(cell << place for place, cell in enumerate(cell for row in marker_cells(number) for cell in row))


# ---------------------------------------------------------------------- finding them


@dataclass(frozen=True)
class Found:
    """A detected marker: its number, and the corners of its black frame (4, 2) as u, v, the upper left one first.

    The corners go round as seen on the marker: ahead-left, ahead-right, back-right, back-left.
    """

    number: int
    corners_px: np.ndarray

    @property
    def centre_px(self) -> np.ndarray:
        """Intersection of the diagonals: the centre of the marker also under perspective."""
        a, b, c, d = self.corners_px
        (ux, uy), (vx, vy), (wx, wy) = c - a, d - b, b - a
        share = (wx * vy - wy * vx) / (ux * vy - uy * vx)
        return np.asarray(a + share * (c - a))

    def distance_m(self, focal_px: float, side_m: float) -> float:
        """Distance in m of the marker from the size of its frame; for a camera nearly above it."""
        sides = np.linalg.norm(self.corners_px - np.roll(self.corners_px, 1, axis=0), axis=1)
        return float(focal_px * side_m / sides.mean())


FRAME_SHARE = (CELLS - 2) / CELLS  # share of the marker's side that its black frame has
LEAST_PX = 60  # least dark pixels of a marker


def find_markers(picture: np.ndarray) -> list[Found]:
    """Detect markers in an 8-bit image, grey or colour; the largest first.

    Dark patches whose hull is a four-sided figure are read as markers through the perspective of their corners. A
    marker must be seen whole, with its white rim.
    """
    grey = picture.astype(float) if picture.ndim == 2 else picture @ np.array([0.2126, 0.7152, 0.0722])
    dark = grey < _threshold(grey)
    markers = []
    for pixels in _patches(dark):
        corners = _four_corners(pixels)
        marker = None if corners is None else _read(grey, corners)
        if marker is not None:
            markers.append((len(pixels), marker))
    return [marker for _, marker in sorted(markers, key=lambda entry: -entry[0])]


def _threshold(grey: np.ndarray) -> float:
    """Threshold that best separates dark and bright pixels (N. Otsu, IEEE Trans. SMC 9, 1979)."""
    counts = np.bincount(np.clip(grey, 0, 255).astype(int).ravel(), minlength=256).astype(float)
    below, levels = np.cumsum(counts), np.arange(256)
    sums = np.cumsum(counts * levels)
    above = below[-1] - below
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (sums[-1] * below / below[-1] - sums) ** 2 / (below * above)
    return float(np.nanargmax(np.where(np.isfinite(between), between, -1.0))) + 0.5


def _patches(dark: np.ndarray) -> list[np.ndarray]:
    """Connected dark pixels (n, 2) as line, column; runs of a line are joined with those they touch above."""
    runs: list[tuple[int, int, int]] = []
    root: list[int] = []

    def top(number: int) -> int:
        while root[number] != number:
            root[number] = number = root[root[number]]
        return number

    above: list[int] = []
    edges = np.diff(np.pad(dark.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    for line in range(dark.shape[0]):
        here = []
        starts, ends = np.flatnonzero(edges[line] == 1), np.flatnonzero(edges[line] == -1)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            number = len(runs)
            runs.append((line, start, end))
            root.append(number)
            for other in above:
                if runs[other][1] < end and start < runs[other][2]:
                    root[top(other)] = top(number)
            here.append(number)
        above = here
    members: dict[int, list[int]] = {}
    for number in range(len(runs)):
        members.setdefault(top(number), []).append(number)
    patches = []
    for numbers in members.values():
        if sum(runs[n][2] - runs[n][1] for n in numbers) >= LEAST_PX:
            rows = [
                np.column_stack([np.full(e - s, line), np.arange(s, e)]) for line, s, e in (runs[n] for n in numbers)
            ]
            patches.append(np.concatenate(rows))
    return patches


def _four_corners(pixels: np.ndarray) -> np.ndarray | None:
    """Corners (4, 2) as u, v, clockwise, of the quadrilateral around a patch; None if the patch is none."""
    lines = pixels[:, 0]
    low, high = int(lines.min()), int(lines.max())
    if high - low < 5:
        return None
    first = np.full(high - low + 1, np.inf)
    last = np.full(high - low + 1, -np.inf)
    np.minimum.at(first, lines - low, pixels[:, 1] - 0.5)
    np.maximum.at(last, lines - low, pixels[:, 1] + 0.5)
    rows = np.arange(low, high + 1, dtype=float)
    rim = np.concatenate([np.column_stack([first, rows]), np.column_stack([last, rows])])
    apart = ((rim[:, None] - rim[None]) ** 2).sum(axis=2)
    i, k = np.unravel_index(int(np.argmax(apart)), apart.shape)  # the longer diagonal
    along = rim[k] - rim[i]
    side = along[0] * (rim - rim[i])[:, 1] - along[1] * (rim - rim[i])[:, 0]
    j, m = int(np.argmax(side)), int(np.argmin(side))
    if not (side[j] > 0 > side[m]):
        return None
    corners = np.array([rim[i], rim[m], rim[k], rim[j]])
    area = abs(side[j] - side[m]) / 2
    # a patch with less area than a marker's frame, or more than its hull, is no marker
    if not 0.5 < len(pixels) / area < 1.15:
        return None
    return corners


def _read(grey: np.ndarray, corners: np.ndarray) -> Found | None:
    """The marker within four corners; None if its frame, orientation corners or contrast are wrong."""
    size = CELLS - 2
    square = np.array([[0.0, 0.0], [size, 0.0], [size, size], [0.0, size]])
    try:
        plane = _perspective(square, corners)
    except np.linalg.LinAlgError:
        return None
    middle = np.stack(np.meshgrid(np.arange(size) + 0.5, np.arange(size) + 0.5), -1).reshape(-1, 2)
    seen = np.column_stack([middle, np.ones(len(middle))]) @ plane.T
    places = np.round(seen[:, :2] / seen[:, 2:]).astype(int)
    if (places < 0).any() or (places >= (grey.shape[1], grey.shape[0])).any():
        return None
    values = grey[places[:, 1], places[:, 0]].reshape(size, size)
    level = (values.min() + values.max()) / 2
    if values.max() - values.min() < 30:
        return None
    cells = (values > level).astype(int)
    if cells[0].any() or cells[-1].any() or cells[:, 0].any() or cells[:, -1].any():
        return None
    for turn in range(4):
        turned = np.rot90(cells, turn)
        if [int(turned[row - 1, column - 1]) for row, column in CORNERS] == [0, 1, 1, 1]:
            number = sum(int(turned[row - 1, column - 1]) << bit for bit, (row, column) in enumerate(BITS))
            return Found(number, np.roll(corners, -turn, axis=0))
    return None


def _perspective(square: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """The matrix (3, 3) that maps four points of a plane to the image."""
    rows, right = [], []
    for (x, y), (u, v) in zip(square, corners, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    return np.append(np.linalg.solve(np.array(rows), np.array(right)), 1.0).reshape(3, 3)
