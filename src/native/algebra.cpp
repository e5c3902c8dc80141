#include "algebra.hpp"

namespace discriminant {

const std::uint64_t no_bits = 0;

index cholesky(Matrix<double> matrix, double least) {
    const index q = matrix.shape[0];
    index held = 0;
    for (index j = 0; j < q; ++j) {
        double* const row = &matrix(j, 0);
        double pivot = row[j] - sum_over(j, [row](index k) { return row[k] * row[k]; });
        if (!(pivot > least * row[j])) {
            pivot = std::numeric_limits<double>::infinity();
            ++held;
        }
        row[j] = std::sqrt(pivot);
        for (index i = j + 1; i < q; ++i) {
            double* const other = &matrix(i, 0);
            const double product = sum_over(j, [row, other](index k) { return other[k] * row[k]; });
            other[j] = (other[j] - product) / row[j];
        }
    }
    return held;
}

void solve_factored(Matrix<const double> factor, Vector<const double> right, Vector<double> out) {
    const index q = right.size();
    for (index j = 0; j < q; ++j) {
        const double* const row = &factor(j, 0);
        const double product = sum_over(j, [row, found = out.data](index k) { return row[k] * found[k]; });
        out[j] = (right[j] - product) / row[j];
    }
    for (index j = q - 1; j >= 0; --j) {
        const double* const row = &factor(j, 0);
        out[j] /= row[j];
        const double own = out[j];
        for (index k = 0; k < j; ++k) out.data[k] -= row[k] * own;
    }
}

namespace {

using Dgemm = void (*)(char*, char*, int*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*);

// The function pointer that SciPy exports for Cython. Called without the GIL, which the import takes.
Dgemm dgemm() {
    static const Dgemm found = [] {
        nanobind::gil_scoped_acquire interpreter;
        const nanobind::object capsule =
            nanobind::module_::import_("scipy.linalg.cython_blas").attr("__pyx_capi__")["dgemm"];
        return reinterpret_cast<Dgemm>(PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr())));
    }();
    return found;
}

}  // namespace

void inner_products(Matrix<const double> a, Matrix<double> out) {
    int rows = static_cast<int>(a.shape[0]), columns = static_cast<int>(a.shape[1]);
    if (rows == 0) return;
    if (columns == 0) return out.fill(0.0);
    // BLAS counts along columns: it sees the transpose of `a`.
    char transposed = 'T', plain = 'N';
    double one = 1.0, zero = 0.0;
    double* const data = const_cast<double*>(a.data);
    dgemm()(&transposed, &plain, &rows, &rows, &columns, &one, data, &columns, data, &columns, &zero, out.data, &rows);
}

}  // namespace discriminant
