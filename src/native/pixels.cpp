// Class codes of the pixels of an image in band order, without a transposed copy.
//
// Shapes: `pixels` (bands, n) of any number type, `valid` (n,), `centre` (bands,), `labels` and `constants` (K,), `out`
// (n,) whole numbers. Pixels are taken in strips that stay in the first cache, and every inner loop runs along a strip:
// no transposed float64 copy of the image is ever made.

#include "bindings.hpp"
#include "elementary.hpp"
#include "lanes.hpp"
#include "rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace discriminant {
namespace {

constexpr index strip_width = 256;

using Pixels = std::variant<Matrix<const std::uint8_t>, Matrix<const std::uint16_t>, Matrix<const std::int16_t>,
                            Matrix<const float>, Matrix<const double>, Matrix<const std::int8_t>,
                            Matrix<const std::int32_t>, Matrix<const std::uint32_t>, Matrix<const std::int64_t>,
                            Matrix<const std::uint64_t>>;

// A strip of an image, measured from the centre, and the class that each pixel's score is highest for.
struct Strip {
    Buffer<double, 2> values;
    double best[strip_width], score[strip_width];
    std::int64_t winner[strip_width];
    index width = 0;

    explicit Strip(index bands) : values({bands, strip_width}, 0.0) {}

    void read(const auto& pixels, index start, Vector<const double> centre) {
        width = std::min(strip_width, pixels.shape[1] - start);
        for (index j = 0; j < centre.size(); ++j) {
            const auto* const band = pixels.data + j * pixels.shape[1] + start;
            double* const row = values.data + j * strip_width;
            const double middle = centre.data[j];
            for (index i = 0; i < width; ++i) row[i] = static_cast<double>(band[i]) - middle;
        }
        std::fill_n(best, width, -std::numeric_limits<double>::infinity());
        std::fill_n(winner, width, -1);
    }

    // Add a multiple of a band to what is collected for each pixel.
    void add_band(index j, double factor, double* __restrict sums) const {
        const double* const row = values.data + j * strip_width;
        for (index i = 0; i < width; ++i) sums[i] += factor * row[i];
    }

