# SPDX-License-Identifier: Apache-2.0
"""Engines that end while batches are on their way: each in a process of its own, which ends well."""

import subprocess
import sys

import pytest

BEGIN = """
import gc, sys, threading
import numpy as np
import nibble

engine = nibble.Engine(sys.argv[1], threads=1, lanes=int(sys.argv[2]))
x = np.zeros((50, 8, 8, 1), np.uint8)
expected = engine.run(x)
told, may_end = threading.Event(), threading.Event()

def submit(callback):
    future = nibble.engine.Pending()
    future.set_running_or_notify_cancel()
    future.add_done_callback(callback)
    engine.submit_into(x, future)
    return future
"""
END = """
pending = [engine.submit(x) for _ in range(20)]
del engine
may_end.set()
assert told.wait(60)
assert all(np.array_equal(each.result(60), expected) for each in pending)
print("ended")
"""
# A callback is all that keeps the engine: the batches behind it end first.
IN_A_CALLBACK = """
def end(future, kept=[engine]):
    may_end.wait()
    kept.clear()
    told.set()

submit(end)
del end
"""
# What a callback keeps goes after it has returned.
AFTER_A_CALLBACK = """
class Last:
    def __init__(self, engine):
        self.engine = engine
    def __del__(self):
        del self.engine
        told.set()

submit(lambda _, last=Last(engine): may_end.wait())
"""
# The garbage collector comes by on a thread of the engine's.
BY_THE_COLLECTOR = """
gc.disable()
engine.itself = engine

def collect(future):
    may_end.wait()
    gc.collect()
    told.set()

submit(collect)
"""


def said(script, *arguments):
    done = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("middle", [IN_A_CALLBACK, AFTER_A_CALLBACK, BY_THE_COLLECTOR], ids=["in", "after", "collector"])
def test_an_engine_may_end_on_a_thread_of_its_own(quantized_path, middle, lanes):
    assert said(BEGIN + middle + END, quantized_path, lanes) == "ended\n"


def test_python_ends_after_what_was_submitted(quantized_path):
    until_the_end = "submit(lambda future: threading.main_thread().join())\n"
    others = "for _ in range(20): submit(lambda future: print(len(future.result())))"
    assert said(BEGIN + until_the_end + others, quantized_path, 1) == 20 * "50\n"


def test_a_child_made_by_fork_ends_without_what_its_parent_submitted(quantized_path):
    fork = """
import os

submit(lambda future: may_end.wait())
child = os.fork()
if child == 0:
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
may_end.set()
"""
    assert said(BEGIN + fork, quantized_path, 1) == "3\n"
