// Losses of a margin m as function objects: value, first and second derivative.
#pragma once

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
        const double room = 1.0 - margin, shortfall = room < 0.0 ? 0.0 : room;
        return {shortfall * shortfall, -2.0 * shortfall, margin < 1.0 ? 2.0 : 0.0};
    }
};

// (u + sqrt(u^2 + 4 width^2)) / 2, u = 1 - m: the hinge, smoothed within `width` of its kink.
struct SmoothedHinge {
    double width;
    DISCRIMINANT_INLINE Derivatives operator()(double margin) const {
        const double room = 1.0 - margin, square = width * width, root = std::sqrt(room * room + 4.0 * square);
        // Far on the right side room + root would cancel.
        const double value = room > 0 ? 0.5 * (room + root) : 2.0 * square / (root - room);
        return {value, -value / root, 2.0 * square / (root * root * root)};
    }
};

struct Squared {
    DISCRIMINANT_INLINE Derivatives operator()(double margin) const {
        return {0.5 * (1.0 - margin) * (1.0 - margin), margin - 1.0, 1.0};
    }
};

// (1 - s)^2, s = 1 / (1 + e^-m) the probability of the row's own class.
struct SquaredSigmoid {
    DISCRIMINANT_INLINE Derivatives operator()(double margin) const {
        const double decay = exponential(-std::abs(margin)), wrong = (margin > 0 ? decay : 1.0) / (1.0 + decay);
        const double spread = (1.0 - wrong) * wrong * wrong;
        return {wrong * wrong, -2.0 * spread, 2.0 * spread * (2.0 - 3.0 * wrong)};
    }
};

enum LossCode { logistic, squared_hinge, smoothed_hinge, squared, squared_sigmoid };

// Call a function with the loss of this code; the width is that of a smoothed one.
template <class Function>
decltype(auto) with_loss(int code, double width, Function&& function) {
    switch (code) {
        case logistic: return function(Logistic{});
        case squared_hinge: return function(SquaredHinge{});
        case smoothed_hinge: return function(SmoothedHinge{width});
        case squared: return function(Squared{});
        case squared_sigmoid: return function(SquaredSigmoid{});
        default: throw std::invalid_argument("There is no loss of this code.");
    }
}

}  // namespace discriminant
