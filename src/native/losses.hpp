// Losses as function objects: of a margin m, with value, first and second derivative, and of the scores of a row.
#pragma once

#include "arrays.hpp"
#include "elementary.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace discriminant {

struct Derivatives {
    double value, slope, curvature;
};

// log(1 + e^-m); nothing overflows.
struct Logistic {
    DISCRIMINANT_INLINE Derivatives operator()(double margin) const {
        const double decay = exponential(-std::abs(margin)), share = 1.0 / (1.0 + decay);
        const double wrong = (margin > 0 ? decay : 1.0) * share;
        return {log_one_plus(decay) + (margin < 0 ? -margin : 0.0), -wrong, decay * share * share};
    }
};

struct SquaredHinge {
    DISCRIMINANT_INLINE Derivatives operator()(double margin) const {
        const double slack = margin < 1.0 ? 1.0 - margin : 0.0;
        return {slack * slack, -2.0 * slack, margin < 1.0 ? 2.0 : 0.0};
    }
};

// (u + sqrt(u^2 + 4 width^2)) / 2, u = 1 - m: the hinge, smoothed within `width` of margin 1.
struct SmoothedHinge {
    double width;
    DISCRIMINANT_INLINE Derivatives operator()(double margin) const {
        const double u = 1.0 - margin, square = width * width, root = std::sqrt(u * u + 4.0 * square);
        // For large margins u + root would cancel.
        const double value = u > 0 ? 0.5 * (u + root) : 2.0 * square / (root - u);
        return {value, -value / root, 2.0 * square / (root * root * root)};
    }
};

struct Squared {
    DISCRIMINANT_INLINE Derivatives operator()(double margin) const {
        return {0.5 * (1.0 - margin) * (1.0 - margin), margin - 1.0, 1.0};
    }
};

// (1 - s)^2, s = 1 / (1 + e^-m) the probability of the row's class.
struct SquaredSigmoid {
    DISCRIMINANT_INLINE Derivatives operator()(double margin) const {
        const double decay = exponential(-std::abs(margin)), wrong = (margin > 0 ? decay : 1.0) / (1.0 + decay);
        const double slope = (1.0 - wrong) * wrong * wrong;
        return {wrong * wrong, -2.0 * slope, 2.0 * slope * (2.0 - 3.0 * wrong)};
    }
};

// max(1 - m, 0).
struct Hinge {
    DISCRIMINANT_INLINE Derivatives operator()(double margin) const {
        return {margin < 1.0 ? 1.0 - margin : 0.0, margin < 1.0 ? -1.0 : 0.0, 0.0};
    }
};

// max(-m, 0).
struct Perceptron {
    DISCRIMINANT_INLINE Derivatives operator()(double margin) const {
        return {margin < 0.0 ? -margin : 0.0, margin < 0.0 ? -1.0 : 0.0, 0.0};
    }
};

// Rows whose losses are found together: few enough to stay in the innermost cache, and enough to fill vector lanes
// however few classes there are.
inline constexpr index max_rows = 256;
inline index rows_together(index classes) {
    return std::clamp<index>(max_rows / std::max<index>(classes, 1), 1, max_rows);
}

// Subtract the largest score of a row from all; returns it.
inline double shift_to_largest(double* scores, index classes) {
    const auto larger = [](double a, double b) { return a > b ? a : b; };
    double a = scores[0], b = a, c = a, d = a;  // no comparison waits for the last
    index k = 0;
    for (; k + 4 <= classes; k += 4) {
        a = larger(scores[k], a);
        b = larger(scores[k + 1], b);
        c = larger(scores[k + 2], c);
        d = larger(scores[k + 3], d);
    }
    for (; k < classes; ++k) a = larger(scores[k], a);
    const double top = larger(larger(a, b), larger(c, d));
    for (k = 0; k < classes; ++k) scores[k] -= top;
    return top;
}

