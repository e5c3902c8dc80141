// Passes over rows with a loss of a margin, or with softmax, which read every row once.
//
// A loss of a margin is named by a code, and by a width where it is smoothed. Shapes: `X` (rows, p) float32 or float64,
// `centre` and `coef` (p,), `codes` (rows,) 0 or 1, `weight` and `offset` (rows,). Of softmax: `coef` and `products`
// (K, p), `intercept` and `sums` (K,), `offset` (rows, K or 0), scores that are known.
//
// A pass takes a few rows at a time, which stay in the inner caches from their scores to their part in the gradient:
// losses go through vector lanes, and each coefficient is loaded once for four rows. Products of few classes are what
// BLAS is slow at: with 60,000 x 200 rows, 10 classes and two threads a pass of softmax takes 15 ms, where it took 40
// in NumPy's steps, which also wait for each other to hold the interpreter.

#include "losses.hpp"

#include "algebra.hpp"
#include "bindings.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <tuple>

namespace discriminant {
namespace {

// Rows of a strip at most, and classes whose sums stay in registers for two of them.
constexpr index strip_rows = 32, strip_classes = 4;

double sign_of_code(auto code) { return 2.0 * static_cast<double>(code) - 1.0; }

// ---- A loss of a margin ----

void values_and_slopes(int code, double width, Vector<const double> margins, Vector<double> values,
                       Vector<double> slopes) {
    require(values.size() == margins.size() && slopes.size() == margins.size(), "One value for each margin.");
    with_loss(code, width, [&](const auto loss) {
        for (index i = 0; i < margins.size(); ++i) {
            const Derivatives found = loss(margins.data[i]);
            values.data[i] = found.value;
            slopes.data[i] = found.slope;
        }
    });
}

void curvatures(int code, double width, Vector<const double> margins, Vector<double> out) {
    require(out.size() == margins.size(), "One curvature for each margin.");
    with_loss(code, width, [&](const auto loss) {
        for (index i = 0; i < margins.size(); ++i) out.data[i] = loss(margins.data[i]).curvature;
    });
}

double mean_logistic_loss(Vector<const double> scores, const Codes& codes, Vector<const double> weight,
                          Vector<double> slopes, Vector<double> curves) {
    const index n = scores.size();
    require(weight.size() == n && slopes.size() == n && curves.size() == n, "One number for each score.");
    return std::visit(
        [&](const auto code) {
            require(code.size() == n, "One class for each score.");
            double total = 0.0;
            for (index i = 0; i < n; ++i) {
                const double sign = sign_of_code(code.data[i]), own = weight.data[i];
                const Derivatives found = Logistic{}(sign * scores.data[i]);
                total += own * found.value;
                slopes.data[i] = sign * own * found.slope;
                curves.data[i] = own * found.curvature;
            }
            return total;
        },
        codes);
}

void losses_of_scores(int code, double width, Matrix<const double> scores, const Codes& codes,
                      Matrix<const double> weight, Vector<double> values, Matrix<double> slopes) {
    const auto [n, n_scores] = scores.shape;
    require(slopes.shape == scores.shape && values.size() == n_scores && weight.shape[0] == n &&
                (weight.shape[1] == n_scores || weight.shape[1] == 1),
            "The shapes of scores, weights and slopes do not fit each other.");
    std::visit(
        [&](const auto own_code) {
            require(own_code.size() == n, "One class for each row.");
            with_loss(code, width, [&, n = n, n_scores = n_scores](const auto loss) {
                // A few rows at a time, so that lanes are filled however few scores a row has.
                const index together = std::max<index>(1, 256 / std::max<index>(n_scores, 1));
                const index own_step = weight.shape[1], next = own_step == n_scores ? 1 : 0;
                Room<double, 1> losses(together * n_scores);
                for (index start = 0; start < n; start += together) {
                    const index rows = std::min(together, n - start);
                    double* const slope = slopes.data + start * n_scores;
                    for (index i = 0; i < rows; ++i)
                        for (index k = 0; k < n_scores; ++k)
                            slope[i * n_scores + k] =
                                sign_of_code(own_code.data[start + i]) * scores(start + i, k);
                    for (index e = 0; e < rows * n_scores; ++e) {
                        const Derivatives found = loss(slope[e]);
                        losses.data[e] = found.value;
                        slope[e] = found.slope;
                    }
                    for (index i = 0; i < rows; ++i) {
                        const double sign = sign_of_code(own_code.data[start + i]);
                        const double* const own = weight.data + (start + i) * own_step;
                        for (index k = 0; k < n_scores; ++k) {
                            values.data[k] += own[k * next] * losses.data[i * n_scores + k];
                            slope[i * n_scores + k] *= sign * own[k * next];
                        }
                    }
                }
            });
        },
        codes);
}

// Some rows of a table, less the centre, as float64: so few that they stay in the innermost cache.
template <class X>
class Strip {
public:
    Strip(Matrix<const X> table, Vector<const double> centre)
        : table(table), centre(centre), p(table.shape[1]), capacity(rows_in_cache(p)), rows(capacity, p) {}

