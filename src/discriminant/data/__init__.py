"""Validated inputs: labels, weights, rows, and training data in memory or streamed from disk."""

from .blocks import (
    Block,
    consecutive_runs,
    dense_parts,
    dense_rows,
    fold_of_rows,
    is_sparse,
    largest_of_columns,
    random_words,
    rows_of_width,
    stratified_subsample,
)
from .checks import (
    check_choice,
    check_integer,
    check_number,
    check_shapes,
    check_types,
    check_weights,
    has_fractions,
    require,
)
from .labels import (
    check_order,
    class_order,
    codes_among,
    declared_order,
    encode_labels,
    encoded,
    exact_array,
    is_missing,
    is_single,
    label_array,
    label_column,
    ordered,
    position_of,
    same_length,
    sorted_classes,
    unknown_label,
    without_repeats,
)
from .mixed import DISTRIBUTIONS, MixedBlock, MixedRows, MixedView, as_table, column_distributions
from .rows import (
    AnyRows,
    DenseRows,
    Rows,
    SparseRows,
    StreamedRows,
    array_from,
    as_frame,
    as_rows,
    csr_of_floats,
    is_collection,
    is_dask,
    is_rows,
    is_spark,
    is_streamed,
    raise_nonfinite,
    two_valued,
)
from .training import LabelledRows, TrainingData, labelled_rows, training_data, with_offset
