// Losses of rows from their scores, and passes over dense rows, which read every row once.
//
// A loss is named by a code, and by a width where it is smoothed. Shapes: `scores` (rows, S), S = 1 for losses of a
// margin, else the number of classes; `X` (rows, p) float32 or float64, `centre` (p,), `coef` and `products` (S, p),
// `intercept` and `sums` (S,), `offset` (rows, S or 0) known parts of the scores, `codes` and `weight` (rows,).
//
// A pass takes a few rows at a time, which stay in the inner caches from their scores to their part in the gradient:
// losses go through vector lanes, and sums of products with several classes stay in registers (`lanes.hpp`).

#include "losses.hpp"

#include "algebra.hpp"
#include "bindings.hpp"
#include "lanes.hpp"

#include <nanobind/stl/variant.h>

namespace discriminant {
namespace {

// Rows of a strip at most.
constexpr index strip_rows = 32;

// The classes of some rows, which must be below `limit`.
class ClassReader {
public:
    ClassReader(const Codes& codes, index rows, index limit) : codes(codes) {
        std::visit(
            [&](const auto all) {
                require(all.size() == rows, "One class for each row.");
                require_below(all, limit, "There is no class of that number.");
            },
            codes);
    }
    void read(index start, index count, std::int32_t* out) const {
        std::visit([&](const auto all) { std::copy_n(all.data + start, count, out); }, codes);
    }

private:
    const Codes& codes;
};

// ---- Losses of scores ----

// Write the losses of rows (rows,) and their derivatives in the scores (rows, S). There may be several rows of scores
// for each code, one after the other.
void evaluate(int code, double width, Matrix<const double> scores, const Codes& codes, Vector<double> values,
              Matrix<double> slopes) {
    const auto [n, classes] = scores.shape;
    require(slopes.shape == scores.shape && values.size() == n, "One value for each row, one slope for each score.");
    std::visit(
        [&, n = n, classes = classes](const auto all) {
            const index repeats = all.size() > 0 ? n / all.size() : 0;
            require(repeats * all.size() == n, "One class for each row.");
            with_loss(code, width, [&](const auto loss) {
                require_below(all, loss.has_one_score ? 2 : classes, "There is no class of that number.");
                require(!loss.has_one_score || classes == 1 || n == 0, "The loss is one of a single score.");
                const index step = rows_together(classes);
                std::int32_t own[max_rows];
                index row = 0, repeat = 0;
                for (index start = 0; start < n; start += step) {
                    const index count = std::min(step, n - start);
                    for (index r = 0; r < count; ++r) {
                        own[r] = static_cast<std::int32_t>(all.data[row]);
                        if (++repeat == repeats) repeat = 0, ++row;
                    }
                    double* const to = slopes.data + start * classes;
                    if (slopes.data != scores.data) std::copy_n(scores.data + start * classes, count * classes, to);
                    loss.evaluate(to, count, classes, own, values.data + start);
                }
            });
        },
        codes);
}

// Turn scores, one row for each code, into what second derivatives follow from: those of a margin, or probabilities.
void curvatures(int code, double width, Matrix<double> scores, const Codes& codes) {
    const auto [n, classes] = scores.shape;
    with_loss(code, width, [&, n = n, classes = classes](const auto loss) {
        const ClassReader reader(codes, n, loss.has_one_score ? 2 : classes);
        require(!loss.has_one_score || classes == 1 || n == 0, "The loss is one of a single score.");
        const index step = rows_together(classes);
        std::int32_t own[max_rows];
        for (index start = 0; start < n; start += step) {
            const index count = std::min(step, n - start);
            reader.read(start, count, own);
            loss.curvatures(scores.data + start * classes, count, classes, own);
        }
    });
}

// Multiply each row's `change` (S,) by its weighted second derivatives, in place.
void multiply_by_curvatures(int code, Matrix<const double> curvature, Vector<const double> weight,
                            Matrix<double> change) {
    const auto [n, classes] = change.shape;
    require(curvature.shape == change.shape && weight.size() == n, "One curvature for each score.");
    with_loss(code, 0.0, [&, n = n, classes = classes](const auto loss) {
        for (index i = 0; i < n; ++i)
            loss.multiply(curvature.data + i * classes, weight.data[i], change.data + i * classes, classes);
    });
}

// ---- Passes over dense rows ----

// Some rows of a table, less the centre, as float64: so few that they stay in the innermost cache. Zeros are added to
// make their width a multiple of `block_columns`.
template <class X>
class Strip {
public:
    Strip(Matrix<const X> table, Vector<const double> centre)
        : table(table),
          centre(centre),
          p(table.shape[1]),
          stride(padded(p)),
          capacity(rows_in_cache(p)),
          rows({capacity, stride}, 0.0) {}

