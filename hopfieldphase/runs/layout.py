"""The sweeps of a grid in batches: one batch is one chunk of the store, written by one worker."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

MOST_BATCHES = 4096
"""Most batches that a store is divided into: every one is a file for each variable."""

LEAST_BATCHES = 64
"""Where there are as many sweeps, this many batches at least share the work evenly among workers."""


@dataclass(frozen=True)
class Layout:
    """A grid of sweeps in rectangular batches.

    Attributes
    ----------
    shape : tuple of int
        Number of values along each axis of the grid.
    batch : tuple of int
        Number of them in one batch, along each axis; at the end of an axis there may be fewer.
    """

    shape: tuple[int, ...]
    batch: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of batches along each axis."""
        return tuple(-(-n // size) for n, size in zip(self.shape, self.batch, strict=True))

    @property
    def batches(self) -> int:
        """Number of batches."""
        return math.prod(self.counts)

    @property
    def tasks(self) -> int:
        """Number of sweeps."""
        return math.prod(self.shape)

    def place(self, number: int) -> tuple[int, ...]:
        """Where a batch stands among the others, along each axis."""
        return _unravel(number, self.counts)

    def number(self, place: tuple[int, ...]) -> int:
        """The number of the batch at a place."""
        found = 0
        for index, count in zip(place, self.counts, strict=True):
            found = found * count + index
        return found

    def region(self, number: int) -> tuple[slice, ...]:
        """The part of the grid that a batch covers."""
        spans = zip(self.place(number), self.batch, self.shape, strict=True)
        return tuple(slice(i * size, min((i + 1) * size, n)) for i, size, n in spans)

    def size(self, number: int) -> int:
        """Number of sweeps in a batch."""
        return math.prod(part.stop - part.start for part in self.region(number))

    def members(self, number: int) -> Iterator[tuple[int, ...]]:
        """The places of the sweeps of a batch in the grid; the last axis runs fastest."""
        region = self.region(number)
        extent = tuple(part.stop - part.start for part in region)
        for i in range(math.prod(extent)):
            inner = _unravel(i, extent)
            yield tuple(part.start + j for part, j in zip(region, inner, strict=True))


def plan(shape: tuple[int, ...], wanted: int) -> Layout:
    """Divide a grid into batches of about `wanted` sweeps, neither too few nor too many of them.

    Whole trailing axes come first, so that a batch is a block of neighbouring sweeps.
    """
    tasks = math.prod(shape)
    size = max(min(wanted, -(-tasks // LEAST_BATCHES)), -(-tasks // MOST_BATCHES), 1)
    batch: list[int] = []
    for n in reversed(shape):
        parts = -(-n // min(n, size))
        extent = -(-n // parts)
        batch.append(extent)
        size = max(size // extent, 1) if extent == n else 1
    return Layout(shape, tuple(reversed(batch)))


def _unravel(number: int, counts: tuple[int, ...]) -> tuple[int, ...]:
    place: list[int] = []
    for count in reversed(counts):
        number, index = divmod(number, count)
        place.append(index)
    return tuple(reversed(place))
