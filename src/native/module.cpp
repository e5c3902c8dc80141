// The module that Python imports. It is built once for each level of instructions (DISCRIMINANT_MODULE is its name).

#include "bindings.hpp"

#if defined(_M_X64)
#include <windows.h>
#endif

namespace {

// Whether this processor has the instructions of x86-64-v3: those that the faster of the two builds is made of.
bool runs_x86_64_v3() {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt");
#elif defined(_M_X64)
    return IsProcessorFeaturePresent(PF_AVX2_INSTRUCTIONS_AVAILABLE) != 0;
#else
    return false;
#endif
}

}  // namespace

NB_MODULE(DISCRIMINANT_MODULE, module) {
    module.attr("build") = DISCRIMINANT_BUILD;
    module.def("runs_x86_64_v3", runs_x86_64_v3, "Whether this processor has the instructions of x86-64-v3.");
    const auto add = [&module](const char* name, void (*bind)(nanobind::module_&)) {
        auto subject = module.def_submodule(name);
        bind(subject);
    };
    using namespace discriminant;
    add("active_set", bind_active_set);
    add("columns", bind_columns);
    add("context", bind_context);
    add("coordinate", bind_coordinate);
    add("dual_coordinate", bind_dual_coordinate);
    add("losses", bind_losses);
    add("moments", bind_moments);
    add("perceptron", bind_perceptron);
    add("pixels", bind_pixels);
    add("scores", bind_scores);
    add("transpose", bind_transpose);
}