    // Read rows from a place on, and zeros where there are no more; how many there are.
    index read(index start) {
        count = std::min(capacity, table.shape[0] - start);
        for (index r = 0; r < count; ++r) {
            const X* const from = table.data + (start + r) * p;
            const double* const middle = centre.data;
            double* __restrict const to = rows.data + r * stride;
            for (index j = 0; j < p; ++j) to[j] = from[j] - middle[j];
        }
        std::fill(rows.data + count * stride, rows.end(), 0.0);
        prefetch(start + capacity);
        return count;
    }

    // The scores of all rows, four at a time: no sum waits for the last.
    void scores(const double* coef, double intercept, double* out) const {
        for (index i = 0; i < capacity; i += 4) {
            const double *a = row(i), *b = a + stride, *c = b + stride, *d = c + stride;
            double of_a = intercept, of_b = intercept, of_c = intercept, of_d = intercept;
            for (index j = 0; j < p; ++j) {
                of_a += a[j] * coef[j];
                of_b += b[j] * coef[j];
                of_c += c[j] * coef[j];
                of_d += d[j] * coef[j];
            }
            out[i] = of_a;
            out[i + 1] = of_b;
            out[i + 2] = of_c;
            out[i + 3] = of_d;
        }
    }

    // Add the sum of all rows, each times its factor.
    void add(const double* factor, double* __restrict sum) const {
        for (index i = 0; i < capacity; i += 8) {
            const double *const x = row(i), *const z = row(i + 4), *const f = factor + i;
            for (index j = 0; j < p; ++j) {
                const double first =
                    sum[j] + f[0] * x[j] + f[1] * x[stride + j] + f[2] * x[2 * stride + j] + f[3] * x[3 * stride + j];
                sum[j] =
                    first + (f[4] * z[j] + f[5] * z[stride + j] + f[6] * z[2 * stride + j] + f[7] * z[3 * stride + j]);
            }
        }
    }

    // Write a row times a factor, and the factor in the columns that the table does not have.
    void write(index i, double factor, double* __restrict out, index width) const {
        const double* const own = row(i);
        for (index j = 0; j < p; ++j) out[j] = factor * own[j];
        for (index j = p; j < width; ++j) out[j] = factor;
    }

    const double* row(index i) const { return rows.data + i * stride; }
    index width() const { return stride; }
    index size() const { return count; }
    index max_rows() const { return capacity; }

private:
    // Ask for the rows of the next strip, which come from memory while this one is computed with. Always inlined, as in
    // rows.hpp.
    DISCRIMINANT_INLINE void prefetch([[maybe_unused]] index start) const {
#if defined(__GNUC__)
        constexpr index line = 64 / sizeof(X);
        const X *place = table.data + start * p, *const end = table.data + std::min(start + capacity, table.shape[0]) * p;
        for (; place < end; place += line) __builtin_prefetch(place);
#endif
    }

    // A multiple of 8, and 16 kB at most if that leaves 8.
    static index rows_in_cache(index p) {
        constexpr index numbers = 2048;
        return std::clamp<index>(numbers / std::max<index>(p, 1) / 8 * 8, 8, strip_rows);
    }

    Matrix<const X> table;
    Vector<const double> centre;
    index p, stride, capacity, count = 0;
    Buffer<double, 2> rows;
};

// A strip of rows with its scores: one for each row, or a multiple of `block_columns`, of which those added never win.
template <class X>
struct ScoredStrip {
    Strip<X> strip;
    index count, width;
    Buffer<double, 2> coefs;
    Buffer<double, 1> intercepts;
    Buffer<double, 2> sums, scores;

    ScoredStrip(Matrix<const X> table, Vector<const double> centre, Matrix<const double> coef,
                Vector<const double> intercept, bool has_one_score)
        : strip(table, centre),
          count(coef.shape[0]),
          width(has_one_score ? 1 : padded(count)),
          coefs({table.shape[1], width}, 0.0),
          intercepts({width}, -std::numeric_limits<double>::infinity()),
          sums({width, strip.width()}, 0.0),
          scores({strip.max_rows(), width}, 0.0) {
        const index p = table.shape[1];
        require(coef.shape[1] == p && centre.size() == p, "One coefficient for each column.");
        require(intercept.size() == count && (count == 1 || !has_one_score), "One intercept for each score.");
        for (index k = 0; k < count; ++k)
            for (index j = 0; j < p; ++j) coefs(j, k) = coef(k, j);
        copy(intercepts, intercept);
    }

