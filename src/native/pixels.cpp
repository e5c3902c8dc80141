// Class codes of the pixels of an image in band order, without a transposed copy.
//
// Shapes: `pixels` (bands, n) of any number type, `valid` (n,), `centre` (bands,), `labels` and `constants` (K,), `out`
// (n,) whole numbers. Pixels are taken in strips that stay in the first cache, and every inner loop runs along a strip:
// no transposed float64 copy of the image is ever made.

#include "bindings.hpp"
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

    explicit Strip(index bands) : values(bands, strip_width) {}

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

// Write the label of the class with the highest score for every valid pixel; `find(strip)` compares the classes. Pixels
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
                find(strip);
                for (index i = 0; i < strip.width; ++i)
                    out.data[start + i] =
                        valid.data[start + i] && strip.winner[i] >= 0 ? labels.data[strip.winner[i]] : nodata;
            }
        },
        image);
}

// The label of the class with the highest `(x - centre) . coef_k + constant_k`.
template <class Code>
void linear_codes(const Pixels& image, Vector<const bool> valid, Vector<const double> centre,
                  Matrix<const double> coef, Vector<const double> constants, Vector<const Code> labels, Code nodata,
                  Vector<Code> out) {
    const auto [classes, bands] = coef.shape;
    require(bands == centre.size() && constants.size() == classes, "One coefficient for each band and class.");
    label_pixels(image, valid, centre, labels, classes, nodata, out, [&, classes = classes, bands = bands](Strip& strip) {
        for (index k = 0; k < classes; ++k) {
            std::fill_n(strip.score, strip.width, constants[k]);
            for (index j = 0; j < bands; ++j) strip.add_band(j, coef(k, j), strip.score);
            strip.compare(k);
        }
    });
}

// The label of the class with the highest `constant_k - |(x - centre) W_k - offset_k|^2 / 2`.
//
// `spheres` holds the W_k (bands, bands); triangular ones take half the time.
template <class Code>
void quadratic_codes(const Pixels& image, Vector<const bool> valid, Vector<const double> centre,
                     Matrix<const double> offsets, Cube<const double> spheres, Vector<const double> constants,
                     Vector<const Code> labels, Code nodata, Vector<Code> out) {
    const auto [classes, axes] = offsets.shape;
    require(constants.size() == classes && spheres.shape == std::array{classes, centre.size(), axes},
            "One sphere and constant for each class.");
    const auto find = [&, classes = classes, axes = axes](Strip& strip) {
        double axis[strip_width], length[strip_width];
        for (index k = 0; k < classes; ++k) {
            std::fill_n(length, strip.width, 0.0);
            for (index r = 0; r < axes; ++r) {
                std::fill_n(axis, strip.width, -offsets(k, r));
                for (index j = 0; j < centre.size(); ++j)
                    if (spheres(k, j, r) != 0.0) strip.add_band(j, spheres(k, j, r), axis);
                for (index i = 0; i < strip.width; ++i) length[i] += axis[i] * axis[i];
            }
            for (index i = 0; i < strip.width; ++i) strip.score[i] = constants[k] - 0.5 * length[i];
            strip.compare(k);
        }
    };
    label_pixels(image, valid, centre, labels, classes, nodata, out, find);
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
    kernel(module, "code_areas", code_areas<Code>,
           "Add the pixels and the area of every code of a window; areas are linear between ``nodes`` in every row.");
}

}  // namespace

void bind_pixels(nanobind::module_& module) {
    bind_codes<std::uint8_t>(module);
    bind_codes<std::uint16_t>(module);
    bind_codes<std::int32_t>(module);
}

}  // namespace discriminant
