# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, by kind; each text is one line: ``[operation] what: got this, expected that``.

Every class is a built-in exception as well, so that ``except ValueError`` goes on to work.
"""

from __future__ import annotations


class Error(Exception):
    """Any error of Nibble.

    >>> import nibble
    >>> try:
    ...     nibble.Format("e9m9x")
    ... except nibble.Error as error:
    ...     print(type(error).__name__, isinstance(error, ValueError))
    UsageError True
    """


class UsageError(Error, ValueError):
    """A call that cannot be: a wrong value or combination."""


class ArgumentTypeError(Error, TypeError):
    """An object or an element type that a function cannot take."""


class InputError(Error, ValueError):
    """A file, a text, a network or data is not what it should be."""


class LimitError(Error, ValueError):
    """More than limits or a format of files allow."""


class OutOfMemoryError(Error, MemoryError):
    """Too little memory."""


class PlatformError(Error, OSError):
    """The operating system, the network or the parts of this build refuse."""


class DeviceError(Error, RuntimeError):
    """A GPU refuses, or there is none."""


class StateError(Error, RuntimeError):
    """A device, a build or a state that cannot serve the call."""


class InternalError(Error, RuntimeError):
    """Nibble or a library below it contradicts itself."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped a run; its text says what was saved and how to go on."""