    // Read rows from a place on and find their scores, with known parts; how many rows there are.
    index score(index start, Matrix<const double> offset) {
        const index rows = strip.read(start);
        if (width == 1) {
            strip.scores(coefs.data, intercepts.data[0], scores.data);
        } else {
            for (index r = 0; r < strip.max_rows(); ++r) copy(scores[r], intercepts);
            add_product(strip.row(0), strip.width(), 1, strip.max_rows(), coefs.data, coefs.shape[0], width, scores.data);
        }
        if (offset.shape[1] > 0)
            for (index r = 0; r < rows; ++r)
                for (index k = 0; k < count; ++k) scores(r, k) += offset(start + r, k);
        return rows;
    }

    // Add the product of the contributions that took the place of the scores with the rows, and their own sums.
    void add(Vector<double> totals) {
        std::fill(&scores(0, 0) + strip.size() * width, scores.end(), 0.0);
        if (width == 1) {
            totals.data[0] += sum(Vector<double>(scores.data, {scores.size()}));
            return strip.add(scores.data, sums.data);
        }
        add_product(scores.data, 1, width, width, strip.row(0), strip.max_rows(), strip.width(), sums.data);
        for (index r = 0; r < strip.size(); ++r)
            for (index k = 0; k < count; ++k) totals.data[k] += scores(r, k);
    }

    // Add the products of all strips.
    void write(Matrix<double> products) const {
        for (index k = 0; k < count; ++k)
            for (index j = 0; j < products.shape[1]; ++j) products(k, j) += sums(k, j);
    }

