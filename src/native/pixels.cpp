// Class codes of the pixels of an image in band order, without a transposed copy.
//
// Shapes: `pixels` (bands, n) of any number type, `valid` (n,), `centre` (bands,), `labels` and `constants` (K,), `out`
// (n,) whole numbers. Pixels are taken in strips that stay in the first cache, and every inner loop runs along a strip:
// no transposed float64 copy of the image is ever made.

#include "bindings.hpp"
#include "rows.hpp"

#include <algorithm>
#include <limits>

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

template <class Code>
void bind_codes(nanobind::module_& module) {
    kernel(module, "linear_codes", linear_codes<Code>,
           "Write the label of the class with the highest ``(x - centre) . coef_k + constant_k`` for every valid pixel.");
    kernel(module, "quadratic_codes", quadratic_codes<Code>,
           "Write the label of the class with the highest ``constant_k - |(x - centre) W_k - offset_k|^2 / 2``.\n\n"
           "``spheres`` holds the W_k (bands, bands); triangular ones take half the time.");
}

}  // namespace

void bind_pixels(nanobind::module_& module) {
    bind_codes<std::uint8_t>(module);
    bind_codes<std::uint16_t>(module);
    bind_codes<std::int32_t>(module);
}

}  // namespace discriminant
