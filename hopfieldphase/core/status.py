"""How a search for a minimum ended; compiled code returns the integer of the same enum."""

from enum import IntEnum


class Status(IntEnum):
    """Outcome of a relaxation at one parameter value.

    The integer is what compiled kernels return and what datasets store (as a CF flag);
    `sentence` is what a person reads.
    """

    CONVERGED = 0
    BOUNDARY = 1
    SADDLE_NOT_ESCAPED = 2
    NO_PROGRESS = 3
    ITERATION_LIMIT = 4
    BAD_INPUT = 5
    LIMIT_CYCLE = 6

    @property
    def sentence(self) -> str:
        """What this status means, in one sentence."""
        return _SENTENCES[self]

    @property
    def is_minimum(self) -> bool:
        """Whether the state was verified to be a strict local minimum of the free energy."""
        return self is Status.CONVERGED


_SENTENCES = {
    Status.CONVERGED: "a verified minimum: stationary, positive curvature, no tie at the threshold",
    Status.BOUNDARY: "stationary with a pattern exactly at the threshold: a minimum or not is undecided",
    Status.SADDLE_NOT_ESCAPED: (
        "stationary without verified positive curvature, and no descent along the soft direction was found"
    ),
    Status.NO_PROGRESS: "the free energy no longer decreases, but the tolerance was not reached",
    Status.ITERATION_LIMIT: "stopped at the iteration limit before the tolerance was reached",
    Status.BAD_INPUT: "the start state or a parameter is not finite",
    Status.LIMIT_CYCLE: "the updates repeat a cycle of several states, no fixed point",
}
