// Smoothing of class probabilities by their neighbourhood, and removal of small patches of class maps.
//
// Probabilities are whole numbers from 0 to 65,535, shape (K, height, width): their sums over windows are exact, so a
// pixel has the same result in whatever part of the image it is computed. Pixels that are not valid do not count.

#include "bindings.hpp"
#include "elementary.hpp"
#include "rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace discriminant {
namespace {

using Share = std::uint16_t;
constexpr double one = 65535.0;

Share share(double value) { return static_cast<Share>(std::clamp(value * one, 0.0, one) + 0.5); }

// Divide the numbers that the classes have at every pixel of a row by their sum, and write them as shares.
void write_shares(Matrix<double> values, index row, Cube<Share> out, double* sums) {
    const auto [classes, width] = values.shape;
    std::fill_n(sums, width, 0.0);
    for (index k = 0; k < classes; ++k)
        for (index i = 0; i < width; ++i) sums[i] += values(k, i);
    for (index i = 0; i < width; ++i) sums[i] = sums[i] > 0.0 ? 1.0 / sums[i] : 0.0;
    for (index k = 0; k < classes; ++k)
        for (index i = 0; i < width; ++i) out(k, row, i) = share(values(k, i) * sums[i]);
}

// Sums over the columns of a window of `radius`, from sums over its rows.
template <class T>
void sum_along(const T* columns, index width, index radius, T* out) {
    T sum = 0;
    for (index i = 0; i < std::min(radius, width); ++i) sum += columns[i];
    for (index i = 0; i < width; ++i) {
        if (i + radius < width) sum += columns[i + radius];
        out[i] = sum;
        if (i >= radius) sum -= columns[i - radius];
    }
}

// Posterior means of the probabilities, if those of each class vary normally about the mean of its neighbourhood.
//
// With the mean m and variance v of a class in the window of a pixel, its probability p becomes
// `(v p + noise m) / (v + noise)`; m itself if `noise` is infinite. The results are divided by their sum.
void neighbourhood_means(Cube<const Share> shares, Matrix<const bool> valid, index radius, double noise,
                         Cube<Share> out) {
    const auto [classes, height, width] = shares.shape;
    require(out.shape == shares.shape && valid.shape == std::array{height, width}, "Shapes differ.");
    require(radius >= 0 && radius <= 64 && noise > 0.0, "Invalid window or noise.");
    const bool plain = std::isinf(noise);
    // Sums are whole numbers below 2^31, and those of squares below 2^53, so that all are exact.
    Buffer<std::int32_t, 2> sums({classes, width}, 0);
    Buffer<double, 2> squares({plain ? 0 : classes, width}, 0.0);
    Buffer<std::int32_t, 1> counts({width}, 0), own(width), count(width);
    Buffer<double, 1> own_square(width);
    Buffer<double, 2> values(classes, width);
    Buffer<double, 1> total(width), per_count(width);
    const auto add = [&](index row, std::int32_t sign) {
        const bool* const seen = &valid(row, 0);
        for (index i = 0; i < width; ++i) counts[i] += sign * seen[i];
        for (index k = 0; k < classes; ++k) {
            const Share* const p = &shares(k, row, 0);
            std::int32_t* const sum = &sums(k, 0);
            for (index i = 0; i < width; ++i) sum[i] += sign * (seen[i] ? p[i] : 0);
            if (plain) continue;
            double* const square = &squares(k, 0);
            for (index i = 0; i < width; ++i) {
                const double value = seen[i] ? p[i] : 0;
                square[i] += sign * value * value;
            }
        }
    };
    if (height == 0 || width == 0) return;
    for (index row = 0; row < std::min(radius, height); ++row) add(row, 1);
    for (index row = 0; row < height; ++row) {
        if (row + radius < height) add(row + radius, 1);
        sum_along(counts.data, width, radius, count.data);
        for (index i = 0; i < width; ++i) per_count[i] = count[i] ? 1.0 / (one * count[i]) : 0.0;
        for (index k = 0; k < classes; ++k) {
            const Share* const p = &shares(k, row, 0);
            double* const value = &values(k, 0);
            sum_along(&sums(k, 0), width, radius, own.data);
            for (index i = 0; i < width; ++i) value[i] = own[i] * per_count[i];
            if (plain) continue;
            sum_along(&squares(k, 0), width, radius, own_square.data);
            for (index i = 0; i < width; ++i) {
                const double mean = value[i];
                const double variance = std::max(0.0, own_square[i] * per_count[i] * (1 / one) - mean * mean);
                value[i] = mean + variance / (variance + noise) * (p[i] * (1 / one) - mean);
            }
        }
        write_shares(values, row, out, total.data);
        if (row >= radius) add(row - radius, -1);
    }
}

// Iterated conditional modes of a Potts model (Besag 1986): the energy of a class at a pixel is minus the logarithm of
// its probability and minus `beta` for each of the eight neighbours with that class.
//
// Pixels are updated in four sets without neighbours in a set, by the parity of their row and column in the image
// (`top`, `left` are those of the first pixel), so the result does not depend on the part of the image; a sweep reaches
// at most four pixels. `out` are the conditional probabilities given the neighbours after the last sweep.
void potts_modes(Cube<const Share> shares, Matrix<const bool> valid, double beta, index sweeps, index top, index left,
                 Cube<Share> out) {
    const auto [classes, height, width] = shares.shape;
    require(out.shape == shares.shape && valid.shape == std::array{height, width}, "Shapes differ.");
    require(beta >= 0.0 && std::isfinite(beta) && sweeps >= 0 && classes < 65535, "Invalid strength or sweeps.");
    constexpr std::uint16_t nothing = 65535;
    const index line = width + 2;
    Buffer<std::uint16_t, 2> labels({height + 2, line}, nothing);
    Buffer<float, 1> logarithms(65536);
    for (index i = 0; i < 65536; ++i)
        logarithms[i] = static_cast<float>(logarithm(std::max(static_cast<double>(i), 0.5) / one));
    for (index row = 0; row < height; ++row)
        for (index i = 0; i < width; ++i) {
            if (!valid(row, i)) continue;
            std::uint16_t best = 0;
            for (index k = 1; k < classes; ++k)
                if (shares(k, row, i) > shares(best, row, i)) best = static_cast<std::uint16_t>(k);
            labels(row + 1, i + 1) = best;
        }
    std::vector<int> near(static_cast<std::size_t>(classes) + 1, 0);
    const std::array<index, 8> around{-line - 1, -line, -line + 1, -1, 1, line - 1, line, line + 1};
    const auto count = [&](const std::uint16_t* place) {
        std::fill(near.begin(), near.end(), 0);
        for (index offset : around) ++near[std::min<index>(place[offset], classes)];
    };
    for (index sweep = 0; sweep < sweeps; ++sweep)
        for (index set = 0; set < 4; ++set)
            for (index row = (set / 2 + top) % 2; row < height; row += 2)
                for (index i = (set % 2 + left) % 2; i < width; i += 2) {
                    if (!valid(row, i)) continue;
                    std::uint16_t* const place = &labels(row + 1, i + 1);
                    count(place);
                    float best = -std::numeric_limits<float>::infinity();
                    for (index k = 0; k < classes; ++k) {
                        const float gain = logarithms[shares(k, row, i)] + static_cast<float>(beta * near[k]);
                        if (gain > best) best = gain, *place = static_cast<std::uint16_t>(k);
                    }
                }
    Buffer<double, 2> values(classes, width);
    Buffer<double, 1> total(width);
    for (index row = 0; row < height; ++row) {
        values.fill(0.0);
        for (index i = 0; i < width; ++i) {
            if (!valid(row, i)) continue;
            count(&labels(row + 1, i + 1));
            double best = -std::numeric_limits<double>::infinity();
            for (index k = 0; k < classes; ++k) {
                values(k, i) = logarithms[shares(k, row, i)] + beta * near[k];
                best = std::max(best, values(k, i));
            }
            for (index k = 0; k < classes; ++k) values(k, i) = exponential(values(k, i) - best);
        }
        write_shares(values, row, out, total.data);
    }
}

// Patches: connected pixels of one code, by the index of their first pixel.
template <class Code>
std::vector<std::int32_t> patches(Matrix<const Code> codes) {
    const auto [height, width] = codes.shape;
    std::vector<std::int32_t> parent(static_cast<std::size_t>(height * width));
    const auto root = [&](std::int32_t i) {
        while (parent[i] != i) i = parent[i] = parent[parent[i]];
        return i;
    };
    const auto join = [&](std::int32_t a, std::int32_t b) {
        a = root(a), b = root(b);
        parent[std::max(a, b)] = std::min(a, b);
    };
    for (index row = 0; row < height; ++row)
        for (index i = 0; i < width; ++i) {
            const auto here = static_cast<std::int32_t>(row * width + i);
            const bool beside = i > 0 && codes(row, i) == codes(row, i - 1);
            const bool above = row > 0 && codes(row, i) == codes(row - 1, i);
            parent[here] = beside ? parent[here - 1] : here;
            if (above) join(here, here - static_cast<std::int32_t>(width));
        }
    for (std::size_t i = 0; i < parent.size(); ++i) parent[i] = parent[parent[i]];
    return parent;
}

// Replace patches of fewer than `least` pixels, connected along sides, by the larger patches around them.
//
// These grow ring by ring into the small ones, along sides, up to `least` rings; a pixel takes the code that most of its
// neighbours of the ring before have, the smallest code of several. Each pixel depends on those within 2 `least` pixels
// only. Pixels of the code `nodata` neither grow nor change.
template <class Code>
void sieve(Matrix<const Code> codes, Code nodata, index least, Matrix<Code> out) {
    const auto [height, width] = codes.shape;
    require(out.shape == codes.shape && least >= 1, "Shapes differ.");
    require(codes.size() < std::numeric_limits<std::int32_t>::max(), "Too many pixels.");
    const auto patch = patches(codes);
    std::vector<std::int32_t> sizes(patch.size(), 0);
    for (auto one : patch) ++sizes[one];
    std::copy(codes.begin(), codes.end(), out.data);
    std::vector<std::uint8_t> is_open(patch.size());
    std::vector<std::int32_t> open, next;
    for (std::size_t i = 0; i < patch.size(); ++i)
        if ((is_open[i] = codes.data[i] != nodata && sizes[patch[i]] < least)) open.push_back(static_cast<std::int32_t>(i));
    std::vector<std::pair<std::int32_t, Code>> ring;
    for (index step = 0; step < least && !open.empty(); ++step) {
        ring.clear(), next.clear();
        for (auto i : open) {
            const index row = i / width, column = i % width;
            Code found[4]{};
            int n = 0;
            const auto look = [&](bool inside, index j) {
                if (inside && !is_open[j] && out.data[j] != nodata) found[n++] = out.data[j];
            };
            look(row > 0, i - width), look(column > 0, i - 1);
            look(column + 1 < width, i + 1), look(row + 1 < height, i + width);
            if (n == 0) {
                next.push_back(i);
                continue;
            }
            std::sort(found, found + n);
            Code best = found[0];
            int most = 0;
            for (int a = 0, b = 0; a < n; a = b) {
                while (b < n && found[b] == found[a]) ++b;
                if (b - a > most) most = b - a, best = found[a];
            }
            ring.emplace_back(i, best);
        }
        for (auto [i, code] : ring) out.data[i] = code, is_open[i] = false;
        if (ring.empty()) break;
        open.swap(next);
    }
}

template <class Code>
void bind_sieve(nanobind::module_& module) {
    kernel(module, "sieve", sieve<Code>,
           "Replace patches of fewer than ``least`` pixels by the larger patches around them, which grow into them.");
}

}  // namespace

void bind_context(nanobind::module_& module) {
    kernel(module, "neighbourhood_means", neighbourhood_means,
           "Write the posterior means of probabilities (0 to 65,535) given those in the window of each pixel.");
    kernel(module, "potts_modes", potts_modes,
           "Write the conditional probabilities of a Potts model given the neighbours, after iterated conditional modes.");
    bind_sieve<std::uint8_t>(module);
    bind_sieve<std::uint16_t>(module);
}

}  // namespace discriminant