// Turn shifted scores of rows into probabilities; writes the sums of their exponentials, NaN without a finite largest.
inline void normalise(double* scores, index rows, index classes, double* mass) {
    exponentials(scores, rows * classes);
    for (index r = 0; r < rows; ++r) {
        double *const own = scores + r * classes, total = 0.0;
        for (index k = 0; k < classes; ++k) total += own[k];
        const double share = 1.0 / total;
        for (index k = 0; k < classes; ++k) own[k] *= share;
        mass[r] = total;
    }
}

// A loss of a margin as that of a row with one score, whose class is 0 or 1.
template <class Loss>
struct OfMargin {
    Loss loss;
    static constexpr bool has_one_score = true;

    // Turn scores of at most `max_rows` rows into the derivatives of their losses, which are written.
    void evaluate(double* scores, index rows, index, const std::int32_t* codes, double* values) const {
        for (index r = 0; r < rows; ++r) {
            const double sign = 2.0 * codes[r] - 1.0;
            const Derivatives found = loss(sign * scores[r]);
            values[r] = found.value;
            scores[r] = sign * found.slope;
        }
    }
    // Turn scores into what second derivatives follow from.
    void curvatures(double* scores, index rows, index, const std::int32_t* codes) const {
        for (index r = 0; r < rows; ++r) scores[r] = loss((2.0 * codes[r] - 1.0) * scores[r]).curvature;
    }
    // Multiply the change of a row's scores by its weighted second derivatives.
    static void multiply(const double* curvature, double weight, double* change, index) {
        *change *= weight * *curvature;
    }
};

// log(sum_k e^s_k) - s_y. Its second derivatives diag(p) - p p' follow from the probabilities p.
struct Softmax {
    static constexpr bool has_one_score = false;

    void evaluate(double* scores, index rows, index classes, const std::int32_t* codes, double* values) const {
        double mass[max_rows];
        for (index r = 0; r < rows; ++r) {
            double* const own = scores + r * classes;
            shift_to_largest(own, classes);
            values[r] = -own[codes[r]];
        }
        normalise(scores, rows, classes, mass);
        for (index r = 0; r < rows; ++r) {
            values[r] += logarithm(mass[r]);
            scores[r * classes + codes[r]] -= 1.0;
        }
    }
    void curvatures(double* scores, index rows, index classes, const std::int32_t*) const {
        double mass[max_rows];
        for (index r = 0; r < rows; ++r) shift_to_largest(scores + r * classes, classes);
        normalise(scores, rows, classes, mass);
    }
    static void multiply(const double* probability, double weight, double* change, index classes) {
        double mean = 0.0;
        for (index k = 0; k < classes; ++k) mean += probability[k] * change[k];
        for (index k = 0; k < classes; ++k) change[k] = weight * probability[k] * (change[k] - mean);
    }
};

enum class LossCode { logistic, squared_hinge, smoothed_hinge, squared, squared_sigmoid, hinge, perceptron, softmax };

// Call a function with the loss of rows of this code; the width is that of a smoothed one.
template <class Function>
decltype(auto) with_loss(int code, double width, Function&& function) {
    switch (static_cast<LossCode>(code)) {
        case LossCode::logistic: return function(OfMargin<Logistic>{});
        case LossCode::squared_hinge: return function(OfMargin<SquaredHinge>{});
        case LossCode::smoothed_hinge: return function(OfMargin<SmoothedHinge>{{width}});
        case LossCode::squared: return function(OfMargin<Squared>{});
        case LossCode::squared_sigmoid: return function(OfMargin<SquaredSigmoid>{});
        case LossCode::hinge: return function(OfMargin<Hinge>{});
        case LossCode::perceptron: return function(OfMargin<Perceptron>{});
        case LossCode::softmax: return function(Softmax{});
        default: throw std::invalid_argument("There is no loss of this code.");
    }
}

}  // namespace discriminant
