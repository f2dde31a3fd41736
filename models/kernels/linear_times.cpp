#include "models/kernels/operator_times.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kvsim::models {
namespace {

const LinearForm* form_of(const KernelProfile& profile, const LlmSpec& model) {
  return form_for(profile.fitted.linear, &LinearForm::weights, weight_format(model));
}

}  // namespace

NumberFormat weight_format(const LlmSpec& model) {
  return model.weight_bytes_per_parameter <= 1.0 ? NumberFormat::fp8 : NumberFormat::bf16;
}

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
  } else if (form_of(profile, model) == nullptr) {
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

LinearTimes::LinearTimes(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, double gpus) {
  const LinearForm& form = *form_of(profile, model);
  const auto tabulate = [&](const std::vector<LinearShape>& shapes) {
    return TokenCurve([&](double tokens) {
      SplitTime sum;
      for (const LinearShape& shape : shapes) {
        const FormTime t = linear_time(profile, form, shape, tokens, machine);
        sum.seconds += shape.calls * t.seconds;
        if (t.memory_bound) sum.memory_bound_s += shape.calls * t.seconds;
      }
      return sum;
    });
  };
  body_ = tabulate(body_shapes(model, gpus));
  head_ = tabulate({head_shape(model, gpus)});
  valid_to_ = form.valid_to;
  std::vector<LinearShape> shapes = body_shapes(model, gpus);
  shapes.push_back(head_shape(model, gpus));
  has_tables_ = std::any_of(profile.tables.linear.begin(), profile.tables.linear.end(), [&](const LinearTable& t) {
    return t.weights == form.weights &&
           std::any_of(shapes.begin(), shapes.end(), [&](const LinearShape& s) { return s.n == t.n && s.k == t.k; });
  });
}

}  // namespace kvsim::models
