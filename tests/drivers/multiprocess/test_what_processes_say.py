"""Output of processes that is not a message: exceptions, prints, garbage, forged senders."""

import io
import os

import pytest
from support.outcomes import assert_equal

from secfc.drivers.calls import framing, pipes
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess
from secfc.errors import (
    TooManyFaultsError,
)

pytestmark = pytest.mark.processes


SECRET = 123456.789


def test_a_party_that_ends_before_it_is_introduced_is_named_with_its_exit_status(setup_of, sabotage):
    sabotage(2, "raise SystemExit(3)")
    text = r"; the last: parties\[1\]: its process ended without a result \(exit status 3\)$"
    with pytest.raises(TooManyFaultsError, match=text):
        run_multiprocess(setup_of())


def test_an_unexpected_exception_is_told_by_type_and_place_but_not_its_text(setup_of, sabotage, capfd):
    code = f"""
        from secfc.protocol.client import Client

        def broken(self, plan):
            raise ValueError("a row is {SECRET}")

        Client._join = broken
    """
    sabotage(2, code)
    with pytest.raises(TooManyFaultsError) as caught:
        run_multiprocess(setup_of())
    assert str(caught.value).endswith("; the last: parties[1]: ValueError at <string>:5 in broken")
    assert "123456" not in "".join(capfd.readouterr())


def test_the_place_of_an_exception_in_secfc_is_a_path_in_the_package(setup_of, sabotage):
    sabotage(3, "from secfc.sharing import codewords\ncodewords.quantise = None")
    text = r"; the last: parties\[2\]: TypeError at secfc/sharing/codewords\.py:\d+ in \w+$"
    with pytest.raises(TooManyFaultsError, match=text):
        run_multiprocess(setup_of())


def test_what_a_library_prints_does_not_break_the_frames(setup_of, sabotage, capfd):
    code = """
        from secfc.protocol.client import Client
        real = Client._join

        def noisy(self, plan):
            print("a library says hello", flush=True)
            return real(self, plan)

        Client._join = noisy
    """
    sabotage(1, code)
    assert_equal(run_multiprocess(setup_of()), run_in_process(setup_of()))
    assert "a library says hello" in capfd.readouterr().err


@pytest.mark.parametrize("text", ["no frame at all", "Just a library's text", "Message of a library"])
def test_output_that_is_no_frame_ends_the_run_and_names_the_party(setup_of, sabotage, monkeypatch, text):
    monkeypatch.setattr(pipes, "GRACE_SECONDS", 0.5)
    sabotage(1, f"print({text!r}, flush=True)")
    with pytest.raises(TooManyFaultsError, match=r"; the last: parties\[0\]: its output"):
        run_multiprocess(setup_of())


@pytest.mark.parametrize("output", [b"A library's text", b"A" + b"\xff" * 8])
def test_output_that_begins_as_an_array_frame_of_any_size_is_no_frame(output):
    # In the reading thread any error but EOFError is lost, and with it the event that ends the run, which
    # hangs.
    reader, writer = os.pipe()
    os.write(writer, output)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream, pytest.raises(EOFError):
        framing.read_frame(stream)


def test_a_client_that_announces_an_answer_larger_than_any_is_lost(setup_of, sabotage):
    """Nothing follows the head of the frame, so a reader that waited for it would never stop."""
    code = """
        import struct, sys, time
        sys.stdout.buffer.write(struct.pack("<cQ", b"R", 1 << 30))
        sys.stdout.buffer.flush()
        time.sleep(600)
    """
    sabotage(1, code)
    with pytest.raises(TooManyFaultsError, match=r"; the last: parties\[0\]: .*an oversized frame"):
        run_multiprocess(setup_of())


@pytest.mark.parametrize("frame", [b"J1", b"Jnull", b"APK\x03\x04 no archive", b'J{"error": 1}'])
def test_a_frame_whose_content_is_not_ours_ends_the_run_and_does_not_hang_it(setup_of, sabotage, frame):
    code = f"""
        from secfc.drivers.calls import framing
        real = framing.write_frame

        def write_frame(stream, kind, payload):
            if kind == framing.ANSWER:
                kind, payload = {frame[:1]}, {frame[1:]}
            real(stream, kind, payload)

        framing.write_frame = write_frame
    """
    sabotage(1, code)
    with pytest.raises(TooManyFaultsError, match=r"; the last: parties\[0\]: "):
        run_multiprocess(setup_of())


@pytest.mark.parametrize("value", [[], [{}], "x", 1, None, True])
def test_a_frame_that_is_no_json_object_is_an_error_also_without_asserts(value):
    stream = io.BytesIO()
    framing.write_json(stream, value)
    stream.seek(0)
    with pytest.raises(framing.NoFrameError, match="not a JSON object"):
        framing.read_json(stream)
