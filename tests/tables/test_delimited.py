"""Large text files are read in pieces, and nobody can tell."""

import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discriminant.errors import InputError
from discriminant.tables import delimited, open_table
from discriminant.tables.delimited import DelimitedReader
from discriminant.tables.layouts import common_type

PIECE = 2000
LINES = "line\n" * 9


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(delimited, "PART_BYTES", PIECE)
    monkeypatch.setattr(delimited, "MIN_PART_ROWS", 1)


@pytest.fixture
def count(monkeypatch):
    """How many pieces were parsed."""
    parsed = []
    one = DelimitedReader._parsed

    def counted(self, *given):
        parsed.append(len(given[0]))
        return one(self, *given)

    monkeypatch.setattr(DelimitedReader, "_parsed", counted)
    return parsed


def written(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def as_whole(path, monkeypatch, **given):
    with monkeypatch.context() as patched:
        patched.setattr(delimited, "PART_BYTES", 1 << 26)
        return open_table(path, **given).read()


def numbers(n=2000):
    return "".join(f"{i * 0.37:.6f},{i % 7},{'abc'[i % 3]}\n" for i in range(n))


def same(found, expected):
    assert found.schema.names == expected.schema.names
    assert [str(kind) for kind in found.schema.types] == [str(kind) for kind in expected.schema.types]
    assert found.to_pylist() == expected.to_pylist()


def test_the_pieces_are_the_whole(tmp_path, monkeypatch, count):
    path = written(tmp_path, "x,k,c\n" + numbers())
    found = open_table(path).read()
    assert len(count) > 10
    same(found, as_whole(path, monkeypatch))


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffx,k,c\n" + numbers(),
        "\n\nx,k,c\n" + numbers(),
        ("x,k,c\n" + numbers()).replace("\n", "\r\n"),
        "x,k,c\n" + numbers().rstrip("\n"),
        "x,k,c\n" + numbers().replace(",", ", "),
        "x;k;c\n" + numbers().replace(",", ";").replace(".", ","),
        "x,k,c\n" + numbers().replace(",3,", ",NA,").replace(",b\n", ",\n"),
        "x,k,c\n" + numbers(900) + "1.5,0.25,a\n" + numbers(900),
        "x,k,c\n" + numbers(900) + "1.5,none yet,a\n" + numbers(900),
        "x,k,c\n" + ",,\n" * 2000 + numbers(900),
        "x,k,c\n" + numbers(900) + ",,\n" * 2000,
        "x,k,c\n" + numbers(900) + '1,2,"a\nb"\n' + numbers(900),
        "x,k,c\n" + numbers(900) + '1,2,"say ""a"""\n' + numbers(900),
        "x,k,c\n" + numbers(900) + '1,2,5" pipe\n' + numbers(900),
        "x,k,c\n" + "".join(f'{i},{i % 7},"{LINES}{i}"\n' for i in range(300)),
        "x,k,c\n" + "".join(f"{i},{i % 7},{i * 7919 % 5000 if i > 1000 else i % 4}w\n" for i in range(5000)),
        "x,k,c\n" + numbers(900) + "1,2,Z\u00fcrich\n" + numbers(900),
        ("x,k,c\n" + numbers(900) + "1,2,Z\u00fcrich\n" + numbers(900)).encode("latin-1"),
        ("x,k,c\n" + numbers(900)).encode("utf-16"),
        "x,k,c\n" + numbers(900) + f"1,2,{'w' * 5 * PIECE}\n" + numbers(900),
        "x,k,c\n" + numbers(900) + "2020-01-01,2,a\n" + numbers(900),
    ],
    ids=[
        "mark",
        "blank lines",
        "carriage returns",
        "no last line end",
        "spaces",
        "decimal comma",
        "missing",
        "late decimal",
        "late word",
        "late values",
        "late gaps",
        "line break in quotes",
        "doubled quotes",
        "stray quote",
        "many line breaks",
        "many levels",
        "other letters",
        "latin-1",
        "utf-16",
        "long line",
        "late date",
    ],
)
def test_odd_files_are_read_as_ever(tmp_path, monkeypatch, text):
    path = written(tmp_path, text)
    whole = as_whole(path, monkeypatch)
    found = open_table(path).read()
    assert found.num_rows == whole.num_rows
    assert found.to_pylist() == whole.to_pylist()
    streamed = [row for batch in open_table(path).batches(777) for row in batch.to_pylist()]
    assert len(streamed) == whole.num_rows
    declared = dict.fromkeys(whole.schema.names, "category")
    streamed = [row for batch in open_table(path, types=declared).batches(777) for row in batch.to_pylist()]
    assert streamed == as_whole(path, monkeypatch, types=declared).to_pylist()


