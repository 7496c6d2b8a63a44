"""What a job printed, as numbered rows: any screen of it can be had without reading the rest.

The index is a row number for every few hundred kilobytes. Making it reads the stream once; of a stream that only grows,
what is new. Nothing is kept of the output itself.
"""

from __future__ import annotations

from bisect import bisect_right

from unhang.core import rows
from unhang.core.record import Record
from unhang.jobs.results import pieces_of
from unhang.store.output import read_piece

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from unhang.jobs.handle import Job
    from unhang.store.output import OutputPiece

# Between two entries of the index; a row is found by reading at most so much.
_CHUNK = 1 << 18
# Of one answer.
MOST_ROWS = 2000
MOST_FOUND = 1000


class OutputRow(Record):
    """One row. `offset`: the position of its first byte in the stream. `left_out`: how many bytes it stands for."""

    offset: int
    text: str
    left_out: int = 0


class OutputRows:
    """The rows of one stream of a job. `refresh` before asking; not for sharing between threads."""

    def __init__(self, job: Job, stream: str) -> None:
        self._job = job
        self._stream = stream
        self._pieces: list[OutputPiece] = []
        self._index: list[
            tuple[int, int, int]
        ] = []  # row number, piece, position within the piece; -1: a gap before it
        self._whole = (0, 0)  # rows and bytes of the last piece that cannot change any more
        self.total = 0
        self.end = 0

    def refresh(self) -> None:
        """Look what there is now, and number what is new."""
        found = pieces_of(self._job, self._job.view(), self._stream)
        if found == self._pieces:
            return
        if len(found) == len(self._pieces) == 1 and found[0].replace(length=0) == self._pieces[0].replace(length=0):
            grown = found[0].length >= self._pieces[0].length
        else:
            grown = False
        if not grown:
            self._index, self._whole = [], (0, 0)
        self._pieces = found
        self.total, self.end = 0, 0
        for number, piece in enumerate(found):
            if number == len(found) - 1 and grown:
                self._number(number, piece, *self._whole)
            else:
                if piece.position > self.end:
                    self._index.append((self.total, number, -1))
                    self.total += 1
                self._number(number, piece, self.total, 0)
            self.end = piece.position + piece.length

    def _number(self, number: int, piece: OutputPiece, row: int, at: int) -> None:
        """Number the rows of a piece from a position where row number `row` begins."""
        while at < piece.length:
            data = read_piece(piece, at, _CHUNK)
            if not data:
                break
            last = at + len(data) >= piece.length
            whole = rows.length_of_rows(data)
            last_entry = self._index[-1] if self._index else (0, -1, 0)
            if last_entry[1] != number or last_entry[2] < 0 or at - last_entry[2] >= _CHUNK:
                self._index.append((row, number, at))
            self._whole = (row + rows.count(data[:whole]), at + whole)
            if last:
                row += rows.count(data)
                break
            row, at = self._whole
        self.total = row

    def read(self, first: int, count: int) -> list[OutputRow]:
        """Return rows from number `first` on."""
        found: list[OutputRow] = []
        for number, row in self._from(max(0, first)):
            if number >= first:
                found.append(row)
            if len(found) >= min(count, MOST_ROWS):
                break
        return found

    def row_at(self, offset: int) -> int:
        """Return the number of the row that holds this byte of the stream, or of the first one behind it."""
        places = [(self._pieces[piece].position + max(0, at), number) for number, piece, at in self._index]
        begin = bisect_right(places, (offset, 1 << 62)) - 1
        if begin < 0:
            return 0
        best = places[begin][1]
        for number, row in self._from(best):
            if row.offset > offset:
                break
            best = number
        return best

    def search(self, text: str, first: int = 0) -> list[int]:
        """Return the numbers of the rows that hold a text, in any case, from row `first` on; at most MOST_FOUND."""
        wanted = text.casefold()
        found: list[int] = []
        if not wanted:
            return found
        needle = text.encode().lower() if text.isascii() else b""
        for place in range(len(self._index)):
            begin, data = self._index[place][0], self._data(place)
            if needle and needle not in data.lower():
                continue  # most pieces of a long output: found out without looking at their rows
            for number, (_, row) in enumerate(rows.split(data), begin):
                if number >= first and wanted in rows.text_of_row(row).casefold():
                    found.append(number)
                    if len(found) >= MOST_FOUND:
                        return found
        return found

    def _from(self, first: int) -> Iterator[tuple[int, OutputRow]]:
        """Every row with its number, from one at or before `first` on."""
        at = max(0, bisect_right(self._index, (first, 1 << 62, 0)) - 1)
        for place in range(at, len(self._index)):
            number, piece, position = self._index[place]
            found = self._pieces[piece]
            if position < 0:
                before = self._pieces[piece - 1] if piece else None
                begin = before.position + before.length if before is not None else 0
                yield number, OutputRow(begin, "", found.position - begin)
                continue
            data = self._data(place)
            for each, (begin, row) in enumerate(rows.split(data), number):
                yield each, OutputRow(found.position + position + begin, rows.text_of_row(row))

    def _data(self, place: int) -> bytes:
        """The bytes from one entry of the index to the next; none for a gap."""
        _, number, position = self._index[place]
        if position < 0:
            return b""
        piece = self._pieces[number]
        behind = self._index[place + 1] if place + 1 < len(self._index) else None
        until = behind[2] if behind is not None and behind[1] == number and behind[2] >= 0 else piece.length
        return read_piece(piece, position, until - position)
