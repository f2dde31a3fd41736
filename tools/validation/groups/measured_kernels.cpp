// Every measured kernel row against the profile of its machine, and against the profile of the other machine scaled by
// the two datasheets.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>

#include <fmt/format.h>

#include "models/calibration/calibrate.h"
#include "models/catalogue/catalogue.h"
#include "models/kernels/linear_times.h"
#include "tools/validation/groups/groups.h"
#include "tools/validation/measured_folder.h"

namespace kvsim::validation {
namespace {

using models::ErrorSummary;
using models::KernelProfile;
using models::Machine;
using models::NumberFormat;

constexpr const char* kTables = "kernel tables of aiconfigurator (Apache-2.0), vLLM rows";
constexpr const char* kLayers = "layer profile of LLMServingSim (MIT), vLLM 0.19, Llama-3.1-8B in bf16";

double linear_s(const KernelProfile& p, const Machine& m, const models::LinearSample& row) {
  const auto& form = *form_for(p.fitted.linear, &models::LinearForm::weights, row.weights);
  return models::linear_time(p, form, {row.n, row.k, 1}, row.m, m).seconds;
}

double decode_s(const KernelProfile& p, const Machine& m, const models::DecodeSample& row) {
  const auto& form = *form_for(p.fitted.decode_attention, &models::DecodeForm::kv, row.kv);
  return form.time({row.requests, row.shape.heads, row.kv_bytes(), row.kv_length, 0}, m, row.warm).seconds;
}

double tiled_s(const models::TiledForm& form, const Machine& m, const models::TiledSample& row) {
  models::TiledCall call;
  for (double i = 0; i < row.chunks; ++i) form.add_chunk(call, row.tokens, row.before, row.shape);
  const double token = 2 * bytes_per_element(row.kv) * row.shape.kv_heads * row.shape.head_dim;
  form.add_decodes(call, row.decodes, 1, row.decode_kv, row.decode_kv, token * row.decodes * row.decode_kv, row.shape);
  return form.time(call, row.shape, m).seconds;
}

double prefill_s(const KernelProfile& p, const Machine& m, const models::TiledSample& row) {
  return tiled_s(*form_for(p.fitted.prefill_attention, &models::TiledForm::kv, row.kv), m, row);
}

double mixed_s(const KernelProfile& p, const Machine& m, const models::TiledSample& row) {
  return tiled_s(*form_for(p.fitted.mixed_attention, &models::TiledForm::kv, row.kv), m, row);
}

template <class Row>
using Seconds = double (*)(const KernelProfile&, const Machine&, const Row&);

class Comparison {
 public:
  Comparison(const models::Catalogue& catalogue, std::vector<Figure>& figures)
      : catalogue_(catalogue), figures_(figures) {}

  /// Rows of `gpu` that `keep` accepts, by the profile of `from`: median and 90th percentile of |error|.
  template <class Row>
  void add(const std::string& gpu_name, const std::string& from, const std::string& name, const std::vector<Row>& rows,
           Seconds<Row> seconds, const std::function<bool(const Row&)>& keep) {
    const models::GpuSpec gpu = catalogue_.gpu(gpu_name);
    const KernelProfile profile = catalogue_.profile(catalogue_.gpu(from).profile);
    const Machine machine = machine_for(gpu, profile);
    std::vector<double> errors;
    for (const Row& row : rows) {
      const bool of_gpu = row.from.gpu.empty() || models::names_gpu(row.from.gpu, gpu_name);
      const bool vllm = row.from.framework.empty() || row.from.framework == "vllm";
      if (of_gpu && vllm && keep(row)) errors.push_back(seconds(profile, machine, row) / row.seconds - 1);
    }
    const bool own = gpu_name == from;
    const ErrorSummary e = models::summarise(errors);
    const std::string id = fmt::format("measured-kernels/{}.{}{}", gpu_name, name, own ? "" : ".by_" + from);
    const std::string rows_of = fmt::format(" |error| of {} rows", e.count);
    add_share(id + ".median", "median" + rows_of, e.count > 0 ? e.median : 1, own ? 0.05 : 0.15, gpu_name, own);
    if (!own) return;
    add_share(id + ".p90", "p90" + rows_of, e.count > 0 ? e.p90 : 1, 0.15, gpu_name, own);
    if (name == "mixed") figures_.back().skipped = "nothing is claimed of the 90th percentile of mixed batches";
  }