    index max_rows() const { return strip.max_rows(); }
};

// What kernels take of the rows of a pass.
struct PassRows {
    const Reals<2>& table;
    Vector<const double> centre;
    Matrix<const double> coef;
    Vector<const double> intercept;
    Matrix<const double> offset;
    const Codes& codes;
};

// Call a function with the loss, each strip of the rows with its scores, the place of its first row, their number and
// their classes; and another one with the strip at the end.
void for_each_strip(int code, double width, const PassRows& pass, auto&& function, auto&& finish) {
    std::visit(
        [&](const auto X) {
            const index n = X.shape[0], classes = pass.coef.shape[0];
            require(pass.offset.shape[0] == n && (pass.offset.shape[1] == 0 || pass.offset.shape[1] == classes),
                    "Known scores are of all rows and classes.");
            with_loss(code, width, [&](const auto loss) {
                const ClassReader reader(pass.codes, n, loss.has_one_score ? 2 : classes);
                ScoredStrip own(X, pass.centre, pass.coef, pass.intercept, loss.has_one_score);
                std::int32_t classes_of[strip_rows];
                for (index start = 0; start < n; start += own.max_rows()) {
                    const index rows = own.score(start, pass.offset);
                    reader.read(start, rows, classes_of);
                    function(loss, own, start, rows, classes_of);
                }
                finish(own);
            });
        },
        pass.table);
}

index count_rows(const Reals<2>& table) {
    return std::visit([](const auto X) { return X.shape[0]; }, table);
}

void require_sums_fit(Matrix<const double> coef, Matrix<const double> products, Vector<const double> sums) {
    require(products.shape == coef.shape && sums.size() == coef.shape[0], "One sum for each score and coefficient.");
}

// Add the sum over rows of `slopes (x - centre)'` and of the weighted slopes; the sum of the weighted losses.
double add_gradient(int code, double width, const Reals<2>& table, Vector<const double> centre,
                    Matrix<const double> coef, Vector<const double> intercept, Matrix<const double> offset,
                    const Codes& codes, Vector<const double> weight, Matrix<double> products, Vector<double> sums) {
    require(weight.size() == count_rows(table), "One weight for each row.");
    require_sums_fit(coef, products, sums);
    double values[strip_rows], total = 0.0;
    const auto add = [&](const auto loss, auto& own, index start, index rows, const std::int32_t* classes_of) {
        loss.evaluate(own.scores.data, rows, own.width, classes_of, values);
        const double* const share = weight.data + start;
        for (index r = 0; r < rows; ++r) total += share[r] * values[r];
        const index step = loss.has_one_score ? 1 : own.width;  // a loop over one score is none
        for (index r = 0; r < rows; ++r)
            for (index k = 0; k < step; ++k) own.scores.data[r * step + k] *= share[r];
        own.add(sums);
    };
    for_each_strip(code, width, {table, centre, coef, intercept, offset, codes}, add,
                   [&](const auto& own) { own.write(products); });
    return total;
}

// Write what second derivatives of each row's loss follow from, (rows, S).
void write_curvatures(int code, double width, const Reals<2>& table, Vector<const double> centre,
                      Matrix<const double> coef, Vector<const double> intercept, Matrix<const double> offset,
                      const Codes& codes, Matrix<double> out) {
    const index classes = coef.shape[0];
    require(out.shape[0] == count_rows(table) && out.shape[1] == classes, "One curvature for each score.");
    const auto write = [&](const auto loss, auto& own, index start, index rows, const std::int32_t* classes_of) {
        loss.curvatures(own.scores.data, rows, own.width, classes_of);
        for (index r = 0; r < rows; ++r) std::copy_n(&own.scores(r, 0), classes, &out(start + r, 0));
    };
    for_each_strip(code, width, {table, centre, coef, intercept, offset, codes}, write, [](const auto&) {});
}

// Add the sum over rows of `H change (x - centre)'`, H the weighted second derivatives and change the scores of `coef`.
void add_hessian_product(int code, const Reals<2>& table, Vector<const double> centre, Matrix<const double> coef,
                         Vector<const double> intercept, Matrix<const double> curvature, Vector<const double> weight,
                         Matrix<double> products, Vector<double> sums) {
    std::visit(
        [&](const auto X) {
            const index n = X.shape[0], classes = coef.shape[0];
            const Matrix<const double> none(nullptr, {n, 0});
            require_sums_fit(coef, products, sums);
            require(weight.size() == n && curvature.shape[0] == n && curvature.shape[1] == classes,
                    "One weight for each row, one curvature for each score.");
            with_loss(code, 0.0, [&](const auto loss) {
                ScoredStrip own(X, centre, coef, intercept, loss.has_one_score);
                for (index start = 0; start < n; start += own.max_rows()) {
                    const index rows = own.score(start, none);
                    for (index r = 0; r < rows; ++r)
                        loss.multiply(&curvature(start + r, 0), weight.data[start + r], &own.scores(r, 0), classes);
                    own.add(sums);
                }
                own.write(products);
            });
        },
        table);
}

// Write the centred rows times the square root of their weighted curvature, and that root last; the number of rows.
//
// Of a loss of a margin. Rows whose curvature is not above `flat` are left out.
index write_scaled_rows(int code, double width, const Reals<2>& table, Vector<const double> centre,
                        Matrix<const double> coef, Vector<const double> intercept, Matrix<const double> offset,
                        const Codes& codes, Vector<const double> weight, double flat, Matrix<double> scaled) {
    const index n = count_rows(table);
    require(weight.size() == n && scaled.shape[0] >= n && scaled.shape[1] >= coef.shape[1],
            "One weight and one place of the output for each row.");
    index kept = 0;
    const auto write = [&](const auto loss, auto& own, index start, index rows, const std::int32_t* classes_of) {
        require(loss.has_one_score, "The loss is not one of a single score.");
        loss.curvatures(own.scores.data, rows, 1, classes_of);
        for (index r = 0; r < rows; ++r) {
            const double curvature = own.scores(r, 0);
            if (!(curvature > flat)) continue;
            own.strip.write(r, std::sqrt(weight.data[start + r] * curvature), &scaled(kept, 0), scaled.shape[1]);
            ++kept;
        }
    };
    for_each_strip(code, width, {table, centre, coef, intercept, offset, codes}, write, [](const auto&) {});
    return kept;
}

}  // namespace

void bind_losses(nanobind::module_& module) {
    const auto name = [&](const char* of, LossCode code) { module.attr(of) = static_cast<int>(code); };
    name("LOGISTIC", LossCode::logistic);
    name("SQUARED_HINGE", LossCode::squared_hinge);
    name("SMOOTHED_HINGE", LossCode::smoothed_hinge);
    name("SQUARED", LossCode::squared);
    name("SQUARED_SIGMOID", LossCode::squared_sigmoid);
    name("HINGE", LossCode::hinge);
    name("PERCEPTRON", LossCode::perceptron);
    name("SOFTMAX", LossCode::softmax);
    kernel(module, "evaluate", evaluate,
           "Write the losses of rows (rows,) and their derivatives in the scores (rows, S), which may take the place of "
           "the scores.\n\nThere may be several rows of scores for each code, one after the other.");
    kernel(module, "curvatures", curvatures,
           "Turn scores into what second derivatives follow from: those of a margin, or probabilities.");
    kernel(module, "multiply_by_curvatures", multiply_by_curvatures,
           "Multiply each row's ``change`` (S,) by its weighted second derivatives, in place.");
    kernel(module, "add_gradient", add_gradient,
           "Add the sum over rows of ``slopes (x - centre)'`` and of the weighted slopes; the sum of the losses.");
    kernel(module, "write_curvatures", write_curvatures,
           "Write what second derivatives of each row's loss follow from, (rows, S).");
    kernel(module, "add_hessian_product", add_hessian_product,
           "Add the sum over rows of ``H change (x - centre)'``, H the weighted second derivatives and change the scores "
           "of ``coef``.");
    kernel(module, "write_scaled_rows", write_scaled_rows,
           "Write rows times the root of their weighted curvature, and that root last; the number of rows.\n\nOf a loss "
           "of a margin. Rows whose curvature is not above ``flat`` are left out.");
}

}  // namespace discriminant
