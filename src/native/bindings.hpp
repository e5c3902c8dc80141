// One function for each subject, which adds its kernels to a module of that name.
#pragma once

#include <nanobind/nanobind.h>

namespace discriminant {

void bind_active_set(nanobind::module_&);
void bind_columns(nanobind::module_&);
void bind_context(nanobind::module_&);
void bind_coordinate(nanobind::module_&);
void bind_dual_coordinate(nanobind::module_&);
void bind_losses(nanobind::module_&);
void bind_moments(nanobind::module_&);
void bind_perceptron(nanobind::module_&);
void bind_pixels(nanobind::module_&);
void bind_scores(nanobind::module_&);
void bind_transpose(nanobind::module_&);

}  // namespace discriminant
