"""Errors of simulation jobs."""

from gateway import budgets
from jsonrpc.errors import InvalidParams, RpcError


class BadJob(InvalidParams):
    """The job is incomplete or ambiguous; the message says why."""

    reason = "bad_job"

    def __init__(self, text: str, at: str) -> None:
        super().__init__(f"Invalid params: {text}", at=at)


class ReferenceTaken(InvalidParams):
    """The key has a different job with this `clientReference`."""

    reason = "client_reference_taken"

    def __init__(self, job_id: str) -> None:
        super().__init__("Invalid params: another job has this `clientReference`", jobId=job_id)


class TooManySimulations(InvalidParams):
    """The job requests more simulations than the key's tier allows."""

    reason = "too_many_simulations"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"The job requests {found} simulations; the maximum is {maximum}",
            found=found,
            maximum=maximum,
        )


class TooManyJobs(RpcError):
    """The key has as many open jobs as its tier allows: wait for one, or cancel it."""

    code = -32005
    reason = "too_many_jobs"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"This key has {found} open jobs; the maximum is {maximum}",
            data={"found": found, "maximum": maximum},
        )


class JobNotFound(InvalidParams):
    """The key has no job with this id. Jobs are deleted some weeks after their results."""

    reason = "job_not_found"

    def __init__(self, job_id: str) -> None:
        super().__init__("No such job", jobId=job_id[:64])


class ResultsExpired(InvalidParams):
    """The job's results were deleted: submit it again."""

    reason = "results_expired"

    def __init__(self, expired_at: int) -> None:
        super().__init__("The results of this job were deleted", expiredAt=expired_at)


class SimulationLost(RpcError):
    """The simulation crashed its worker process every time."""

    reason = "simulation_lost"
    text = "The simulation crashed its worker"


class AnswerTooLarge(budgets.AnswerTooLarge):
    """The simulation's result is larger than a response may be: request fewer accounts."""

    code = -32602

    def __init__(self, found: int, maximum: int) -> None:
        RpcError.__init__(
            self,
            f"The response has {found} bytes; the maximum is {maximum}",
            data={"found": found, "maximum": maximum},
        )
