"""Large text files are read in pieces, and nobody can tell."""

import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discriminant.errors import InputError
from discriminant.tables import delimited, open_table
from discriminant.tables.delimited import CannotSplit, FileChunks, joined

PIECE = 2000
LINES = "line\n" * 9


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(delimited, "_CHUNK_BYTES", PIECE)
    monkeypatch.setattr(delimited, "_LOOK_BYTES", 16)


@pytest.fixture
def count(monkeypatch):
    """How many pieces were parsed."""
    parsed = []
    one = FileChunks._one

    def counted(self, *given):
        parsed.append(given[1])
        return one(self, *given)

    monkeypatch.setattr(FileChunks, "_one", counted)
    return parsed


def written(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def as_whole(path, monkeypatch, **given):
    with monkeypatch.context() as patched:
        patched.setattr(FileChunks, "worthwhile", False)
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


def test_ragged_lines_are_named_and_counted_as_ever(tmp_path):
    path = written(tmp_path, "x,k,c\n" + numbers(900) + "1,2\n" + numbers(900))
    with pytest.raises(InputError, match=r"Line 902 of .*table\.csv has 2 values, expected 3"):
        open_table(path).read()
    for quoted in ("", '1,2,"a"\n'):
        path = written(tmp_path, "x,k,c\n" + quoted + numbers(900) + "1,2\n1\n" + numbers(900))
        table = open_table(path, on_ragged="skip")
        assert table.read().num_rows == 1800 + bool(quoted)
        assert table.skipped == 2
        assert table.read().num_rows == 1800 + bool(quoted)
        assert table.skipped == 2
        assert sum(batch.num_rows for batch in table.batches()) == 1800 + bool(quoted)
        assert table.skipped == 2


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
        patched.setattr(delimited, "_CHUNK_BYTES", 300)
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


def test_a_file_cut_short_meanwhile(tmp_path, monkeypatch):
    path = written(tmp_path, "x,k,c\n" + numbers(3000))
    table = open_table(path)
    borders = FileChunks._borders

    def cut(self, file):
        found = borders(self, file)
        path.write_bytes(path.read_bytes()[:PIECE])
        return found

    monkeypatch.setattr(FileChunks, "_borders", cut)
    with pytest.raises(InputError, match=r"expected 3|cannot be read"):
        table.read()


def test_a_file_that_is_gone_or_cannot_be_read(tmp_path, monkeypatch):
    path = written(tmp_path, "x,k,c\n" + numbers(3000))
    table = open_table(path)

    def broken(*_):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr("os.preadv", broken)
        assert table.read().num_rows == 3000
        assert sum(batch.num_rows for batch in table.batches()) == 3000
    path.unlink()
    for read in (table.read, lambda: list(table.batches())):
        with pytest.raises(InputError, match="cannot be read"):
            read()


def test_threads_that_may_not_lower_priority_work_all_the_same(tmp_path, monkeypatch, count):
    def refused(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.setpriority", refused)
    assert open_table(written(tmp_path, "x,k,c\n" + numbers(3000))).read().num_rows == 3000
    assert len(count) > 10


def test_pieces_cover_the_file_line_by_line(tmp_path):
    text = "a\n" + "".join("x" * (i % 5000) + "\n" for i in range(0, 90000, 997))
    path = written(tmp_path, text)
    found = list(FileChunks(path, None).parsed(lambda part, first: (part.read(), first)))
    assert b"".join(bytes(part) for part, _ in found) == text.encode()
    assert [first for _, first in found] == [True] + [False] * (len(found) - 1)
    assert all(part.endswith(b"\n") for part, _ in found)


def test_lines_that_end_otherwise_are_left_to_arrow(tmp_path, monkeypatch, count):
    """A file without line feeds would be one piece, as large as the file."""
    monkeypatch.setattr(delimited, "_LINE_BYTES", 4000)
    path = written(tmp_path, ("x,k,c\n" + numbers(3000)).replace("\n", "\r"))
    with pytest.raises(CannotSplit, match="no line ends"):
        list(FileChunks(path, None).parsed(lambda part, first: part))
    expected = as_whole(path, monkeypatch)
    same(open_table(path).read(), expected)
    same(pa.concat_tables(open_table(path).batches()), expected)
    assert not count


def test_joined_types():
    def table(values, kind=None):
        return pa.table({"v": pa.array(values, type=kind)})

    assert joined([table([None]), table([1]), table([2.5])])["v"].to_pylist() == [None, 1.0, 2.5]
    coded = pa.table({"v": pa.array(["b", "c"]).dictionary_encode()})
    assert joined([coded, table(["a"])])["v"].to_pylist() == ["b", "c", "a"]
    with pytest.raises(CannotSplit, match="null and as string"):
        joined([table([None]), table(["a"])])
    with pytest.raises(CannotSplit, match="int64 and as string"):
        joined([table([1]), table(["a"])])
    with pytest.raises(CannotSplit, match="bool and as int64"):
        joined([table([True]), table([1])])


def test_large_matrices_live_in_pages_of_the_usual_size(monkeypatch):
    from discriminant.tables import read_training, sources

    monkeypatch.setattr(sources, "_LARGE_BYTES", 1)
    text = b"x,z,y\n" + b"".join(b"%d,%d,%d\n" % (i * i % 11, i, i % 2) for i in range(40))
    X = read_training(open_table(io.BytesIO(text)), "y").X
    assert X.flags.c_contiguous
    assert X.flags.writeable
    np.testing.assert_array_equal(X[:, 0], np.arange(40) ** 2 % 11)


def test_three_header_lines_of_orange_are_refused_by_name(tmp_path):
    path = tmp_path / "iris.tab"
    rows = ["5.1\tred\ta", "4.9\tblue\tb"] * 20
    path.write_text("\n".join(["length\tcolour\tiris", "continuous\tdiscrete\td", "\t\tclass", *rows]) + "\n")
    with pytest.raises(InputError, match="Orange"):
        open_table(path)
    path.write_text("\n".join(["length\tcolour\tiris", *rows]) + "\n")
    assert open_table(path).columns == ("length", "colour", "iris")
