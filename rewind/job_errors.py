"""Errors of simulation jobs."""

from gateway import budgets
from jsonrpc.errors import InvalidParams, RpcError


class BadJob(InvalidParams):
    """A job that says too little, or two things at once; the text says which."""

    reason = "bad_job"

    def __init__(self, text: str, at: str) -> None:
        super().__init__(f"Invalid params: {text}", at=at)


class ReferenceTaken(InvalidParams):
    """The key has another job of that `clientReference`, which asks for something else."""

    reason = "client_reference_taken"

    def __init__(self, job_id: str) -> None:
        super().__init__("Invalid params: another job has this `clientReference`", jobId=job_id)


class TooManySimulations(InvalidParams):
    """The job asks for more simulations than a job of the key's tier may have."""

    reason = "too_many_simulations"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"The job asks for {found} simulations; a job may have {maximum}",
            found=found,
            maximum=maximum,
        )


class TooManyJobs(RpcError):
    """The key has as many open jobs as its tier lets it have: wait for one, or cancel it."""

    code = -32005
    reason = "too_many_jobs"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"This key has {found} open jobs; it may have {maximum}",
            data={"found": found, "maximum": maximum},
        )


class JobNotFound(InvalidParams):
    """The key has no job of that id. Jobs are forgotten some weeks after their results."""

    reason = "job_not_found"

    def __init__(self, job_id: str) -> None:
        super().__init__("No such job", jobId=job_id[:64])


class ResultsExpired(InvalidParams):
    """The job's results are deleted: submit it again."""

    reason = "results_expired"

    def __init__(self, expired_at: int) -> None:
        super().__init__("The results of this job are deleted", expiredAt=expired_at)


class SimulationLost(RpcError):
    """The workers ended each time that they were at this simulation."""

    reason = "simulation_lost"

    def __init__(self) -> None:
        super().__init__("The simulation could not be finished")


class AnswerTooLarge(budgets.AnswerTooLarge):
    """The simulation's answer is larger than an answer may be: ask for fewer accounts."""

    code = -32602

    def __init__(self, found: int, maximum: int) -> None:
        RpcError.__init__(
            self,
            f"The answer takes {found} bytes; an answer may have {maximum}",
            data={"found": found, "maximum": maximum},
        )
