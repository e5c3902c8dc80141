// From rows to functions of them and to class scores, from scores to the best class or to probabilities, and products
// of CSR rows both ways.
//
// Shapes: `scores` (rows, K) float64; every loop over classes or columns is the inner, contiguous one.

#include "algebra.hpp"
#include "bindings.hpp"
#include "losses.hpp"
#include "rows.hpp"

#include <algorithm>

namespace discriminant {
namespace {

// ---- Functions of rows ----

// Write `constant_k - sum_j (x_j - mean_kj)^2 * precision_kj / 2`.
void diagonal_scores(const Reals<2>& table, Matrix<const double> means, Matrix<const double> halved_precisions,
                     Vector<const double> constants, Matrix<double> out) {
    std::visit(
        [&](const auto X) {
            const index p = X.shape[1], classes = means.shape[0];
            require(means.shape[1] == p && halved_precisions.shape == means.shape && constants.size() == classes &&
                        out.shape[0] == X.shape[0] && out.shape[1] == classes,
                    "The shapes of rows, means and scores do not fit each other.");
            const index n = X.shape[0];
            for (index i = 0; i < n; i += 4) {  // four rows at a time: no sum waits for the last
                const auto row = [&](index r) { return X.data + std::min(i + r, n - 1) * p; };
                const auto *const x = row(0), *const y = row(1), *const z = row(2), *const w = row(3);
                for (index k = 0; k < classes; ++k) {
                    const double *mean = means.data + k * p, *precision = halved_precisions.data + k * p;
                    double of_x = 0.0, of_y = 0.0, of_z = 0.0, of_w = 0.0;
                    for (index j = 0; j < p; ++j) {
                        of_x += (x[j] - mean[j]) * (x[j] - mean[j]) * precision[j];
                        of_y += (y[j] - mean[j]) * (y[j] - mean[j]) * precision[j];
                        of_z += (z[j] - mean[j]) * (z[j] - mean[j]) * precision[j];
                        of_w += (w[j] - mean[j]) * (w[j] - mean[j]) * precision[j];
                    }
                    const double sums[] = {of_x, of_y, of_z, of_w};
                    for (index r = 0; r < std::min<index>(4, n - i); ++r) out(i + r, k) = constants.data[k] - sums[r];
                }
            }
        },
        table);
}

// Subtract `|whitened_k - offset_k|^2 / 2`; `whitened` holds the K whitened copies side by side.
void subtract_squared_lengths(Matrix<const double> whitened, Matrix<const double> offsets, Matrix<double> out) {
    const auto [classes, width] = offsets.shape;
    require(whitened.shape[1] == classes * width && out.shape[0] == whitened.shape[0] && out.shape[1] == classes,
            "The shapes of whitened rows, offsets and scores do not fit each other.");
    for (index i = 0; i < whitened.shape[0]; ++i)
        for (index k = 0; k < classes; ++k) {
            const double *own = whitened.data + (i * classes + k) * width, *offset = offsets.data + k * width;
            out(i, k) -= 0.5 * sum_over(width, [own, offset](index j) {
                             return (own[j] - offset[j]) * (own[j] - offset[j]);
                         });
        }
}

// Write polynomials of `u` (rows,) to the columns of `out` from `first` on.
//
// `coefficients` (pieces, powers, functions) are those of the powers of what `u` exceeds the piece's origin by.
void piecewise_polynomials(Vector<const double> u, Vector<const double> breaks, Vector<const double> origins,
                           Cube<const double> coefficients, index first, Matrix<double> out) {
    const auto [pieces, powers, functions] = coefficients.shape;
    require(pieces == breaks.size() + 1 && origins.size() == pieces && powers > 0, "There is one piece more than breaks.");
    require(out.shape[0] == u.size() && first >= 0 && first + functions <= out.shape[1], "There are too few columns.");
    for (index i = 0; i < u.size(); ++i) {
        const double x = u.data[i];
        index piece = 0;
        while (piece < breaks.size() && !(x < breaks.data[piece])) ++piece;  // NaN belongs to the last
        const double step = x - origins.data[piece];
        const double* const own = coefficients.data + piece * powers * functions;
        double* const to = out.data + i * out.shape[1] + first;
        for (index o = 0; o < functions; ++o) to[o] = own[(powers - 1) * functions + o];
        for (index d = powers - 2; d >= 0; --d)
            for (index o = 0; o < functions; ++o) to[o] = to[o] * step + own[d * functions + o];
    }
}

// Write products of columns to `out`: each row of `outputs` has the numbers of the factors.
void column_products(Matrix<const double> factors, Matrix<const std::int64_t> outputs, Matrix<double> out) {
    const auto [count, degree] = outputs.shape;
    require(out.shape[0] == factors.shape[0] && out.shape[1] == count && degree > 0, "One column for each product.");
    require_below(Vector<const std::int64_t>(outputs.data, {outputs.size()}), factors.shape[1],
                  "There is no column of that number.");
    for (index i = 0; i < factors.shape[0]; ++i) {
        const double* const own = factors.data + i * factors.shape[1];
        for (index o = 0; o < count; ++o) {
            const std::int64_t* const places = outputs.data + o * degree;
            double product = own[places[0]];
            for (index f = 1; f < degree; ++f) product *= own[places[f]];
            out(i, o) = product;
        }
    }
}

// ---- From scores to answers ----

struct Largest {
    double score;
    index place;
    bool sound;  // it is finite, and no score of the row is NaN
};

Largest largest(const double* scores, index classes) {
    double best = scores[0];
    index place = 0;
    bool undefined = best != best;
    for (index k = 1; k < classes; ++k) {
        const double score = scores[k];
        const bool better = score > best;
        undefined |= score != score;
        best = better ? score : best;
        place = better ? k : place;
    }
    return {best, place, !undefined && std::isfinite(best)};
}

// Write the column of the largest score of each row; whether every row had a finite one.
template <class Code>
bool best_classes(Matrix<const double> scores, Vector<Code> out) {
    const auto [n, classes] = scores.shape;
    require(out.size() == n && (n == 0 || classes > 0), "One class for each row.");
    bool sound = true;
    for (index i = 0; i < n; ++i) {
        const Largest found = largest(scores.data + i * classes, classes);
        out.data[i] = static_cast<Code>(found.place);
        sound &= found.sound;
    }
    return sound;
}

// Call a function with the start and the number of a few rows at a time, which stay in the innermost cache and fill
// vector lanes with any number of classes. Whether it returns true for all of them.
bool for_some_rows(index n, index classes, auto&& function) {
    require(n == 0 || classes > 0, "There are scores.");
    const index step = rows_together(classes);
    bool holds = true;
    for (index start = 0; start < n; start += step) holds &= function(start, std::min(step, n - start));
    return holds;
}

// Turn scores of rows into probabilities; writes the largest of each row and the sum of the exponentials relative to it.
bool find_probabilities(double* scores, index rows, index classes, double* top, double* mass) {
    for (index r = 0; r < rows; ++r) top[r] = shift_to_largest(scores + r * classes, classes);
    normalise(scores, rows, classes, mass);
    return std::all_of(mass, mass + rows, [](double sum) { return std::isfinite(sum); });
}

// Write the probabilities of each row, which may take the place of the scores; whether every row had a finite best one.
bool softmax(Matrix<const double> scores, Matrix<double> out) {
    require(out.shape == scores.shape, "One probability for each score.");
    const auto [n, classes] = scores.shape;
    double top[max_rows], mass[max_rows];
    return for_some_rows(n, classes, [&, classes = classes](index start, index rows) {
        double* const own = out.data + start * classes;
        if (out.data != scores.data) std::copy_n(scores.data + start * classes, rows * classes, own);
        return find_probabilities(own, rows, classes, top, mass);
    });
}

// The same of the logarithms of the probabilities.
bool log_softmax(Matrix<const double> scores, Matrix<double> out) {
    require(out.shape == scores.shape, "One logarithm for each score.");
    const auto [n, classes] = scores.shape;
    Buffer<double, 1> own(std::max<index>(max_rows, classes));
    double top[max_rows], mass[max_rows];
    return for_some_rows(n, classes, [&, classes = classes](index start, index rows) {
        std::copy_n(scores.data + start * classes, rows * classes, own.data);
        const bool sound = find_probabilities(own.data, rows, classes, top, mass);
        for (index r = 0; r < rows; ++r) {
            const double shift = logarithm(mass[r]);
            for (index k = 0; k < classes; ++k) out(start + r, k) = scores(start + r, k) - top[r] - shift;
        }
        return sound;
    });
}

// ---- Products of CSR rows ----

// Write `rows @ coef` (p, C) to `out` (rows, C).
void csr_scores(const CsrParts& matrix, Matrix<const double> coef, Matrix<double> out) {
    with_rows(matrix, [&](auto rows) {
        const auto [p, columns] = coef.shape;
        rows.have_width(p);
        require(out.shape[0] == rows.count() && out.shape[1] == columns, "One score for each row and column.");
        for_each_row(rows, [&, columns = columns](index i) {
            if (columns == 1) {
                out.data[i] = rows.dot(i, coef.data);
                return;
            }
            double* const to = out.data + i * columns;
            std::fill_n(to, columns, 0.0);
            const auto [value, place, size] = rows.row(i);
            for (index e = 0; e < size; ++e) {
                const double* const own = coef.data + place[e] * columns;
                for (index c = 0; c < columns; ++c) to[c] += value[e] * own[c];
            }
        });
    });
}

// Add the sum over rows of `value(e) factor_c` of every stored element to its column's row of `out` (p, C).
void add_elements(const CsrParts& matrix, Matrix<const double> factor, Matrix<double> out, auto&& value_of) {
    with_rows(matrix, [&](auto rows) {
        const index columns = out.shape[1];
        rows.have_width(out.shape[0]);
        require(factor.shape[0] == rows.count() && factor.shape[1] == columns, "One factor for each row and column.");
        double* const sums = out.data;
        for_each_row(rows, [&](index i) {
            const auto [value, place, size] = rows.row(i);
            const double* const own = factor.data + i * columns;
            if (columns == 1) {
                const double factor = own[0];
                for (index e = 0; e < size; ++e) sums[place[e]] += value_of(value[e]) * factor;
                return;
            }
            for (index e = 0; e < size; ++e) {
                double* const to = sums + place[e] * columns;
                const double element = value_of(value[e]);
                for (index c = 0; c < columns; ++c) to[c] += element * own[c];
            }
        });
    });
}

// Add `rows' @ residual` (rows, C) to `out` (p, C).
void csr_add_products(const CsrParts& matrix, Matrix<const double> residual, Matrix<double> out) {
    add_elements(matrix, residual, out, [](double value) { return value; });
}

// Add the weighted squares (rows, C) of each column to `out` (p, C).
void csr_add_squares(const CsrParts& matrix, Matrix<const double> weight, Matrix<double> out) {
    add_elements(matrix, weight, out, [](double value) { return value * value; });
}

// ---- Losses at many temperatures ----

// Log-densities of each class that are processed together, and stay in the innermost cache.
constexpr index together = 256;

// Add to `losses` (S, R, H) the loss of each of S settings at the temperatures `roots[r] / 2**h`.
//
// `logs` (K, n, S) are log-densities. Only the smallest temperature of each root needs exponentials: those of twice the
// temperature are their squares.
void tempered_losses(Cube<const double> logs, const Codes& codes, Vector<const double> weight,
                     Vector<const double> priors, Vector<const double> roots, Cube<double> losses) {
    const auto [classes, n, settings] = logs.shape;
    const index halvings = losses.shape[2];
    require(priors.size() == classes && weight.size() == n && losses.shape[0] == settings &&
                losses.shape[1] == roots.size() && classes > 0,
            "The shapes of log-densities, priors and losses do not fit each other.");
    std::visit(
        [&, classes = classes, n = n, settings = settings](const auto code) {
            require(code.size() == n, "One class for each row.");
            require_below(code, classes, "There is no class of that number.");
            const index step = std::max<index>(1, together / std::max<index>(settings, 1)), cells = step * settings;
            Buffer<double, 2> relative(classes, cells), powers(classes, cells);
            Buffer<double, 1> best(cells), own(cells), sums(cells);
            for (index start = 0; start < n; start += step) {
                const index rows = std::min(step, n - start), count = rows * settings;
                // The log-densities of some rows, class by class, compared with the largest.
                const auto of_class = [&](index k) { return logs.data + (k * n + start) * settings; };
                std::copy_n(of_class(0), count, best.data);
                for (index k = 1; k < classes; ++k)
                    for (index e = 0; e < count; ++e) best.data[e] = std::max(best.data[e], of_class(k)[e]);
                for (index k = 0; k < classes; ++k)
                    for (index e = 0; e < count; ++e) relative.data[k * cells + e] = of_class(k)[e] - best.data[e];
                for (index i = 0; i < rows; ++i)
                    std::copy_n(&relative(index(code.data[start + i]), i * settings), settings, own.data + i * settings);
                for (index r = 0; r < roots.size(); ++r) {
                    double t = std::ldexp(roots.data[r], static_cast<int>(1 - halvings));
                    for (index k = 0; k < classes; ++k)
                        for (index e = 0; e < count; ++e)
                            powers.data[k * cells + e] = exponential(relative.data[k * cells + e] * t);
                    for (index h = halvings - 1; h >= 0; --h, t *= 2.0) {
                        std::fill_n(sums.data, count, 0.0);
                        for (index k = 0; k < classes; ++k) {
                            double* const power = powers.data + k * cells;
                            for (index e = 0; e < count; ++e) {
                                sums.data[e] += priors.data[k] * power[e];
                                power[e] *= power[e];
                            }
                        }
                        for (index e = 0; e < count; ++e) sums.data[e] = logarithm(sums.data[e]) - t * own.data[e];
                        for (index i = 0; i < rows; ++i)
                            for (index s = 0; s < settings; ++s)
                                losses(s, r, h) += weight.data[start + i] * sums.data[i * settings + s];
                    }
                }
            }
        },
        codes);
}

}  // namespace

void bind_scores(nanobind::module_& module) {
    module.def("exponential", exponential, "The exponential of a number that is not positive; 0 below -708.");
    module.def("logarithm", logarithm, "The logarithm of a number that is not negative.");
    module.def("log_one_plus", log_one_plus, "The logarithm of 1 + x, to all digits of a small x; x between 0 and 1.");
    kernel(module, "diagonal_scores", diagonal_scores,
           "Write ``constant_k - sum_j (x_j - mean_kj)^2 * precision_kj / 2``.");
    kernel(module, "subtract_squared_lengths", subtract_squared_lengths,
           "Subtract ``|whitened_k - offset_k|^2 / 2``; ``whitened`` holds the K whitened copies side by side.");
    kernel(module, "piecewise_polynomials", piecewise_polynomials,
           "Write polynomials of ``u`` (rows,) to the columns of ``out`` from ``first`` on.\n\n``coefficients`` "
           "(pieces, powers, functions) are those of the powers of what ``u`` exceeds the piece's origin by.");
    kernel(module, "column_products", column_products,
           "Write products of columns to ``out``: each row of ``outputs`` has the numbers of the factors.");
    constexpr auto best = "Write the column of the largest score of each row; whether every row had a finite one.";
    kernel(module, "best_classes", best_classes<std::int32_t>, best);
    kernel(module, "best_classes", best_classes<std::int64_t>, best);
    kernel(module, "softmax", softmax,
           "Write the probabilities of each row, which may take the place of the scores; whether every row had a finite "
           "best score.");
    kernel(module, "log_softmax", log_softmax, "The same of the logarithms of the probabilities.");
    kernel(module, "csr_scores", csr_scores, "Write ``rows @ coef`` (p, C) to ``out`` (rows, C).");
    kernel(module, "csr_add_products", csr_add_products, "Add ``rows' @ residual`` (rows, C) to ``out`` (p, C).");
    kernel(module, "csr_add_squares", csr_add_squares,
           "Add the weighted squares (rows, C) of each column to ``out`` (p, C).");
    kernel(module, "tempered_losses", tempered_losses,
           "Add to ``losses`` (S, R, H) the loss of each of S settings at the temperatures ``roots[r] / 2**h``.\n\n"
           "``logs`` (K, n, S) are log-densities.");
}

}  // namespace discriminant
