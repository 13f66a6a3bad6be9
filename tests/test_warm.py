"""The server that forks the processes of tests."""

from multiprocessing import get_all_start_methods, get_context
from pathlib import Path

import pytest
from support import warm


@pytest.mark.skipif("fork" not in get_all_start_methods() or not warm.CAN_FORK, reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork with threads of other tests
def test_a_forked_process_does_not_delete_the_socket_when_it_ends():
    process = get_context("fork").Process(target=int)
    path = Path(warm.address())
    process.start()
    process.join(300)
    assert process.exitcode == 0
    assert path.is_socket()