    void compare(std::int64_t k) {
        for (index i = 0; i < width; ++i) {
            const bool better = score[i] > best[i];
            best[i] = better ? score[i] : best[i];
            winner[i] = better ? k : winner[i];
        }
    }
};

// Write the label of the class with the highest score for every valid pixel; `find(strip, each)` leaves
// the score of a class in the strip and calls `each` with its index. Pixels
// that are not valid, or that no class won, have none.
template <class Code>
void label_pixels(const Pixels& image, Vector<const bool> valid, Vector<const double> centre,
                  Vector<const Code> labels, index classes, Code nodata, Vector<Code> out, auto&& find) {
    std::visit(
        [&](const auto& pixels) {
            const auto [bands, n] = pixels.shape;
            require(centre.size() == bands && valid.size() == n && out.size() == n && labels.size() >= classes,
                    "The shapes of pixels, classes and codes do not fit each other.");
            Strip strip(bands);
            for (index start = 0; start < n; start += strip_width) {
                strip.read(pixels, start, centre);
                find(strip, [&](index k) { strip.compare(k); });
                for (index i = 0; i < strip.width; ++i)
                    out.data[start + i] =
                        valid.data[start + i] && strip.winner[i] >= 0 ? labels.data[strip.winner[i]] : nodata;
            }
        },
        image);
}

// Write the probability of every class times 65,535 for every valid pixel, and 0 for others; `find(strip, each)` leaves
// the score of a class in the strip, a logarithm up to a constant, and calls `each` with its index.
void write_shares(const Pixels& image, Vector<const bool> valid, Vector<const double> centre, Matrix<std::uint16_t> out,
                  auto&& find) {
    std::visit(
        [&](const auto& pixels) {
            const auto [bands, n] = pixels.shape;
            const index classes = out.shape[0];
            require(centre.size() == bands && valid.size() == n && out.shape[1] == n,
                    "The shapes of pixels, classes and shares do not fit each other.");
            Strip strip(bands);
            Buffer<double, 2> scores(classes, strip_width);
            double mass[strip_width];
            for (index start = 0; start < n; start += strip_width) {
                strip.read(pixels, start, centre);
                const index width = strip.width;
                find(strip, [&](index k) {
                    for (index i = 0; i < width; ++i) {
                        strip.best[i] = std::max(strip.best[i], strip.score[i]);
                        scores(k, i) = strip.score[i];
                    }
                });
                std::fill_n(mass, width, 0.0);
                for (index k = 0; k < classes; ++k) {
                    double* const own = &scores(k, 0);
                    for (index i = 0; i < width; ++i) own[i] = exponential(own[i] - strip.best[i]);
                    for (index i = 0; i < width; ++i) mass[i] += own[i];
                }
                for (index i = 0; i < width; ++i)
                    mass[i] = valid.data[start + i] && std::isfinite(mass[i]) ? 65535.0 / mass[i] : 0.0;
                for (index k = 0; k < classes; ++k)
                    for (index i = 0; i < width; ++i)
                        out(k, start + i) = static_cast<std::uint16_t>(
                            static_cast<std::int32_t>(mass[i] > 0.0 ? scores(k, i) * mass[i] + 0.5 : 0.0));
            }
        },
        image);
}

// The scores `(x - centre) . coef_k + constant_k` of the classes.
auto linear_scores(Matrix<const double> coef, Vector<const double> constants, index bands) {
    const auto [classes, columns] = coef.shape;
    require(columns == bands && constants.size() == classes, "One coefficient for each band and class.");
    const index rows = (classes + block_rows - 1) / block_rows * block_rows;
    Buffer<double, 2> weights({rows, bands}, 0.0), scores({rows, strip_width}, 0.0);
    copy(weights.part(0, classes), coef);
    return [=, classes = classes, weights = std::move(weights), scores = std::move(scores)](Strip& strip, auto&& each) {
        for (index k = 0; k < classes; ++k) std::fill_n(&scores(k, 0), strip_width, constants[k]);
        add_product(weights.data, bands, 1, rows, strip.values.data, bands, strip_width, scores.data);
        for (index k = 0; k < classes; ++k) {
            std::copy_n(&scores(k, 0), strip.width, strip.score);
            each(k);
        }
    };
}

// The scores `constant_k - |(x - centre) W_k - offset_k|^2 / 2` of the classes.
//
// `spheres` holds the W_k (bands, bands); triangular ones take half the time.
auto quadratic_scores(Matrix<const double> offsets, Cube<const double> spheres, Vector<const double> constants,
                      index bands) {
    const auto [classes, axes] = offsets.shape;
    require(constants.size() == classes && spheres.shape == std::array{classes, bands, axes},
            "One sphere and constant for each class.");
    return [=, classes = classes, axes = axes](Strip& strip, auto&& each) {
        double axis[strip_width], length[strip_width];
        for (index k = 0; k < classes; ++k) {
            std::fill_n(length, strip.width, 0.0);
            for (index r = 0; r < axes; ++r) {
                std::fill_n(axis, strip.width, -offsets(k, r));
                for (index j = 0; j < bands; ++j)
                    if (spheres(k, j, r) != 0.0) strip.add_band(j, spheres(k, j, r), axis);
                for (index i = 0; i < strip.width; ++i) length[i] += axis[i] * axis[i];
            }
            for (index i = 0; i < strip.width; ++i) strip.score[i] = constants[k] - 0.5 * length[i];
            each(k);
        }
    };
}

// The label of the class with the highest score.
template <class Code>
void linear_codes(const Pixels& image, Vector<const bool> valid, Vector<const double> centre,
                  Matrix<const double> coef, Vector<const double> constants, Vector<const Code> labels, Code nodata,
                  Vector<Code> out) {
    label_pixels(image, valid, centre, labels, coef.shape[0], nodata, out,
                 linear_scores(coef, constants, centre.size()));
}

template <class Code>
void quadratic_codes(const Pixels& image, Vector<const bool> valid, Vector<const double> centre,
                     Matrix<const double> offsets, Cube<const double> spheres, Vector<const double> constants,
                     Vector<const Code> labels, Code nodata, Vector<Code> out) {
    label_pixels(image, valid, centre, labels, offsets.shape[0], nodata, out,
                 quadratic_scores(offsets, spheres, constants, centre.size()));
}

void linear_shares(const Pixels& image, Vector<const bool> valid, Vector<const double> centre,
                   Matrix<const double> coef, Vector<const double> constants, Matrix<std::uint16_t> out) {
    require(out.shape[0] == coef.shape[0], "One share for each class.");
    write_shares(image, valid, centre, out, linear_scores(coef, constants, centre.size()));
}

void quadratic_shares(const Pixels& image, Vector<const bool> valid, Vector<const double> centre,
                      Matrix<const double> offsets, Cube<const double> spheres, Vector<const double> constants,
                      Matrix<std::uint16_t> out) {
    require(out.shape[0] == offsets.shape[0], "One share for each class.");
    write_shares(image, valid, centre, out, quadratic_scores(offsets, spheres, constants, centre.size()));
}

// The label of the class with the largest share, the first of several, and `nodata` for pixels that are not valid.
template <class Code>
void highest_codes(Matrix<const std::uint16_t> shares, Vector<const bool> valid, Vector<const Code> labels, Code nodata,
                   Vector<Code> out) {
    const auto [classes, n] = shares.shape;
    require(labels.size() == classes && classes > 0 && valid.size() == n && out.size() == n, "Shapes differ.");
    std::uint16_t best[strip_width], winner[strip_width];
    for (index start = 0; start < n; start += strip_width) {
        const index width = std::min(strip_width, n - start);
        std::copy_n(shares.data + start, width, best);
        std::fill_n(winner, width, std::uint16_t{0});
        for (index k = 1; k < classes; ++k) {
            const std::uint16_t* const own = shares.data + k * n + start;
            for (index i = 0; i < width; ++i) {
                const bool larger = own[i] > best[i];
                best[i] = larger ? own[i] : best[i];
                winner[i] = larger ? static_cast<std::uint16_t>(k) : winner[i];
            }
        }
        for (index i = 0; i < width; ++i)
            out.data[start + i] = valid.data[start + i] ? labels.data[winner[i]] : nodata;
    }
}

// Add the pixels and the area of every code of a window to `counts` and `areas`, which are as long as there are codes.
//
// In row `r` the area of a pixel is linear in its column between `nodes` (in columns of the window, increasing), where
// it is `values(r, .)`; before the first and after the last node the outer pieces go on. Counts and sums of columns are
// collected in one integer for each code and piece, so that areas cost no more than counts, and are exact.
template <class Code>
void code_areas(Matrix<const Code> codes, Vector<const double> nodes, Matrix<const double> values,
                Vector<std::int64_t> counts, Vector<double> areas) {
    const auto [height, width] = codes.shape;
    const index pieces = nodes.size() - 1, n = counts.size();
    constexpr index column_bits = 40, longest = index{1} << 16;
    require(pieces >= 1 && values.shape == std::array{height, pieces + 1}, "One value for each row and node.");
    require(areas.size() == n && width < longest, "One count and area for each code.");
    require(all_below(std::span<const Code>(codes.data, static_cast<std::size_t>(codes.size())), n), "Unknown code.");
    constexpr index lines = 4;  // neighbouring pixels often have one code: sums in turn need not wait for each other
    Buffer<std::uint64_t, 2> sums({lines, n}, 0);
    for (index r = 0; r < height; ++r) {
        index start = 0;
        for (index j = 0; j < pieces && start < width; ++j) {
            const double end = j + 1 < pieces ? std::clamp(std::ceil(nodes[j + 1]), 0.0, static_cast<double>(width)) : width;
            const index stop = static_cast<index>(end);
            const Code* const row = codes.data + r * width;
            for (index i = start; i < stop; ++i)
                sums((i - start) % lines, row[i]) += (std::uint64_t{1} << column_bits) + static_cast<std::uint64_t>(i - start);
            if (stop <= start) continue;
            const double slope = (values(r, j + 1) - values(r, j)) / (nodes[j + 1] - nodes[j]);
            const double first = values(r, j) + slope * (static_cast<double>(start) - nodes[j]);
            for (index k = 0; k < n; ++k) {
                std::uint64_t sum = 0;
                for (index line = 0; line < lines; ++line) sum += std::exchange(sums(line, k), 0);
                const auto pixels = static_cast<std::int64_t>(sum >> column_bits);
                counts[k] += pixels;
                areas[k] += static_cast<double>(pixels) * first +
                            slope * static_cast<double>(sum & ((std::uint64_t{1} << column_bits) - 1));
            }
            start = stop;
        }
    }
}

template <class Code>
void bind_codes(nanobind::module_& module) {
    kernel(module, "linear_codes", linear_codes<Code>,
           "Write the label of the class with the highest ``(x - centre) . coef_k + constant_k`` for every valid pixel.");
    kernel(module, "quadratic_codes", quadratic_codes<Code>,
           "Write the label of the class with the highest ``constant_k - |(x - centre) W_k - offset_k|^2 / 2``.\n\n"
           "``spheres`` holds the W_k (bands, bands); triangular ones take half the time.");
    kernel(module, "highest_codes", highest_codes<Code>, "Write the label of the class with the largest share.");
    kernel(module, "code_areas", code_areas<Code>,
           "Add the pixels and the area of every code of a window; areas are linear between ``nodes`` in every row.");
}

}  // namespace

void bind_pixels(nanobind::module_& module) {
    bind_codes<std::uint8_t>(module);
    bind_codes<std::uint16_t>(module);
    bind_codes<std::int32_t>(module);
    kernel(module, "linear_shares", linear_shares,
           "Write the probability of every class times 65,535, the softmax of the scores of `linear_codes`.");
    kernel(module, "quadratic_shares", quadratic_shares, "The same of the scores of `quadratic_codes`.");
}

}  // namespace discriminant
