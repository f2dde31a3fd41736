#include "models/kernels/linear_times.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kvsim::models {
namespace {

const LinearForm* form_of(const KernelProfile& profile, NumberFormat weights) {
  for (const LinearForm& form : profile.fitted.linear) {
    if (form.weights == weights) return &form;
  }
  return nullptr;
}

NumberFormat format_of(const LlmSpec& model) {
  return model.weight_bytes_per_parameter <= 1.0 ? NumberFormat::fp8 : NumberFormat::bf16;
}

}  // namespace

std::vector<LinearShape> body_shapes(const LlmSpec& m, double gpus) {
  const auto layers = static_cast<double>(m.layers);
  const auto hidden = static_cast<double>(m.hidden);
  const double queries = static_cast<double>(m.heads * m.head_dim) / gpus;
  const double kv =
      2 * static_cast<double>(m.kv_heads * m.head_dim) * m.kv_copies(static_cast<std::int64_t>(gpus)) / gpus;
  const double inner = static_cast<double>(m.intermediate) / gpus;
  return {
      {queries + kv, hidden, layers}, {hidden, queries, layers}, {2 * inner, hidden, layers}, {hidden, inner, layers}};
}

LinearShape head_shape(const LlmSpec& m, double gpus) {
  return {static_cast<double>(m.vocabulary) / gpus, static_cast<double>(m.hidden), 1};
}

bool LinearTimes::covers(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, std::string& why) {
  const double width = model.weight_bytes_per_parameter;
  if (profile.fitted.linear.empty()) {
    why = "the profile has no fitted form";
  } else if (model.attention == AttentionKind::mla || model.moe.experts > 0) {
    why = "forms cover dense models with grouped-query attention";
  } else if (model.weight_bytes_override > 0 || (width != 1.0 && width != 2.0)) {
    why = "weights are neither bf16 nor fp8";
  } else if (form_of(profile, format_of(model)) == nullptr) {
    why = fmt::format("the profile has no fitted form for {} weights", width <= 1.0 ? "fp8" : "bf16");
  } else if (machine.multiprocessors <= 0) {
    why = "the GPU's multiprocessors are not given";
  } else {
    return true;
  }
  return false;
}

FormTime linear_time(const KernelProfile& profile, const LinearForm& form, const LinearShape& shape, double tokens,
                     const Machine& machine) {
  FormTime t = form.time(tokens, shape.n, shape.k, machine);
  for (const LinearTable& table : profile.tables.linear) {
    if (table.weights != form.weights || table.n != shape.n || table.k != shape.k) continue;
    const double measured = std::clamp(tokens, table.points.front().size, table.points.back().size);
    t.seconds *= table.at(measured) / form.time(measured, shape.n, shape.k, profile.machine->peaks()).seconds;
  }
  return t;
}

double LinearTimes::size_of(std::size_t index) {
  const auto i = static_cast<int>(index) + 1;
  return i <= kDense ? i : kDense + (i - kDense) * kStride;
}

SplitTime LinearTimes::Curve::at(double tokens) const {
  double position = tokens <= kDense ? tokens - 1 : kDense - 1 + (tokens - kDense) / kStride;
  position = std::max(position, 0.0);
  const auto below = std::min(static_cast<std::size_t>(position), points.size() - 2);
  const double share = position - static_cast<double>(below);  // above 1 beyond the last point: its slope goes on
  const SplitTime& a = points[below];
  const SplitTime& b = points[below + 1];
  return {a.seconds + share * (b.seconds - a.seconds),
          a.memory_bound_s + std::min(share, 1.0) * (b.memory_bound_s - a.memory_bound_s)};
}

LinearTimes::Curve LinearTimes::tabulate(const KernelProfile& profile, const LinearForm& form,
                                         const std::vector<LinearShape>& shapes, const Machine& machine) {
  Curve curve;
  const std::size_t size = kDense + (kLargest - kDense) / kStride;
  curve.points.resize(size);
  double previous = 0;
  for (std::size_t i = 0; i < size; ++i) {
    SplitTime& sum = curve.points[i];
    for (const LinearShape& shape : shapes) {
      const FormTime t = linear_time(profile, form, shape, size_of(i), machine);
      sum.seconds += shape.calls * t.seconds;
      if (t.memory_bound) sum.memory_bound_s += shape.calls * t.seconds;
    }
    // A table's last step can leave a ratio that falls a little beyond it; more tokens never take less.
    sum.seconds = previous = std::max(sum.seconds, previous);
    sum.memory_bound_s = std::min(sum.memory_bound_s, sum.seconds);
  }
  return curve;
}

LinearTimes::LinearTimes(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, double gpus) {
  const LinearForm& form = *form_of(profile, format_of(model));
  body_ = tabulate(profile, form, body_shapes(model, gpus), machine);
  head_ = tabulate(profile, form, {head_shape(model, gpus)}, machine);
  valid_to_ = form.valid_to;
}

}  // namespace kvsim::models
