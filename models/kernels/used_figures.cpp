#include "models/kernels/used_figures.h"

#include <fmt/format.h>

#include "models/kernels/attention_times.h"
#include "models/kernels/linear_times.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

using schema::Dimension;

class Figures {
 public:
  /// `scaled_from`: the machine that was measured, where that is another one; empty otherwise.
  explicit Figures(std::string scaled_from) : scaled_from_(std::move(scaled_from)) {}

  void add(std::string name, std::string value, schema::Source source) {
    if (!scaled_from_.empty() && source.kind == schema::SourceKind::measurement) {
      source = {schema::SourceKind::derived,
                fmt::format("scaled by datasheet from {}: {}", scaled_from_, source.reference)};
    }
    list_.push_back({std::move(name), std::move(value), std::move(source)});
  }
  /// A figure that another machine takes over as it stands.
  void add_unscaled(std::string name, std::string value, schema::Source source) {
    if (!scaled_from_.empty() && source.kind == schema::SourceKind::measurement) {
      source = {schema::SourceKind::derived, fmt::format("as on {}: {}", scaled_from_, source.reference)};
    }
    list_.push_back({std::move(name), std::move(value), std::move(source)});
  }
  void add(std::string name, Dimension dimension, const Sourced<double>& figure) {
    add(std::move(name), schema::format_real(dimension, figure.value), figure.source);
  }
  [[nodiscard]] std::vector<UsedFigure> take() { return std::move(list_); }

 private:
  std::string scaled_from_;
  std::vector<UsedFigure> list_;
};

void add_linear(Figures& out, const GpuSpec& gpu, const KernelProfile& p, const LlmSpec& model, double gpus) {
  std::string why;
  const Machine machine = Machine::of(gpu);
  if (!LinearTimes::covers(p, model, machine, why)) {
    out.add("profile.linear.t0", Dimension::time, p.linear_t0_s);
    out.add("profile.linear.bandwidth_efficiency", Dimension::number, p.linear_bandwidth_efficiency);
    out.add("profile.linear.compute_efficiency", "curve", p.linear_compute_efficiency.source);
    return;
  }
  const NumberFormat format = weight_format(model);
  out.add("profile.fitted.linear", "form", form_for(p.fitted.linear, &LinearForm::weights, format)->source);
  std::vector<LinearShape> shapes = body_shapes(model, gpus);
  shapes.push_back(head_shape(model, gpus));
  for (const LinearTable& t : p.tables.linear) {
    for (const LinearShape& s : shapes) {
      if (t.weights != format || t.n != s.n || t.k != s.k) continue;
      out.add(fmt::format("profile.tables.linear {:.0f} x {:.0f}", t.n, t.k), "table", t.source);
      break;
    }
  }
}

void add_attention(Figures& out, const GpuSpec& gpu, const KernelProfile& p, const LlmSpec& model, double gpus) {
  std::string why;
  const bool fitted = AttentionTimes::covers(p, model, Machine::of(gpu), why);
  if (!fitted) {
    out.add("profile.attention.t0", Dimension::time, p.attention_t0_s);
    out.add("profile.attention.bandwidth_efficiency", Dimension::number, p.attention_bandwidth_efficiency);
  }
  out.add("profile.attention.compute_efficiency", "curve", p.attention_compute_efficiency.source);
  if (p.low_bit_time_factor.value > 0) {
    out.add("profile.attention.low_bit_time_factor", Dimension::number, p.low_bit_time_factor);
  }
  if (p.further_query_share.value > 0) {
    out.add("profile.attention.further_query_share", Dimension::number, p.further_query_share);
  }
  if (!fitted) return;
  const NumberFormat kv = kv_format(model);
  out.add("profile.fitted.decode_attention", "form", form_for(p.fitted.decode_attention, &DecodeForm::kv, kv)->source);
  out.add("profile.fitted.prefill_attention", "form", form_for(p.fitted.prefill_attention, &TiledForm::kv, kv)->source);
  if (const TiledForm* mixed = form_for(p.fitted.mixed_attention, &TiledForm::kv, kv)) {
    out.add("profile.fitted.mixed_attention", "form", mixed->source);
  }
  const auto heads = static_cast<double>(model.heads) / gpus;
  for (const DecodeTable& t : p.tables.decode_attention) {
    if (t.kv == kv && t.heads == heads) out.add("profile.tables.decode_attention", "table", t.source);
  }
}

}  // namespace

std::vector<UsedFigure> used_figures(const GpuSpec& gpu, const KernelProfile& p, const LlmSpec& model,
                                     std::int64_t tensor_parallel) {
  Figures out(is_measured_machine(p, gpu) || p.measured_on == "none" ? "" : p.measured_on);
  const auto gpus = static_cast<double>(tensor_parallel);
  add_linear(out, gpu, p, model, gpus);
  add_attention(out, gpu, p, model, gpus);
  if (p.fitted.elementwise) out.add("profile.fitted.elementwise", "form", p.fitted.elementwise->source);
  if (!p.tables.sampler.empty()) out.add("profile.tables.sampler", "table", p.tables.sampler_source);
  if (p.framework) {
    const FrameworkMemory& f = *p.framework;
    out.add_unscaled("profile.framework.workspace", schema::format_bytes(f.workspace_bytes.value),
                     f.workspace_bytes.source);
    out.add_unscaled("profile.framework.full_kv_factor", schema::format_real(Dimension::number, f.full_kv_factor.value),
                     f.full_kv_factor.source);
  }
  for (const AllReduceTable& t : p.all_reduce) {
    if (tensor_parallel > 1 && t.gpus == tensor_parallel) out.add_unscaled("profile.all_reduce", "table", t.source);
  }
  out.add("profile.iteration_overhead", Dimension::time, p.iteration_overhead_s);
  return out.take();
}

}  // namespace kvsim::models
