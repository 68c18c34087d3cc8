"""Files that appear whole or not at all.

What is written goes to `.NAME.RANDOM.tmp` in the same folder, is forced to disk, and takes its name in one
step. Pipes and devices (`/dev/null`, `>(…)`, standard output as `-`) cannot be renamed: they take the bytes at once.
"""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from neardup.errors import OutputError
from neardup.exports.names import STDOUT, is_stream
from neardup.pulse import Pulse, unwatched

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

BLOCK = 1 << 20


class WholeFile(io.RawIOBase):
    """The bytes of one output; `size` and, where it is to be `hashed`, `sha256` are of what lies on disk in the end.

    `mode` is cut by the umask, as for any new file. `pulse(0)` is called at every block, so that an export can be
    stopped. Raises OutputError naming `path`; for standard output BrokenPipeError passes.
    """

    def __init__(
        self, path: str, mode: int = 0o600, pulse: Pulse = unwatched, *, hashed: bool = False
    ) -> None:
        super().__init__()
        self.path, self.mode, self.pulse = path, mode, pulse
        self.size = 0
        self._hash = hashlib.sha256() if hashed else None  # half as long again as all else of a plain copy
        # Through a symbolic link to its target: the link stays a link.
        self._final = None if is_stream(path) else Path(os.path.realpath(path))
        if self._final is not None and self._final.exists():
            self.mode &= 0o600 | stat.S_IMODE(self._final.stat().st_mode)  # what was private stays so
        self._temporary: Path | None = None
        self._file = self._opened()

    def _opened(self) -> BinaryIO:
        if self.path == STDOUT:
            return sys.stdout.buffer
        try:
            if self._final is None:
                return Path(self.path).open("wb")
            # The name may already be as long as a name can be.
            temporary = self._final.with_name(f".{self._final.name[:200]}.{secrets.token_hex(4)}.tmp")
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self.mode)
            self._temporary = temporary
            return os.fdopen(handle, "wb")
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> OutputError:
        return OutputError(f"{self.path} could not be written: {error.strerror or error}")

    @property
    def sha256(self) -> str | None:
        return self._hash.hexdigest() if self._hash else None

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size

    def write(self, block: ReadableBuffer, /) -> int:
        self.pulse(0)
        view = memoryview(block).cast("B")
        try:
            self._file.write(view)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._failed(error) from error
        if self._hash:
            self._hash.update(view)
        self.size += len(view)
        return len(view)

    def finish(self) -> None:
        """All bytes are on disk, under the temporary name."""
        try:
            self._file.flush()
            if self._temporary is not None:
                os.fsync(self._file.fileno())
            if self.path != STDOUT:
                self._file.close()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._failed(error) from error

    def appear(self) -> None:
        """Take the name, in one step."""
        if self._temporary is None or self._final is None:
            return
        try:
            os.replace(self._temporary, self._final)  # the name people look for beside fsync
        except OSError as error:
            raise self._failed(error) from error
        self._temporary = None

    def discard(self) -> None:
        """Leave nothing behind; after `appear` it does nothing."""
        if self._temporary is None:
            return
        with suppress(OSError):
            self._file.close()
        self._temporary.unlink(missing_ok=True)
        self._temporary = None
