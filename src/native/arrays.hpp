// Views of arrays: what kernels take from Python, in place, and the buffers that they work in.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <variant>

namespace discriminant {

using index = std::ptrdiff_t;

// C-contiguous numbers of one type in D dimensions. Elements of a view of const numbers are only read.
template <class T, std::size_t D>
class Array {
public:
    T* data = nullptr;
    std::array<index, D> shape{};

    Array() = default;
    Array(T* data, std::array<index, D> shape) : data(data), shape(shape) {}
    operator Array<const T, D>() const requires(!std::is_const_v<T>) { return {data, shape}; }

    index size() const {
        index product = 1;
        for (index extent : shape) product *= extent;
        return product;
    }
    T* begin() const { return data; }
    T* end() const { return data + size(); }
    void fill(T value) const { for (T& element : *this) element = value; }

    // An element of a vector; the part that one place in the first dimension has of anything larger.
    decltype(auto) operator[](index i) const {
        if constexpr (D == 1) {
            return (data[i]);
        } else {
            std::array<index, D - 1> rest;
            index step = 1;
            for (std::size_t d = 1; d < D; ++d) step *= rest[d - 1] = shape[d];
            return Array<T, D - 1>(data + i * step, rest);
        }
    }
    T& operator()(index i, index j) const requires(D == 2) { return data[i * shape[1] + j]; }
    T& operator()(index i, index j, index k) const requires(D == 3) {
        return data[(i * shape[1] + j) * shape[2] + k];
    }
    // Elements, or what the first dimension holds, from a place on.
    Array part(index start, index count) const {
        Array found = *this;
        found.shape[0] = count;
        for (std::size_t d = 1; d < D; ++d) start *= shape[d];
        found.data += start;
        return found;
    }
};

template <class T> using Vector = Array<T, 1>;
template <class T> using Matrix = Array<T, 2>;
template <class T> using Cube = Array<T, 3>;

// An array that holds its numbers, which are arbitrary at first.
template <class T, std::size_t D>
class Buffer : public Array<T, D> {
public:
    template <std::convertible_to<index>... Extents>
    explicit Buffer(Extents... extents) requires(sizeof...(Extents) == D)
        : Array<T, D>(nullptr, {static_cast<index>(extents)...}), held(new T[this->size()]) {
        this->data = held.get();
    }
    explicit Buffer(std::array<index, D> shape, T value) : Array<T, D>(nullptr, shape), held(new T[this->size()]) {
        this->data = held.get();
        this->fill(value);
    }
    explicit Buffer(Array<const T, D> other) : Array<T, D>(nullptr, other.shape), held(new T[other.size()]) {
        this->data = held.get();
        std::copy(other.begin(), other.end(), this->data);
    }

private:
    std::unique_ptr<T[]> held;
};

template <class To, class From, std::size_t D>
void copy(const Array<To, D>& target, const Array<From, D>& source) {
    std::copy(source.begin(), source.end(), target.data);
}

// Refuse arguments that do not fit each other, before memory is touched; Python sees a ValueError.
inline void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// Whether all numbers are in 0..limit-1, seen in vector lanes.
template <class T>
bool all_below(std::span<const T> numbers, index limit) {
    using Unsigned = std::make_unsigned_t<T>;
    Unsigned most = 0;
    for (T number : numbers) most = std::max(most, static_cast<Unsigned>(number));
    return numbers.empty() || (limit > 0 && most <= static_cast<std::uint64_t>(limit - 1));
}

template <class T>
void require_below(Vector<const T> numbers, index limit, const char* what) {
    require(all_below(std::span<const T>(numbers.data, static_cast<std::size_t>(numbers.size())), limit), what);
}

// The types that a table, codes of classes, and places may have.
template <std::size_t D>
using Reals = std::variant<Array<const double, D>, Array<const float, D>>;
using Codes = std::variant<Vector<const std::int32_t>, Vector<const std::int64_t>>;

}  // namespace discriminant

namespace nanobind::detail {

// The letters that the buffer protocol has for numbers of a kind; sizes are compared besides.
template <class T>
constexpr bool is_letter_of(char letter) {
    const char* letters = std::is_same_v<T, bool> ? "?" : std::is_floating_point_v<T> ? "fd"
                          : std::is_signed_v<T>   ? "bhilq" : "BHILQ";
    for (; *letters; ++letters)
        if (*letters == letter) return true;
    return false;
}

// Arrays are never converted: what a kernel writes would be lost with the copy.
template <class T, std::size_t D>
struct type_caster<discriminant::Array<T, D>> {
    using Number = std::remove_const_t<T>;
    using Viewed = discriminant::Array<T, D>;
    NB_TYPE_CASTER(Viewed, const_name("numpy.ndarray"))

    bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
        Py_buffer view;
        if (PyObject_GetBuffer(source.ptr(), &view, std::is_const_v<T> ? PyBUF_RECORDS_RO : PyBUF_RECORDS) != 0) {
            PyErr_Clear();
            return false;
        }
        // NumPy writes the byte order of a dtype such as '<f8', also where it is that of this machine.
        constexpr char native = std::endian::native == std::endian::little ? '<' : '>';
        const char* letter = view.format;
        if (letter && (*letter == native || *letter == '=')) ++letter;
        // A format of more letters is not that of native, aligned numbers.
        bool fits = view.ndim == static_cast<int>(D) && view.itemsize == sizeof(T) && letter &&
                    is_letter_of<Number>(letter[0]) && letter[1] == '\0' &&
                    reinterpret_cast<std::uintptr_t>(view.buf) % alignof(T) == 0;
        if (fits) {
            value.data = static_cast<T*>(view.buf);
            for (std::size_t d = 0; d < D; ++d) value.shape[d] = view.shape[d];
            Py_ssize_t step = view.itemsize;
            for (std::size_t d = D; d-- > 0 && value.size() > 0;) {
                fits &= view.shape[d] == 1 || view.strides[d] == step;
                step *= view.shape[d];
            }
        }
        PyBuffer_Release(&view);  // the caller's argument keeps the memory
        return fits;
    }
    static handle from_cpp(const Viewed&, rv_policy, cleanup_list*) noexcept = delete;
};

}  // namespace nanobind::detail

namespace discriminant {

// Bind a kernel: while it runs, other threads have the interpreter.
template <class Function>
void kernel(nanobind::module_& module, const char* name, Function&& function, const char* documentation) {
    module.def(name, std::forward<Function>(function), documentation,
               nanobind::call_guard<nanobind::gil_scoped_release>());
}

}  // namespace discriminant
