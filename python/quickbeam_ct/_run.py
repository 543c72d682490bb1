# SPDX-License-Identifier: MIT
"""A long call: what it says on its way, how it is stopped, and the thread that it works in."""
import ctypes
import functools
import logging
import os
import queue
import signal
import sys
import threading
import warnings

from ._check import whole
from ._library import LOG, OK, PROGRESS, BadArgument, Env, QuickbeamWarning, byref, c_int, error_of, lib, logger
from ._progress import reporter


class _Talk:
    """An environment and what is heard through it. Callbacks come from the library's threads."""

    def __init__(self, threads, max_ram, device, max_vram, progress):
        if not isinstance(device, (str, type(None))):
            raise BadArgument(f"device={device!r}: give a text, as 'cuda:0'", 6)
        self.warned, self.failed, self.cancel = [], None, c_int(0)
        self.env = Env(struct_size=ctypes.sizeof(Env), threads=whole(threads, "threads", 0, (1 << 31) - 1), max_ram=whole(max_ram, "max_ram"),
                       device=device.encode() if device else None, max_vram=whole(max_vram, "max_vram"), cancel=ctypes.pointer(self.cancel))
        self.env.log = LOG(self._log)
        self.progress = reporter(progress)
        if self.progress:
            self.env.progress = PROGRESS(self._progress)

    def _log(self, _user, level, text):
        words = text.decode(errors="replace")
        if level == 2:
            self.warned.append(words)
        logger.log((logging.DEBUG, logging.INFO, logging.WARNING)[level], "%s", words)

    def _progress(self, _user, what, done, total):
        try:
            self.progress(what.decode(errors="replace"), done, total)
        except BaseException as error:  # ends the call, which raises it
            self.failed = error
            self.cancel.value = 1


def _callers():
    """How far up the caller of this package is, for warnings that name its line."""
    frame, level, here = sys._getframe(1), 1, os.path.dirname(__file__)
    while frame.f_back and os.path.dirname(frame.f_code.co_filename) == here:
        frame, level = frame.f_back, level + 1
    return level


def warn(words):
    warnings.warn(words, QuickbeamWarning, stacklevel=_callers())


class _Worker:
    """The thread that works while the main one waits. It is kept, since making one takes as long as a small slice."""

    def __init__(self):
        self.jobs, self.process = None, None

    def begin(self, work):
        """A lock that is free once work() is done. After a fork the parent's thread is gone."""
        if self.process != os.getpid():
            self.jobs, self.process = queue.SimpleQueue(), os.getpid()
            threading.Thread(target=self._serve, args=(self.jobs,), name="quickbeam", daemon=True).start()
        done = threading.Lock()
        done.acquire()
        self.jobs.put((work, done))
        return done

    @staticmethod
    def _serve(jobs):
        while True:
            work, done = jobs.get()
            try:
                work()
            finally:
                done.release()
                del work, done


_worker = _Worker()


@functools.cache
def _keep_memory():
    """glibc gives what a call frees back to the system, and each call begins with page faults, until a larger block has been freed."""
    import numpy
    numpy.empty(1 << 24, numpy.uint8)


def _here(work, cancel):
    """A short call in this thread, without the time that two threads take to wake each other. Ctrl-C is kept until it is over:
    raised in a callback of C it would be lost."""
    _keep_memory()
    usual, pressed = signal.getsignal(signal.SIGINT), []
    if not callable(usual):
        return work()

    def keep(*about):
        pressed.append(about)
        cancel.value = 1

    signal.signal(signal.SIGINT, keep)
    try:
        work()
    finally:
        signal.signal(signal.SIGINT, usual)
    if pressed:
        usual(*pressed[0])


def _elsewhere(work, cancel, outcome):
    """A long call in a thread of its own, so that Ctrl-C is heard at once: it stops the call."""
    done = _worker.begin(work)
    try:
        while not done.acquire(timeout=0.1):
            pass
    except BaseException:
        cancel.value = 1
        while "over" not in outcome:  # Ctrl-C may have come when the lock was taken already: it is not free a second time
            done.acquire(timeout=0.1)
        raise


def run(call, *arguments, threads=0, max_ram=0, device=None, max_vram=0, progress=None, after=(), environment=True, short=False):
    """A call of the library: its environment, if it has one, comes behind `arguments`, then `after`. Ctrl-C ends it, and
    KeyboardInterrupt goes on. short: it takes less than half a second."""
    talk, outcome = _Talk(threads, max_ram, device, max_vram, progress), {}

    def work():
        try:
            outcome["status"] = call(*arguments, *((byref(talk.env),) if environment else ()), *after)
            if outcome["status"] != OK:
                outcome["words"] = lib.qb_detail().decode(errors="replace")
        except BaseException as error:  # of ctypes: raised where it is waited for
            talk.failed = error
        outcome["over"] = True

    if threading.current_thread() is not threading.main_thread():
        work()
    elif short and progress is None:
        _here(work, talk.cancel)
    else:
        _elsewhere(work, talk.cancel, outcome)
    for words in dict.fromkeys(talk.warned):
        warn(words)
    if talk.failed is not None:
        raise talk.failed
    if outcome["status"] != OK:
        raise error_of(outcome["status"], outcome["words"])
