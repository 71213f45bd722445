"""Blocks with one BLAS thread may overlap in several threads."""

from threadpoolctl import threadpool_info, threadpool_limits

from postil.threads import one_blas_thread


def cores():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_the_first_block_sets_the_limit_and_the_last_gives_the_cores_back():
    with threadpool_limits(2, user_api="blas"):
        before = cores()
        one, other = one_blas_thread(), one_blas_thread()
        one.__enter__()
        other.__enter__()
        assert cores() == {1}
        one.__exit__(None, None, None)  # not in the order of a stack, as with threads
        assert cores() == {1}
        other.__exit__(None, None, None)
        assert cores() == before