    // Read rows from a place on, and zeros where there are no more; how many there are.
    index read(index start) {
        count = std::min(capacity, table.shape[0] - start);
        for (index r = 0; r < count; ++r) {
            const X* const from = table.data + (start + r) * p;
            const double* const middle = centre.data;
            double* __restrict const to = rows.data + r * p;
            for (index j = 0; j < p; ++j) to[j] = from[j] - middle[j];
        }
        std::fill(rows.data + count * p, rows.end(), 0.0);
        return count;
    }

    // The scores of all rows, four at a time: no sum waits for the last.
    void scores(const double* coef, double intercept, double* out) const {
        for (index i = 0; i < capacity; i += 4) {
            const double *a = row(i), *b = a + p, *c = b + p, *d = c + p;
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

    // Add the sum of all rows, each times its factor, which stands `step` after that of the last.
    void add(const double* factor, index step, double* __restrict sum) const {
        for (index i = 0; i < capacity; i += 8) {
            const double *const x = row(i), *const f = factor + i * step;
            const double f0 = f[0], f1 = f[step], f2 = f[2 * step], f3 = f[3 * step];
            const double f4 = f[4 * step], f5 = f[5 * step], f6 = f[6 * step], f7 = f[7 * step];
            for (index j = 0; j < p; ++j) {
                const double first = sum[j] + f0 * x[j] + f1 * x[p + j] + f2 * x[2 * p + j] + f3 * x[3 * p + j];
                sum[j] = first + (f4 * x[4 * p + j] + f5 * x[5 * p + j] + f6 * x[6 * p + j] + f7 * x[7 * p + j]);
            }
        }
    }

    // Write a row times a factor, and the factor in the columns that the table does not have.
    void write(index i, double factor, double* __restrict out, index width) const {
        const double* const own = row(i);
        for (index j = 0; j < p; ++j) out[j] = factor * own[j];
        for (index j = p; j < width; ++j) out[j] = factor;
    }

    const double* row(index i) const { return rows.data + i * p; }
    index size() const { return count; }
    index room() const { return capacity; }

private:
    // A multiple of 8, and 16 kB at most if that leaves 8.
    static index rows_in_cache(index p) {
        constexpr index numbers = 2048;
        return std::clamp<index>(numbers / std::max<index>(p, 1) / 8 * 8, 8, strip_rows);
    }

    Matrix<const X> table;
    Vector<const double> centre;
    index p, capacity, count = 0;
    Room<double, 2> rows;
};

void require_columns(const auto& X, Vector<const double> centre, Vector<const double> coef) {
    require(centre.size() == X.shape[1] && coef.size() == X.shape[1], "One coefficient for each column.");
}

void require_of_rows(const auto& X, const auto&... vectors) {
    require(((vectors.size() == X.shape[0]) && ...), "One number for each row.");
}

// What follows from the scores of a strip.
struct StripLosses {
    double scores[strip_rows], contributions[strip_rows], curvatures[strip_rows];
    double value = 0.0, slopes = 0.0;

    void find(const auto loss, const auto* code, const double* weight, const double* offset, index count) {
        double values = 0.0, contribution = 0.0;
        for (index i = 0; i < count; ++i) {
            const double sign = sign_of_code(code[i]);
            const Derivatives found = loss(sign * (scores[i] + offset[i]));
            values += weight[i] * found.value;
            contributions[i] = sign * weight[i] * found.slope;
            curvatures[i] = found.curvature;
            contribution += contributions[i];
        }
        std::fill(contributions + count, contributions + strip_rows, 0.0);
        value += values;
        slopes += contribution;
    }
};

// Add the sum over rows of `slope * (x - centre)` to the gradient; the sums of losses and of slopes.
std::tuple<double, double> add_gradient(int code, double width, const Reals<2>& table, Vector<const double> centre,
                                        Vector<const double> coef, double intercept, const Codes& codes,
                                        Vector<const double> weight, Vector<const double> offset,
                                        Vector<double> gradient) {
    return std::visit(
        [&](const auto X, const auto own_code) {
            require_columns(X, centre, coef);
            require_of_rows(X, own_code, weight, offset);
            require(gradient.size() == X.shape[1], "One slope for each column.");
            return with_loss(code, width, [&](const auto loss) {
                StripLosses found;
                Strip strip(X, centre);
                for (index start = 0; start < X.shape[0]; start += strip.room()) {
                    strip.read(start);
                    strip.scores(coef.data, intercept, found.scores);
                    found.find(loss, own_code.data + start, weight.data + start, offset.data + start, strip.size());
                    strip.add(found.contributions, 1, gradient.data);
                }
                return std::tuple(found.value, found.slopes);
            });
        },
        table, codes);
}

// Add the sum over rows of `curvature * score * (x - centre)` to the product; the sum of `curvature * score`.
double add_hessian_product(const Reals<2>& table, Vector<const double> centre, Vector<const double> coef,
                           double intercept, Vector<const double> curvature, Vector<double> product) {
    return std::visit(
        [&](const auto X) {
            require_columns(X, centre, coef);
            require_of_rows(X, curvature);
            require(product.size() == X.shape[1], "One product for each column.");
            double contributions[strip_rows], total = 0.0;
            Strip strip(X, centre);
            for (index start = 0; start < X.shape[0]; start += strip.room()) {
                strip.read(start);
                strip.scores(coef.data, intercept, contributions);
                for (index i = 0; i < strip.size(); ++i) total += contributions[i] *= curvature.data[start + i];
                std::fill(contributions + strip.size(), contributions + strip_rows, 0.0);
                strip.add(contributions, 1, product.data);
            }
            return total;
        },
        table);
}

// The same as `add_gradient`, and the centred rows times the square root of their curvature (and that root last).
//
// Rows whose curvature is not above `flat` are left out there; the number of those written is returned last.
std::tuple<double, double, index> add_newton(int code, double width, const Reals<2>& table,
                                             Vector<const double> centre, Vector<const double> coef, double intercept,
                                             const Codes& codes, Vector<const double> weight,
                                             Vector<const double> offset, Vector<double> gradient, double flat,
                                             Matrix<double> scaled) {
    return std::visit(
        [&](const auto X, const auto own_code) {
            require_columns(X, centre, coef);
            require_of_rows(X, own_code, weight, offset);
            require(gradient.size() == X.shape[1] && scaled.shape[0] >= X.shape[0] && scaled.shape[1] >= X.shape[1],
                    "One slope for each column, and room for each row.");
            return with_loss(code, width, [&](const auto loss) {
                StripLosses found;
                index kept = 0;
                Strip strip(X, centre);
                for (index start = 0; start < X.shape[0]; start += strip.room()) {
                    strip.read(start);
                    strip.scores(coef.data, intercept, found.scores);
                    found.find(loss, own_code.data + start, weight.data + start, offset.data + start, strip.size());
                    strip.add(found.contributions, 1, gradient.data);
                    for (index i = 0; i < strip.size(); ++i) {
                        const double curvature = found.curvatures[i];
                        if (!(curvature > flat)) continue;
                        strip.write(i, std::sqrt(weight.data[start + i] * curvature), &scaled(kept, 0), scaled.shape[1]);
                        ++kept;
                    }
                }
                return std::tuple(found.value, found.slopes, kept);
            });
        },
        table, codes);
}

// ---- Softmax ----

// A strip of rows with its scores for a multiple of four classes, of which those added never win.
template <class X>
class SoftmaxStrip {
public:
    SoftmaxStrip(Matrix<const X> table, Vector<const double> centre, Matrix<const double> coef,
                 Vector<const double> intercept)
        : strip(table, centre),
          p(table.shape[1]),
          width((coef.shape[0] + strip_classes - 1) / strip_classes * strip_classes),
          coefs({width, p}, 0.0),
          intercepts({width}, -std::numeric_limits<double>::infinity()),
          scores(strip.room(), width) {
        require(coef.shape[1] == p && centre.size() == p, "One coefficient for each column.");
        require(intercept.size() == coef.shape[0], "One intercept for each class.");
        copy(coefs, coef);
        copy(intercepts, intercept);
    }

    // Read rows from a place on and find their scores, those of two rows and four classes in registers; how many rows.
    index score(index start) {
        const index count = strip.read(start);
        for (index r = 0; r < strip.room(); r += 2) {
            const double *x = strip.row(r), *z = x + p;
            double *of_x = scores.data + r * width, *of_z = of_x + width;
            for (index k = 0; k < width; k += strip_classes) {
                const double *a = coefs.data + k * p, *b = a + p, *c = b + p, *d = c + p;
                double xa = 0.0, xb = 0.0, xc = 0.0, xd = 0.0, za = 0.0, zb = 0.0, zc = 0.0, zd = 0.0;
                for (index j = 0; j < p; ++j) {
                    xa += x[j] * a[j];
                    xb += x[j] * b[j];
                    xc += x[j] * c[j];
                    xd += x[j] * d[j];
                    za += z[j] * a[j];
                    zb += z[j] * b[j];
                    zc += z[j] * c[j];
                    zd += z[j] * d[j];
                }
                const double of_rows[2][strip_classes] = {{xa, xb, xc, xd}, {za, zb, zc, zd}};
                for (index i = 0; i < strip_classes; ++i) {
                    of_x[k + i] = of_rows[0][i] + intercepts.data[k + i];
                    of_z[k + i] = of_rows[1][i] + intercepts.data[k + i];
                }
            }
        }
        return count;
    }

    // Turn the scores of rows that were read, and known ones of theirs, so that the largest of each row is 0.
    void shift(Matrix<const double> offset, index start, index count) {
        for (index r = 0; r < count; ++r)
            for (index k = 0; k < offset.shape[1]; ++k) scores(r, k) += offset(start + r, k);
        for (index r = 0; r < strip.room(); ++r) {
            double *const own = scores.data + r * width, top = own[0];
            for (index k = 1; k < width; ++k) top = own[k] > top ? own[k] : top;
            for (index k = 0; k < width; ++k) own[k] -= top;
        }
    }

    // Turn shifted scores into probabilities; writes the sums of their exponentials.
    void normalise(double* mass) {
        exponentials(scores.data, scores.size());
        for (index r = 0; r < strip.room(); ++r) {
            double *const own = scores.data + r * width, total = 0.0;
            for (index k = 0; k < width; ++k) total += own[k];
            const double share = 1.0 / total;
            for (index k = 0; k < width; ++k) own[k] *= share;
            mass[r] = total;
        }
    }

    // Add `slopes' rows`, the slopes having taken the place of the scores.
    void add_products(Matrix<double> products) const {
        for (index k = 0; k < products.shape[0]; ++k) strip.add(scores.data + k, width, products.data + k * p);
    }

    index room() const { return strip.room(); }

private:
    Strip<X> strip;
    index p, width;
    Room<double, 2> coefs;
    Room<double, 1> intercepts;

public:
    Room<double, 2> scores;
};

void require_offset(const auto& X, Matrix<const double> offset, index classes) {
    require(offset.shape[0] == X.shape[0] && (offset.shape[1] == 0 || offset.shape[1] == classes),
            "Known scores are of all rows and classes.");
}

// Add the sum over rows of `slopes' (x - centre)` and of the slopes; the sum of the losses.
double add_softmax_gradient(const Reals<2>& table, Vector<const double> centre, Matrix<const double> coef,
                            Vector<const double> intercept, Matrix<const double> offset, const Codes& codes,
                            Vector<const double> weight, Matrix<double> products, Vector<double> sums) {
    return std::visit(
        [&](const auto X, const auto code) {
            const index classes = coef.shape[0];
            SoftmaxStrip strip(X, centre, coef, intercept);
            require_of_rows(X, code, weight);
            require_offset(X, offset, classes);
            require(products.shape == coef.shape && sums.size() == classes, "One sum for each class.");
            require_below(code, classes, "There is no class of that number.");
            double mass[strip_rows], total = 0.0;
            for (index start = 0; start < X.shape[0]; start += strip.room()) {
                const index count = strip.score(start);
                strip.shift(offset, start, count);
                for (index r = 0; r < count; ++r)
                    total -= weight.data[start + r] * strip.scores(r, index(code.data[start + r]));
                strip.normalise(mass);
                for (index r = 0; r < count; ++r) {
                    const double own = weight.data[start + r];
                    total += own * logarithm(mass[r]);
                    strip.scores(r, index(code.data[start + r])) -= 1.0;
                    for (index k = 0; k < classes; ++k) sums.data[k] += strip.scores(r, k) *= own;
                }
                strip.add_products(products);
            }
            return total;
        },
        table, codes);
}

// Write the probabilities of each row, (rows, K).
void softmax_probabilities(const Reals<2>& table, Vector<const double> centre, Matrix<const double> coef,
                           Vector<const double> intercept, Matrix<const double> offset, Matrix<double> out) {
    std::visit(
        [&](const auto X) {
            const index classes = coef.shape[0];
            SoftmaxStrip strip(X, centre, coef, intercept);
            require_offset(X, offset, classes);
            require(out.shape[0] == X.shape[0] && out.shape[1] == classes, "One probability for each class.");
            double mass[strip_rows];
            for (index start = 0; start < X.shape[0]; start += strip.room()) {
                const index count = strip.score(start);
                strip.shift(offset, start, count);
                strip.normalise(mass);
                for (index r = 0; r < count; ++r)
                    for (index k = 0; k < classes; ++k) out(start + r, k) = strip.scores(r, k);
            }
        },
        table);
}

// Add the sum over rows of `w (diag(p) - p p') change (x - centre)'`, change the scores of `coef`.
void add_softmax_hessian_product(const Reals<2>& table, Vector<const double> centre, Matrix<const double> coef,
                                 Vector<const double> intercept, Matrix<const double> probability,
                                 Vector<const double> weight, Matrix<double> products, Vector<double> sums) {
    std::visit(
        [&](const auto X) {
            const index classes = coef.shape[0];
            SoftmaxStrip strip(X, centre, coef, intercept);
            require_of_rows(X, weight);
            require(probability.shape[0] == X.shape[0] && probability.shape[1] == classes,
                    "One probability for each class.");
            require(products.shape == coef.shape && sums.size() == classes, "One sum for each class.");
            for (index start = 0; start < X.shape[0]; start += strip.room()) {
                const index count = strip.score(start);
                for (index r = 0; r < count; ++r) {
                    const double* const share = &probability(start + r, 0);
                    double mean = 0.0;
                    for (index k = 0; k < classes; ++k) mean += share[k] * strip.scores(r, k);
                    for (index k = 0; k < classes; ++k) {
                        const double slope = weight.data[start + r] * share[k] * (strip.scores(r, k) - mean);
                        strip.scores(r, k) = slope;
                        sums.data[k] += slope;
                    }
                }
                // Rows beyond the last are zeros, and so is their part.
                strip.add_products(products);
            }
        },
        table);
}

}  // namespace

void bind_losses(nanobind::module_& module) {
    module.attr("LOGISTIC") = static_cast<int>(logistic);
    module.attr("SQUARED_HINGE") = static_cast<int>(squared_hinge);
    module.attr("SMOOTHED_HINGE") = static_cast<int>(smoothed_hinge);
    module.attr("SQUARED") = static_cast<int>(squared);
    module.attr("SQUARED_SIGMOID") = static_cast<int>(squared_sigmoid);
    kernel(module, "values_and_slopes", values_and_slopes, "Write the value and the first derivative at each margin.");
    kernel(module, "curvatures", curvatures, "Write the second derivative at each margin.");
    kernel(module, "mean_logistic_loss", mean_logistic_loss,
           "The mean of ``log(1 + e^-m)`` over rows; writes the weighted slopes and curvatures in the scores.");
    kernel(module, "losses_of_scores", losses_of_scores,
           "Add the losses of several scores of a row to ``values``, and write the slopes.\n\n"
           "``weight`` has one column for each score, or one for all.");
    kernel(module, "add_gradient", add_gradient,
           "Add the sum over rows of ``slope * (x - centre)`` to ``gradient``; the sums of losses and of slopes.");
    kernel(module, "add_hessian_product", add_hessian_product,
           "Add the sum over rows of ``curvature * score * (x - centre)`` to ``product``; that of ``curvature * score``.");
    kernel(module, "add_newton", add_newton,
           "The same as ``add_gradient``, and rows times the root of their curvature (and that root last) in "
           "``scaled``.\n\nRows whose curvature is not above ``flat`` are left out there; the number of those written "
           "is returned last.");
    kernel(module, "add_softmax_gradient", add_softmax_gradient,
           "Add the sum over rows of ``slopes' (x - centre)`` and of the slopes; the sum of the losses.");
    kernel(module, "softmax_probabilities", softmax_probabilities, "Write the probabilities of each row, (rows, K).");
    kernel(module, "add_softmax_hessian_product", add_softmax_hessian_product,
           "Add the sum over rows of ``w (diag(p) - p p') change (x - centre)'``, change the scores of ``coef``.");
}

}  // namespace discriminant