 private:
  void add_share(const std::string& id, const std::string& what, double error, double tolerance, const std::string& gpu,
                 bool own) {
    Figure f;
    f.id = id;
    f.what = what;
    f.simulated = error;
    f.tolerance = tolerance;
    f.measure = Measure::absolute;
    f.claim = Claim::at_most;
    f.source = gpu == "rtx-pro-6000" ? kLayers : kTables;
    f.assumptions.emplace_back(
        own ? "the shipped profile, fitted to these rows; held-out figures: docs/kernel_timing.md"
            : "nothing of this machine but its datasheet: fits of the other one, fixed times "
              "scaled by the ratio of memory bandwidths");
    figures_.push_back(std::move(f));
  }

  const models::Catalogue& catalogue_;
  std::vector<Figure>& figures_;
};

template <class Row>
std::function<bool(const Row&)> with_format(NumberFormat Row::*format, NumberFormat wanted) {
  return [=](const Row& row) { return row.*format == wanted; };
}

void compare_tables(const models::Samples& s, Comparison& out) {
  using enum NumberFormat;
  const auto of_machine = [&](const char* gpu, const char* from, NumberFormat format) {
    const char* word = format == bf16 ? "bf16" : "fp8";
    out.add<models::LinearSample>(gpu, from, fmt::format("linear.{}", word), s.linear, linear_s,
                                  with_format(&models::LinearSample::weights, format));
    out.add<models::DecodeSample>(gpu, from, fmt::format("decode.{}", word), s.decode, decode_s,
                                  with_format(&models::DecodeSample::kv, format));
    out.add<models::TiledSample>(gpu, from, fmt::format("prefill.{}", word), s.prefill, prefill_s,
                                 with_format(&models::TiledSample::kv, format));
  };
  of_machine("a100", "a100", bf16);
  of_machine("h100-sxm", "h100-sxm", bf16);
  of_machine("h100-sxm", "h100-sxm", fp8);
  of_machine("h100-sxm", "a100", bf16);
  of_machine("a100", "h100-sxm", bf16);
}

void compare_layers(const models::Samples& s, Comparison& out) {
  const auto any_linear = [](const models::LinearSample&) { return true; };
  const auto any_tiled = [](const models::TiledSample&) { return true; };
  const char* gpu = "rtx-pro-6000";
  out.add<models::LinearSample>(gpu, gpu, "linear", s.linear, linear_s, any_linear);
  out.add<models::DecodeSample>(gpu, gpu, "decode", s.decode, decode_s,
                                [](const models::DecodeSample&) { return true; });
  out.add<models::TiledSample>(gpu, gpu, "mixed", s.mixed, mixed_s, any_tiled);
}

/// The rows of files of a folder; nothing, and why, where one is not there.
struct Rows {
  models::Samples samples;
  std::string missing;
};

Rows read(const Inputs& inputs, const std::string& folder, const std::vector<std::string>& names,
          const models::LlmSpec& model) {
  if (inputs.measured.empty()) return {{}, kNoMeasuredData};
  models::Readings readings;
  for (const std::string& name : names) {
    const std::string file = folder + name;
    if (!std::filesystem::exists(inputs.measured + file)) {
      return {{}, fmt::format("the folder of measured data has no {}", file.substr(1))};
    }
    read_samples(inputs.measured + file, &model, true, readings);
  }
  return {std::move(readings.samples), ""};
}

}  // namespace

std::vector<Figure> measured_kernel_figures(const Inputs& inputs) {
  const models::Catalogue catalogue = models::Catalogue::built_in();
  const models::LlmSpec llama = catalogue.model("llama-3.1-8b");
  std::vector<Figure> all;
  const auto add = [&](const Rows& rows, void (*compare)(const models::Samples&, Comparison&)) {
    std::vector<Figure> figures;
    Comparison comparison(catalogue, figures);
    compare(rows.samples, comparison);
    if (!rows.missing.empty()) figures = all_skipped(std::move(figures), rows.missing);
    all.insert(all.end(), std::make_move_iterator(figures.begin()), std::make_move_iterator(figures.end()));
  };
  add(read(inputs, "/kernels/", {"linear.csv", "decode_attention.csv", "prefill_attention.csv"}, llama),
      compare_tables);
  add(read(inputs, "/kernels/rtx-pro-6000_llama-3.1-8b/", {"dense.csv", "attention.csv"}, llama), compare_layers);
  return all;
}

}  // namespace kvsim::validation