def test_ragged_lines_are_named_as_ever(tmp_path):
    path = written(tmp_path, "x,k,c\n" + numbers(900) + "1,2\n" + numbers(900))
    with pytest.raises(InputError, match=r"Line 902 of .*table\.csv .* 2 .* 3"):
        open_table(path).read()


@settings(max_examples=60, deadline=None)
@given(
    cells=st.lists(
        st.sampled_from(["1", "2.5", "", "NA", "-3e4", "007", "word", '"a,b"', '"two\nlines"', "true", "9" * 17]),
        min_size=1,
        max_size=5,
    ),
    where=st.lists(st.integers(0, 400), min_size=1, max_size=4),
)
def test_cells_anywhere(tmp_path_factory, cells, where):
    lines = [f"{i},{i / 4}" for i in range(400)]
    for cell, line in zip(cells, where, strict=False):
        lines[min(line, 399)] = f"{line},{cell}"
    path = written(tmp_path_factory.mktemp("cells"), "a,b\n" + "\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(delimited, "PART_BYTES", 300)
        same(open_table(path).read(), as_whole(path, patched))


def test_batches_keep_the_types_of_the_first_piece(tmp_path, count):
    path = written(tmp_path, "x,k,c\n" + numbers(3000))
    table = open_table(path)
    batches = list(table.batches(500))
    assert len(count) > 10
    assert len({str(batch.schema.types) for batch in batches}) == 1
    assert table.n_rows == 3000


def test_a_stream_that_is_left_early_ends_its_threads(tmp_path):
    import threading

    path = written(tmp_path, "x,k,c\n" + numbers(5000))
    before = threading.active_count()
    batches = open_table(path).batches(100)
    next(batches)
    batches.close()
    assert threading.active_count() <= before + 1


def test_a_file_that_is_gone_cannot_be_read(tmp_path):
    path = written(tmp_path, "x,k,c\n" + numbers(3000))
    table = open_table(path)
    path.unlink()
    for read in (table.read, lambda: list(table.batches())):
        with pytest.raises(InputError):
            read()


@pytest.mark.parametrize("quote", ['"', None])
def test_pieces_cover_the_file_line_by_line(tmp_path, quote):
    text = "a\n" + "".join("x" * (i % 5000) + "\n" for i in range(0, 90000, 997))
    table = open_table(written(tmp_path, text), quote=quote)
    found = list(table._texts())
    assert b"".join(found) == text.encode()
    assert len(found) > 10
    assert all(part.endswith(b"\n") for part in found)


@pytest.mark.parametrize("shift", range(0, 40, 7))
def test_pieces_never_end_within_quotes(tmp_path, shift):
    """Stray quotes that come in no pairs do not mislead where lines end."""
    lines = [f'{i},5" pipe' if i % 3 else f'{i},"one,\n{i},""two"""' for i in range(500)]
    text = "a,b\n" + "x" * shift + "1,2\n" + "\n".join(lines) + "\n"
    found = open_table(written(tmp_path, text)).read()["b"].to_pylist()[1:]
    assert found == ['5" pipe' if i % 3 else f'one,\n{i},"two"' for i in range(500)]


def test_lines_that_end_with_carriage_returns_alone(tmp_path, monkeypatch, count):
    path = written(tmp_path, ("x,k,c\n" + numbers(3000)).replace("\n", "\r"))
    expected = as_whole(path, monkeypatch)
    assert expected.num_rows == 3000
    count.clear()
    same(open_table(path).read(), expected)
    same(pa.concat_tables(open_table(path).batches()), expected)
    assert len(count) > 10


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (pa.null(), pa.int64(), pa.int64()),
        (pa.int64(), pa.float64(), pa.float64()),
        (pa.decimal128(38, 0), pa.int64(), pa.decimal128(38, 0)),
        (pa.decimal128(38, 0), pa.float64(), pa.float64()),
        (pa.null(), pa.date32(), pa.date32()),
        (pa.int64(), pa.string(), pa.string()),
        (pa.bool_(), pa.int64(), pa.string()),
        (pa.date32(), pa.int64(), pa.string()),
    ],
    ids=str,
)
def test_the_type_that_holds_two(first, second, both):
    assert common_type(first, second) == common_type(second, first) == both


def test_large_matrices_live_in_pages_of_the_usual_size(monkeypatch):
    from discriminant.tables import layouts, read_training

    monkeypatch.setattr(layouts, "MIN_ARROW_BUFFER_BYTES", 1)
    text = b"x,z,y\n" + b"".join(b"%d,%d,%d\n" % (i * i % 11, i, i % 2) for i in range(40))
    X = read_training(open_table(io.BytesIO(text)), "y").X
    assert X.flags.c_contiguous
    assert X.flags.writeable
    np.testing.assert_array_equal(X[:, 0], np.arange(40) ** 2 % 11)
