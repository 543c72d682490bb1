# SPDX-License-Identifier: MIT
"""Who hears how far a call has come: a function, or a bar of tqdm."""
from ._library import BadArgument


def _on_bar(bar):
    """tqdm's bar shows one stage after the other."""
    def report(what, done, total):
        if bar.desc != what or bar.total != total:
            bar.reset(total)
            bar.set_description(what, refresh=False)
        bar.update(done - bar.n)

    return report


def reporter(progress):
    """progress(what, done, total), or None."""
    if progress is None or progress is False:
        return None
    if progress is True:
        from tqdm.auto import tqdm
        progress = tqdm()
    if hasattr(progress, "set_description") and hasattr(progress, "reset"):
        return _on_bar(progress)
    if not callable(progress):
        raise BadArgument(f"progress={progress!r}: give a function of stage, done and total, a bar of tqdm, or True", 6)
    return progress
